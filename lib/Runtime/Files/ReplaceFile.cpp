//===- ReplaceFile.cpp - Files that are whole or not there ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The new file is written beside the old one, flushed to the disk, and then
// renamed over it.
//
//===----------------------------------------------------------------------===//
#include "Files/ReplaceFile.h"

#include "Files/Descriptor.h"
#include "Files/HostLimits.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace bagua::runtime {
namespace {

/// "can't write checkpoint 'path': why".
absl::Status refuse(absl::StatusCode code, const char *what,
                    const std::string &path, absl::string_view why) {
  return absl::Status(
      code, absl::StrCat("can't write ", what, " '", path, "': ", why));
}

bool writeAll(int file, absl::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t written = write(file, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR)
      return false;
    bytes.remove_prefix(static_cast<size_t>(std::max<ssize_t>(written, 0)));
  }
  return true;
}

/// Whether no other process has opened the file for writing; holds until the
/// file is closed. (A rank that was given up may live on beside its
/// replacement.) A writer that has just finished has renamed the file, which
/// then is no longer at `path`.
bool isOnlyWriter(int file, const std::string &path) {
  struct stat opened, there;
  return flock(file, LOCK_EX | LOCK_NB) == 0 && fstat(file, &opened) == 0 &&
         stat(path.c_str(), &there) == 0 && opened.st_ino == there.st_ino &&
         opened.st_dev == there.st_dev;
}

} // namespace

absl::Status replaceFile(const char *what, const std::string &path,
                         absl::string_view bytes) {
  auto unavailable = [&](absl::string_view why) {
    return refuse(absl::StatusCode::kUnavailable, what, path, why);
  };
  auto failure = [&](absl::string_view call) {
    return unavailable(absl::StrCat(call, ": ", std::strerror(errno)));
  };
  if (absl::Status fits = checkFileSize(bytes.size()); !fits.ok())
    return refuse(fits.code(), what, path, fits.message());
  const std::string partial = absl::StrCat(path, ".partial");
  // With O_NONBLOCK, opening a FIFO does not wait for a reader.
  Descriptor file(
      open(partial.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666));
  if (!file)
    return failure("open");
  struct stat about = {};
  if (fstat(file.number(), &about) != 0 || !S_ISREG(about.st_mode))
    return unavailable(absl::StrCat("'", partial, "' is there and no file"));
  if (!isOnlyWriter(file.number(), partial))
    return unavailable("another process is writing it");
  if (ftruncate(file.number(), 0) != 0 || !writeAll(file.number(), bytes) ||
      fsync(file.number()) != 0) {
    absl::Status status = failure("write");
    unlink(partial.c_str());
    return status;
  }
  if (rename(partial.c_str(), path.c_str()) != 0) {
    absl::Status status = failure("rename");
    unlink(partial.c_str());
    return status;
  }
  // Otherwise a host that crashes might lose the new name.
  size_t slash = path.rfind('/');
  Descriptor folder(
      open(slash == path.npos ? "." : path.substr(0, slash + 1).c_str(),
           O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return folder && fsync(folder.number()) == 0 ? absl::OkStatus()
                                               : failure("folder");
}

} // namespace bagua::runtime
