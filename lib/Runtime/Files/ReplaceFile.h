//===- ReplaceFile.h - Files that are whole or not there ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a rank leaves behind when it ends, however it ends.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_FILES_REPLACEFILE_H
#define BAGUA_LIB_RUNTIME_FILES_REPLACEFILE_H

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

#include <string>

namespace bagua::runtime {

/// Has `path` hold `bytes`: a crash leaves what it held before, or these.
/// Unavailable or ResourceExhausted with `what` the file is, as in
/// "checkpoint", its path, and why it can't be written.
absl::Status replaceFile(const char *what, const std::string &path,
                         absl::string_view bytes);

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_FILES_REPLACEFILE_H
