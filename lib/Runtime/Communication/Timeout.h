//===- Timeout.h - The limits that a program may set for waits ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The runtime adds timeouts to the clock and to each other. A timeout near the
// end of the clock's range would give a time in the past.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_COMMUNICATION_TIMEOUT_H
#define BAGUA_LIB_RUNTIME_COMMUNICATION_TIMEOUT_H

#include "Communication/DurationToString.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

#include <chrono>

namespace bagua::runtime {

/// InvalidArgument if the timeout is out of range.
inline absl::Status checkTimeout(std::chrono::nanoseconds timeout) {
  constexpr std::chrono::hours kTenYears(10 * 365 * 24);
  if (timeout > std::chrono::nanoseconds(0) && timeout <= kTenYears)
    return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "timeout: expected more than 0 and at most ten years, found ",
      durationToString(timeout)));
}

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_COMMUNICATION_TIMEOUT_H
