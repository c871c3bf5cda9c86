//===- ReadFile.h - Files as bytes
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//-----------------------------------------===//
//
// Whole, and never more than was asked for: what a path names may be a device
// without an end, or a FIFO without a writer.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_FILES_READFILE_H
#define BAGUA_LIB_RUNTIME_FILES_READFILE_H

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <cstddef>
#include <string>

namespace bagua::runtime {

/// What is left of an open file. Unavailable with the reason where it can't be
/// read, InvalidArgument where it has more than `most` bytes. Messages name no
/// path.
absl::StatusOr<std::string> readAll(int descriptor, size_t most);

/// The same of the file at `path`; also NotFound where it can't be opened. A
/// FIFO is waited for as long as it has a writer.
absl::StatusOr<std::string> readFile(const std::string &path, size_t most);

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_FILES_READFILE_H
