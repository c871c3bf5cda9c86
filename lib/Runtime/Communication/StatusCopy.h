//===- StatusCopy.h - Errors that go from thread to thread ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies of a status that share nothing with the original, payloads included. A
// plain copy shares a reference count, which lives in a library without
// ThreadSanitizer's instrumentation.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_COMMUNICATION_STATUSCOPY_H
#define BAGUA_LIB_RUNTIME_COMMUNICATION_STATUSCOPY_H

#include "absl/status/status.h"
#include "absl/strings/cord.h"
#include "absl/strings/string_view.h"

#include <string>

namespace bagua::runtime {

/// The same error with another message. Ok stays Ok.
inline absl::Status withMessage(const absl::Status &status,
                                absl::string_view message) {
  absl::Status result(status.code(), message);
  status.ForEachPayload([&](absl::string_view type, const absl::Cord &payload) {
    result.SetPayload(type, absl::Cord(std::string(payload)));
  });
  return result;
}

inline absl::Status duplicate(const absl::Status &status) {
  return withMessage(status, status.message());
}

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_COMMUNICATION_STATUSCOPY_H
