//===- HostLimits.h - What this process may have --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Of files and descriptors. Who makes a file larger than it may be is killed by
// a signal, so its limit is asked for before; who has no descriptor left is
// told the limit.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_FILES_HOSTLIMITS_H
#define BAGUA_LIB_RUNTIME_FILES_HOSTLIMITS_H

#include "absl/status/status.h"

#include <cstddef>
#include <string>

namespace bagua::runtime {

/// The most bytes of a file (RLIMIT_FSIZE, `ulimit -f`); the largest number
/// where there is no limit.
size_t mostFileBytes();

/// ResourceExhausted where a file of so many bytes exceeds the limit. The
/// message names no path.
absl::Status checkFileSize(size_t bytes);

/// ResourceExhausted unless so many descriptors more can be had now.
absl::Status checkDescriptors(int count);

/// Whether an error is that there are no descriptors left.
bool isOutOfDescriptors(int error);
/// strerror(), with the limit (RLIMIT_NOFILE, `ulimit -n`) where that is it.
std::string describeError(int error);

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_FILES_HOSTLIMITS_H
