//===- DurationToString.h - Times in messages -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BAGUA_LIB_RUNTIME_COMMUNICATION_DURATIONTOSTRING_H
#define BAGUA_LIB_RUNTIME_COMMUNICATION_DURATIONTOSTRING_H

#include "absl/time/time.h"

#include <chrono>
#include <string>

namespace bagua::runtime {

/// "1.5s", "200ms".
inline std::string durationToString(std::chrono::nanoseconds duration) {
  return absl::FormatDuration(absl::FromChrono(duration));
}

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_COMMUNICATION_DURATIONTOSTRING_H
