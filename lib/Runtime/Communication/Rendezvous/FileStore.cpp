//===- FileStore.cpp - Texts in a file that ranks share -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The file begins with a line that no other file has. Records follow, each
// appended under a lock: the sizes of name and text in decimal, then both. The
// last record of a name counts. A writer that is killed leaves an incomplete
// record, which does not count; the next writer overwrites it.
//
//===----------------------------------------------------------------------===//
#include "bagua/Runtime/Store.h"

#include "Communication/DurationToString.h"
#include "Files/Descriptor.h"
#include "Files/HostLimits.h"
#include "Files/ReadFile.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <thread>
#include <unistd.h>
#include <utility>

namespace bagua::runtime {
namespace {

using Clock = std::chrono::steady_clock;

/// More bytes than any run writes.
constexpr size_t kMaxBytes = size_t{64} << 20;
/// With O_NONBLOCK, opening a FIFO does not wait for its other end.
constexpr int kAlways = O_NONBLOCK | O_CLOEXEC;
/// How often a process tries to get the lock.
constexpr std::chrono::milliseconds kLook(1);

constexpr absl::string_view kFirstLine = "bagua store 1\n";

struct Record {
  absl::string_view name, text;
};

/// Takes the record at the beginning of `rest`. Nothing if it is incomplete,
/// InvalidArgument if no record begins like this.
absl::StatusOr<std::optional<Record>> takeRecord(absl::string_view &rest) {
  const auto none = [] {
    return absl::InvalidArgumentError("found a malformed record");
  };
  uint64_t sizes[2] = {0, 0};
  size_t at = 0;
  for (int i = 0; i < 2; ++i) {
    const size_t begin = at;
    while (at < rest.size() && absl::ascii_isdigit(rest[at]) &&
           sizes[i] <= kMaxBytes)
      sizes[i] = sizes[i] * 10 + static_cast<uint64_t>(rest[at++] - '0');
    if (sizes[i] > kMaxBytes)
      return none();
    if (at == rest.size())
      return std::nullopt;
    if (at == begin || rest[at] != (i == 0 ? ' ' : '\n'))
      return none();
    ++at;
  }
  const size_t bytes = sizes[0] + sizes[1];
  if (rest.size() - at <= bytes)
    return std::nullopt;
  if (rest[at + bytes] != '\n')
    return none();
  Record record{rest.substr(at, sizes[0]),
                rest.substr(at + sizes[0], sizes[1])};
  rest.remove_prefix(at + bytes + 1);
  return record;
}

/// Calls `see` for each record. Returns the number of bytes before the first
/// incomplete record.
template <typename See>
absl::StatusOr<size_t> readRecords(absl::string_view all, See see) {
  const absl::string_view begin = all.substr(0, kFirstLine.size());
  if (!absl::StartsWith(kFirstLine, begin))
    return absl::InvalidArgumentError(
        "expected a rendezvous file or no file at this path, found a file of "
        "another kind");
  if (begin.size() < kFirstLine.size())
    return 0;
  absl::string_view rest = all.substr(kFirstLine.size());
  while (true) {
    absl::StatusOr<std::optional<Record>> found = takeRecord(rest);
    if (!found.ok())
      return found.status();
    if (!*found)
      return all.size() - rest.size();
    see(**found);
  }
}

class FileStore final : public Store {
public:
  FileStore(std::string ownPath, std::chrono::nanoseconds ownPatience)
      : path(std::move(ownPath)), patience(ownPatience) {}

  absl::Status set(const std::string &name, const std::string &text) override;
  absl::StatusOr<std::optional<std::string>>
  get(const std::string &name) override;

private:
  absl::Status named(const absl::Status &status) const {
    return {status.code(),
            absl::StrCat("store '", path, "': ", status.message())};
  }
  absl::Status failure(const char *what) const {
    return named(absl::Status(isOutOfDescriptors(errno)
                                  ? absl::StatusCode::kResourceExhausted
                                  : absl::StatusCode::kUnavailable,
                              absl::StrCat(what, ": ", describeError(errno))));
  }
  /// `how` is that of flock().
  absl::Status lock(const Descriptor &file, int how) const;
  /// Locks the file and reads all of it.
  absl::StatusOr<std::string> readLocked(const Descriptor &file, int how) const;

  const std::string path;
  const std::chrono::nanoseconds patience;
};

absl::Status FileStore::lock(const Descriptor &file, int how) const {
  const auto begin = Clock::now();
  while (flock(file.number(), how | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR)
      return failure("flock");
    if (Clock::now() - begin >= patience)
      return named(absl::DeadlineExceededError(
          absl::StrCat("another process has kept it locked for ",
                       durationToString(patience))));
    std::this_thread::sleep_for(kLook);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> FileStore::readLocked(const Descriptor &file,
                                                  int how) const {
  if (absl::Status status = lock(file, how); !status.ok())
    return status;
  absl::StatusOr<std::string> all = readAll(file.number(), kMaxBytes);
  return all.ok() ? all : named(all.status());
}

absl::Status FileStore::set(const std::string &name, const std::string &text) {
  Descriptor file(open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | kAlways,
                       S_IRUSR | S_IWUSR));
  if (!file)
    return failure("open");
  absl::StatusOr<std::string> all = readLocked(file, LOCK_EX);
  if (!all.ok())
    return all.status();
  absl::StatusOr<size_t> whole = readRecords(*all, [](const Record &) {});
  if (!whole.ok())
    return named(whole.status());
  if (*whole < all->size() &&
      ftruncate(file.number(), static_cast<off_t>(*whole)) != 0)
    return failure("ftruncate");
  std::string record = absl::StrCat(*whole == 0 ? kFirstLine : "", name.size(),
                                    " ", text.size(), "\n", name, text, "\n");
  if (absl::Status fits = checkFileSize(*whole + record.size()); !fits.ok())
    return named(fits);
  ssize_t written = write(file.number(), record.data(), record.size());
  if (written < 0)
    return failure("write");
  if (static_cast<size_t>(written) != record.size())
    return named(absl::UnavailableError("no room for a record"));
  return absl::OkStatus();
}

absl::StatusOr<std::optional<std::string>>
FileStore::get(const std::string &name) {
  std::optional<std::string> text;
  Descriptor file(open(path.c_str(), O_RDONLY | kAlways));
  if (!file && errno == ENOENT)
    return text;
  if (!file)
    return failure("open");
  absl::StatusOr<std::string> all = readLocked(file, LOCK_SH);
  if (!all.ok())
    return all.status();
  absl::StatusOr<size_t> whole = readRecords(*all, [&](const Record &record) {
    if (record.name == name)
      text = std::string(record.text);
  });
  return whole.ok() ? absl::StatusOr<std::optional<std::string>>(text)
                    : named(whole.status());
}

} // namespace

std::unique_ptr<Store> createFileStore(const std::string &path,
                                       std::chrono::nanoseconds patience) {
  return std::make_unique<FileStore>(path, patience);
}

} // namespace bagua::runtime
