//===- HostLimits.h - Limits of this process ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Limits of files and descriptors. A process that exceeds the size limit of
// files is killed by a signal, so code asks for this limit first. An error
// about missing descriptors names their limit.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_FILES_HOSTLIMITS_H
#define BAGUA_LIB_RUNTIME_FILES_HOSTLIMITS_H

#include "absl/status/status.h"

#include <cstddef>
#include <string>

namespace bagua::runtime {

/// The most bytes of a file (RLIMIT_FSIZE, `ulimit -f`); the largest number if
/// there is no limit.
size_t mostFileBytes();

/// ResourceExhausted if a file of this size exceeds the limit. The message
/// names no path.
absl::Status checkFileSize(size_t bytes);

/// ResourceExhausted unless this many more descriptors can be opened now.
absl::Status checkDescriptors(int count);

/// Whether an error means that no descriptors are left.
bool isOutOfDescriptors(int error);
/// strerror(), with the limit (RLIMIT_NOFILE, `ulimit -n`) if the error is
/// about it.
std::string describeError(int error);

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_FILES_HOSTLIMITS_H
