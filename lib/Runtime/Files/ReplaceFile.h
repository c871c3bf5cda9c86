//===- ReplaceFile.h - Files that are whole or not there ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For files that must be whole however the rank that writes them ends.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_FILES_REPLACEFILE_H
#define BAGUA_LIB_RUNTIME_FILES_REPLACEFILE_H

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

#include <string>

namespace bagua::runtime {

/// Replaces the contents of `path` by `bytes`; after a crash the file has
/// either its old contents or these. Unavailable or ResourceExhausted, with
/// `what` the file is (as in "checkpoint"), its path and the reason, if it
/// can't be written.
absl::Status replaceFile(const char *what, const std::string &path,
                         absl::string_view bytes);

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_FILES_REPLACEFILE_H
