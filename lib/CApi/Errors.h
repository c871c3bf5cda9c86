//===- Errors.h - Statuses as codes and messages --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What every function of the C interface goes through: nothing is thrown at a
// caller in C, and each error has a message.
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

/// The code of a status, whose message is kept for bagua_last_error().
bagua_code report(const absl::Status &status) noexcept;

/// Runs a body that returns a Status.
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

/// 0: `fallback`. InvalidArgument for what is negative, or no number.
absl::Status readSeconds(const char *name, double seconds,
                         std::chrono::nanoseconds &result);

/// Copies what the caller knows of a struct that begins with its size; the rest
/// is zero. InvalidArgument for a size that no version had; Unimplemented where
/// the caller says something that this library does not know.
absl::Status readStruct(const char *name, const void *given, void *known,
                        size_t knownBytes);

/// Stores `known` in a struct of the caller's that begins with its size, which
/// it keeps: as much as the caller knows of; what it knows beyond is zero.
/// InvalidArgument for a size that no version had.
absl::Status writeStruct(const char *name, const void *known, size_t knownBytes,
                         void *to);

/// What a struct says of waiting for others, as sessions and communicators do:
/// how long, and who is warned. Null is nothing. Errors are those of both
/// above.
template <typename Given, typename Options>
absl::Status readWaiting(const char *name, const Given *given,
                         Options &options) {
  Given known = {};
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
