//===- HostLimits.cpp - Limits of this process ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Limits are the soft ones. How many descriptors are left is found by opening
// some.
//
//===----------------------------------------------------------------------===//
#include "Files/HostLimits.h"

#include "Files/Descriptor.h"

#include "absl/strings/str_cat.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <limits>
#include <sys/resource.h>
#include <vector>

namespace bagua::runtime {

size_t mostFileBytes() {
  rlimit limit = {};
  return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY
             ? static_cast<size_t>(limit.rlim_cur)
             : std::numeric_limits<size_t>::max();
}

absl::Status checkFileSize(size_t bytes) {
  const size_t most = mostFileBytes();
  return bytes <= most ? absl::OkStatus()
                       : absl::ResourceExhaustedError(absl::StrCat(
                             "needs a file of ", bytes,
                             " bytes, this process may write at most ", most,
                             " (ulimit -f)"));
}

absl::Status checkDescriptors(int count) {
  std::vector<Descriptor> spare;
  while (static_cast<int>(spare.size()) < count) {
    spare.emplace_back(open("/", O_PATH | O_CLOEXEC));
    if (!spare.back() && isOutOfDescriptors(errno))
      return absl::ResourceExhaustedError(absl::StrCat(
          "needs ", count, " descriptors more: ", describeError(errno)));
  }
  return absl::OkStatus();
}

bool isOutOfDescriptors(int error) {
  return error == EMFILE || error == ENFILE;
}

std::string describeError(int error) {
  rlimit limit = {};
  if (!isOutOfDescriptors(error) || getrlimit(RLIMIT_NOFILE, &limit) != 0)
    return std::strerror(error);
  return absl::StrCat(std::strerror(error), " (ulimit -n is ", limit.rlim_cur,
                      ")");
}

} // namespace bagua::runtime
