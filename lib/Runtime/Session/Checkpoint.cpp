//===- Checkpoint.cpp - Files of state that a crash can't harm ------------===//
//
// Written beside the file, brought to the disk, and then renamed over it.
//
//===----------------------------------------------------------------------===//
#include "bagua/Runtime/Checkpoint.h"

#include "Device/Host/Descriptor.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <iterator>
#include <limits>
#include <numeric>
#include <set>
#include <unistd.h>
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

} // namespace

absl::Status writeCheckpoint(const std::string &path, absl::string_view bytes) {
  const std::string partial = absl::StrCat(path, ".partial");
  Descriptor file(
      open(partial.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!file)
    return failure(path, "open");
  if (!writeAll(file.number(), bytes) || fsync(file.number()) != 0) {
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

absl::StatusOr<std::optional<int64_t>>
findNewestCommon(World &world, absl::Span<const int64_t> steps) {
  std::vector<int> all(static_cast<size_t>(world.size()));
  std::iota(all.begin(), all.end(), 0);
  auto group = world.createCommunicator(
      all, absl::StrCat("checkpoints", world.nextNumber()));
  if (!group.ok())
    return group.status();
  int64_t most = static_cast<int64_t>(steps.size());
  absl::Status status =
      (*group)->allReduce(&most, &most, 1, DataType::Int64, ReduceKind::Max);
  if (!status.ok() || most == 0)
    return status.ok() ? absl::StatusOr<std::optional<int64_t>>(std::nullopt)
                       : status;
  // Each rank's, filled up with numbers that it has.
  constexpr int64_t kNone = std::numeric_limits<int64_t>::min();
  std::vector<int64_t> own(steps.begin(), steps.end());
  own.resize(static_cast<size_t>(most), own.empty() ? kNone : own.front());
  std::vector<int64_t> found(own.size() * all.size());
  status = (*group)->gatherFromOwners(own.data(), found.data(),
                                      static_cast<int64_t>(found.size()),
                                      DataType::Int64, world.size(), all);
  if (!status.ok())
    return status;
  std::set<int64_t> common(own.begin(), own.end());
  for (auto rank = found.begin(); rank != found.end(); rank += most) {
    std::set<int64_t> theirs(rank, rank + most), both;
    std::set_intersection(common.begin(), common.end(), theirs.begin(),
                          theirs.end(), std::inserter(both, both.end()));
    common = std::move(both);
  }
  common.erase(kNone);
  return common.empty() ? std::nullopt : std::optional(*common.rbegin());
}

} // namespace bagua::runtime
