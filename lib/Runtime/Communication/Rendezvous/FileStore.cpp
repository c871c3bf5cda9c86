//===- FileStore.cpp - Texts in a file that ranks share -------------------===//
//
// Records, appended one by one under a lock: sizes of name and text in decimal,
// then both. The last record of a name holds.
//
//===----------------------------------------------------------------------===//
#include "bagua/Runtime/Store.h"

#include "Device/Host/Descriptor.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>
#include <utility>

namespace bagua::runtime {
namespace {

/// More than any run writes.
constexpr size_t kMaxBytes = size_t{64} << 20;

class FileStore final : public Store {
public:
  explicit FileStore(std::string path) : path(std::move(path)) {}

  absl::Status set(const std::string &name, const std::string &text) override;
  absl::StatusOr<std::optional<std::string>>
  get(const std::string &name) override;

private:
  absl::Status failure(const char *what) const {
    return absl::UnavailableError(
        absl::StrCat("store '", path, "': ", what, ": ", std::strerror(errno)));
  }
  absl::StatusOr<std::string> readAll() const;

  const std::string path;
};

absl::Status FileStore::set(const std::string &name, const std::string &text) {
  Descriptor file(
      open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!file)
    return failure("open");
  if (flock(file.number(), LOCK_EX) != 0)
    return failure("flock");
  std::string record =
      absl::StrCat(name.size(), " ", text.size(), "\n", name, text, "\n");
  ssize_t written = write(file.number(), record.data(), record.size());
  if (written != static_cast<ssize_t>(record.size()))
    return failure("write");
  return absl::OkStatus();
}

absl::StatusOr<std::string> FileStore::readAll() const {
  Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file)
    return errno == ENOENT ? absl::StatusOr<std::string>(std::string())
                           : failure("open");
  if (flock(file.number(), LOCK_SH) != 0)
    return failure("flock");
  std::string all;
  char piece[4096];
  while (ssize_t got = read(file.number(), piece, sizeof piece)) {
    if (got < 0)
      return failure("read");
    all.append(piece, static_cast<size_t>(got));
    if (all.size() > kMaxBytes)
      return absl::InvalidArgumentError(absl::StrCat(
          "store '", path, "': expected at most ", kMaxBytes, " bytes"));
  }
  return all;
}

absl::StatusOr<std::optional<std::string>>
FileStore::get(const std::string &name) {
  absl::StatusOr<std::string> all = readAll();
  if (!all.ok())
    return all.status();
  std::optional<std::string> found;
  absl::string_view rest = *all;
  while (!rest.empty()) {
    size_t nameBytes = 0, textBytes = 0;
    size_t space = rest.find(' ');
    size_t line = rest.find('\n');
    if (line == rest.npos || space > line ||
        !absl::SimpleAtoi(rest.substr(0, space), &nameBytes) ||
        !absl::SimpleAtoi(rest.substr(space + 1, line - space - 1),
                          &textBytes) ||
        nameBytes > rest.size() || textBytes > rest.size() ||
        line + 1 + nameBytes + textBytes >= rest.size())
      return absl::InvalidArgumentError(
          absl::StrCat("store '", path, "': found bytes that are no record"));
    absl::string_view recordName = rest.substr(line + 1, nameBytes);
    if (recordName == name)
      found = std::string(rest.substr(line + 1 + nameBytes, textBytes));
    rest.remove_prefix(line + 2 + nameBytes + textBytes);
  }
  return found;
}

} // namespace

std::unique_ptr<Store> createFileStore(const std::string &path) {
  return std::make_unique<FileStore>(path);
}

} // namespace bagua::runtime
