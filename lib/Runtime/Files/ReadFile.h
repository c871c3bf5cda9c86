//===- ReadFile.h - Files as bytes ----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads a file completely, but never more than a given size: a path may name a
// device without an end, or a FIFO without a writer.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_FILES_READFILE_H
#define BAGUA_LIB_RUNTIME_FILES_READFILE_H

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <cstddef>
#include <string>

namespace bagua::runtime {

/// The rest of an open file. Unavailable, with the reason, if it can't be read;
/// InvalidArgument if it has more than `most` bytes. Messages name no path.
absl::StatusOr<std::string> readAll(int descriptor, size_t most);

/// The whole file at `path`. Also NotFound if it can't be opened. A FIFO is
/// read for as long as it has a writer.
absl::StatusOr<std::string> readFile(const std::string &path, size_t most);

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_FILES_READFILE_H
