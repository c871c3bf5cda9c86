//===- Errors.h - Statuses as codes and messages --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Helpers that every function of the C interface uses, so that no exception
// reaches a caller in C and each error has a message.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_CAPI_ERRORS_H
#define BAGUA_LIB_CAPI_ERRORS_H

#include "bagua/bagua.h"

#include "absl/status/status.h"

#include <chrono>
#include <exception>
#include <initializer_list>
#include <new>
#include <string>
#include <utility>

namespace bagua::capi {

/// Returns the code of a status, and keeps its message for bagua_last_error().
bagua_code report(const absl::Status &status) noexcept;

/// Runs a body that returns a Status, and reports the status or an exception.
template <typename Body> bagua_code guard(Body body) noexcept {
  try {
    return report(body());
  } catch (const std::bad_alloc &) {
    return report(absl::ResourceExhaustedError(""));
  } catch (const std::exception &error) {
    return report(absl::InternalError(error.what()));
  }
}

/// InvalidArgument with the name of the first argument that is null.
absl::Status
requireAll(const char *call,
           std::initializer_list<std::pair<const char *, const void *>> all);

/// Stores `seconds`, at most ten years, in `result`; 0 leaves it as it is.
/// InvalidArgument for a negative value or a NaN.
absl::Status readSeconds(const char *name, double seconds,
                         std::chrono::nanoseconds &result);

/// Copies the part of a struct that the caller knows; the struct begins with
/// its size. The rest of `known` is zero. InvalidArgument for a size that no
/// version had; Unimplemented if the caller sets a field that this library does
/// not know.
absl::Status readStruct(const char *name, const void *given, void *known,
                        size_t knownBytes);

/// Stores `known` in a struct of the caller's that begins with its size; the
/// size stays. Copies as much as the caller knows of the struct, and zeroes
/// what the caller's struct has beyond `known`. InvalidArgument for a size that
/// no version had.
absl::Status writeStruct(const char *name, const void *known, size_t knownBytes,
                         void *to);

/// Copies the options of a session or a communicator to `known`, and reads how
/// long to wait for others and whom to warn. Null changes nothing. Errors are
/// those of readStruct and readSeconds.
template <typename Given, typename Options>
absl::Status readWaiting(const char *name, const Given *given, Given &known,
                         Options &options) {
  if (given)
    if (absl::Status status = readStruct(name, given, &known, sizeof(known));
        !status.ok())
      return status;
  if (known.on_warning)
    options.onWarning = [call = known.on_warning,
                         user = known.user](const std::string &text) {
      call(user, text.c_str());
    };
  return readSeconds("timeout_seconds", known.timeout_seconds, options.timeout);
}

} // namespace bagua::capi

#endif // BAGUA_LIB_CAPI_ERRORS_H
