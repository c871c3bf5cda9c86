//===- ReservedFile.cpp - A file for the result of long work --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Uses descriptors: a stream can't be opened without waiting or truncating.
//
//===----------------------------------------------------------------------===//
#include "bagua/Replay/ReservedFile.h"

#include "absl/strings/str_cat.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace bagua::replay {
namespace {

absl::Status cantWrite(const std::string &path) {
  return absl::UnavailableError(absl::StrCat(
      "can't write to ",
      path.empty() ? "standard output" : absl::StrCat("'", path, "'"), ": ",
      std::strerror(errno)));
}

} // namespace

absl::StatusOr<ReservedFile> ReservedFile::open(const std::string &path) {
  constexpr int kFlags = O_WRONLY | O_NONBLOCK | O_CLOEXEC;
  ReservedFile file;
  file.path = path;
  file.descriptor = ::open(path.c_str(), kFlags);
  if (file.descriptor >= 0)
    return file;
  // The new file is removed again, so that a process killed meanwhile leaves
  // none.
  const bool isNew = errno == ENOENT;
  const int made =
      isNew ? ::open(path.c_str(), kFlags | O_CREAT | O_EXCL, 0666) : -1;
  if (made < 0)
    return cantWrite(path);
  close(made);
  unlink(path.c_str());
  return file;
}

absl::StatusOr<ReservedFile> ReservedFile::standardOutput() {
  ReservedFile file;
  file.descriptor = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
  if (file.descriptor < 0)
    return cantWrite({});
  return file;
}

ReservedFile::ReservedFile(ReservedFile &&other) noexcept
    : path(std::move(other.path)),
      descriptor(std::exchange(other.descriptor, -1)) {}

ReservedFile::~ReservedFile() {
  if (descriptor >= 0)
    close(descriptor);
}

absl::Status ReservedFile::write(const std::string &text) {
  if (descriptor < 0)
    descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor < 0)
    return cantWrite(path);
  if (!path.empty()) {
    // Pipes and terminals have nothing to truncate.
    if (ftruncate(descriptor, 0) != 0 && errno != EINVAL)
      return cantWrite(path);
    // A pipe's reader may be slow.
    fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) & ~O_NONBLOCK);
  }
  for (size_t done = 0; done < text.size();) {
    ssize_t count = ::write(descriptor, text.data() + done, text.size() - done);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return cantWrite(path);
    done += static_cast<size_t>(count);
  }
  if (close(std::exchange(descriptor, -1)) != 0)
    return cantWrite(path);
  return absl::OkStatus();
}

absl::Status
writeWhatIsMade(const std::string &path,
                const std::function<absl::StatusOr<std::string>()> &make) {
  auto file =
      path.empty() ? ReservedFile::standardOutput() : ReservedFile::open(path);
  if (!file.ok())
    return file.status();
  absl::StatusOr<std::string> text = make();
  return text.ok() ? file->write(*text) : text.status();
}

} // namespace bagua::replay
