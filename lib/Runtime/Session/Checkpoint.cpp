//===- Checkpoint.cpp - Files of state that a crash can't harm ------------===//
//
// Written beside the file, brought to the disk, and then renamed over it.
//
//===----------------------------------------------------------------------===//
#include "bagua/Runtime/Checkpoint.h"

#include "Device/Host/Descriptor.h"
#include "Files/HostLimits.h"
#include "Files/ReadFile.h"
#include "Session/SessionState.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <limits>
#include <numeric>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace bagua::runtime {
namespace {

absl::Status failure(const std::string &path, const char *what) {
  return absl::UnavailableError(absl::StrCat("can't write checkpoint '", path,
                                             "': ", what, ": ",
                                             std::strerror(errno)));
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

/// Whether nobody else has opened the file to write it, until it is closed; a
/// rank that was given up may live on beside its replacement. Who has just
/// finished has renamed the file, which then is no longer at `path`.
bool isOnlyWriter(int file, const std::string &path) {
  struct stat opened, there;
  return flock(file, LOCK_EX | LOCK_NB) == 0 && fstat(file, &opened) == 0 &&
         stat(path.c_str(), &there) == 0 && opened.st_ino == there.st_ino &&
         opened.st_dev == there.st_dev;
}

/// Of a state: its steps, then its session.
using StateName = std::pair<int64_t, int64_t>;
/// Of no state.
constexpr int64_t kNoSteps = -1;

std::vector<StateName> readNames(absl::Span<const std::string> paths) {
  std::vector<StateName> names;
  for (const std::string &path : paths) {
    absl::StatusOr<std::string> bytes =
        readFile(path, std::numeric_limits<size_t>::max() - 1);
    absl::StatusOr<SavedState> state =
        bytes.ok() ? readState(*bytes) : bytes.status();
    names.push_back(state.ok() ? StateName(state->steps, state->session)
                               : StateName(kNoSteps, 0));
  }
  return names;
}

/// Whether each rank's `length` numbers in `found` have the name.
bool isOnAll(const StateName &name, const std::vector<int64_t> &found,
             size_t length) {
  for (size_t rank = 0; rank < found.size(); rank += length) {
    bool isThere = false;
    for (size_t i = rank; i < rank + length; i += 2)
      isThere |= StateName(found[i], found[i + 1]) == name;
    if (!isThere)
      return false;
  }
  return true;
}

} // namespace

absl::Status writeCheckpoint(const std::string &path, absl::string_view bytes) {
  if (absl::Status fits = checkFileSize(bytes.size()); !fits.ok())
    return absl::Status(fits.code(), absl::StrCat("can't write checkpoint '",
                                                  path, "': ", fits.message()));
  const std::string partial = absl::StrCat(path, ".partial");
  // Nobody waits for who is at the other end of a FIFO.
  Descriptor file(
      open(partial.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666));
  if (!file)
    return failure(path, "open");
  struct stat about = {};
  if (fstat(file.number(), &about) != 0 || !S_ISREG(about.st_mode))
    return absl::UnavailableError(absl::StrCat("can't write checkpoint '", path,
                                               "': '", partial,
                                               "' is there and no file"));
  if (!isOnlyWriter(file.number(), partial))
    return absl::UnavailableError(absl::StrCat(
        "can't write checkpoint '", path, "': another process is writing it"));
  if (ftruncate(file.number(), 0) != 0 || !writeAll(file.number(), bytes) ||
      fsync(file.number()) != 0) {
    absl::Status status = failure(path, "write");
    unlink(partial.c_str());
    return status;
  }
  if (rename(partial.c_str(), path.c_str()) != 0) {
    absl::Status status = failure(path, "rename");
    unlink(partial.c_str());
    return status;
  }
  // Else a host that crashes might forget the new name.
  size_t slash = path.rfind('/');
  Descriptor folder(
      open(slash == path.npos ? "." : path.substr(0, slash + 1).c_str(),
           O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return folder && fsync(folder.number()) == 0 ? absl::OkStatus()
                                               : failure(path, "folder");
}

absl::StatusOr<std::optional<size_t>>
findNewestCheckpoint(World &world, absl::Span<const std::string> paths) {
  std::vector<int> all(static_cast<size_t>(world.size()));
  std::iota(all.begin(), all.end(), 0);
  auto group = world.createCommunicator(
      all, absl::StrCat("checkpoints", world.nextNumber()));
  if (!group.ok())
    return group.status();
  const std::vector<StateName> own = readNames(paths);
  int64_t most = static_cast<int64_t>(own.size());
  absl::Status status =
      (*group)->allReduce(&most, &most, 1, DataType::Int64, ReduceKind::Max);
  if (!status.ok())
    return status;
  // Each rank's, filled up to as many.
  std::vector<int64_t> sent;
  for (const auto &[steps, session] : own)
    sent.insert(sent.end(), {steps, session});
  sent.resize(static_cast<size_t>(2 * most), kNoSteps);
  std::vector<int64_t> found(sent.size() * all.size());
  if (most > 0)
    status = (*group)->gatherFromOwners(sent.data(), found.data(),
                                        static_cast<int64_t>(found.size()),
                                        DataType::Int64, world.size(), all);
  if (!status.ok())
    return status;
  std::optional<size_t> newest;
  for (size_t i = 0; i < own.size(); ++i)
    if (own[i].first != kNoSteps && (!newest || own[*newest] < own[i]) &&
        isOnAll(own[i], found, sent.size()))
      newest = i;
  return newest;
}

} // namespace bagua::runtime
