//===- ErrorPlace.h - Where in a run an error happened --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An error's text is for people. ErrorPlace has the rank, tensor, instruction
// and step of the text as numbers, for programs that act on an error.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_RUNTIME_ERRORPLACE_H
#define BAGUA_RUNTIME_ERRORPLACE_H

#include "absl/status/status.h"

#include <cstdint>
#include <optional>

namespace bagua::runtime {

/// Each field is -1 if the error names none.
struct ErrorPlace {
  /// The rank at fault, as far as is known: the one that is lost, has left, did
  /// not come (the first of several) or made a mistake. Otherwise the rank that
  /// found the error.
  int64_t rank = -1;
  /// The tensor of the plan that was given or waited for, by number.
  int64_t tensor = -1;
  int64_t instruction = -1;
  /// The step of the session.
  int64_t step = -1;
};

/// The place that `status` carries. Errors of a session between beginStep and
/// finish carry one, and so do errors of worlds and communicators that know a
/// rank at fault. The place travels to all ranks with the error.
std::optional<ErrorPlace> errorPlaceOf(const absl::Status &status);

/// `status` with the fields of `place` that it doesn't have yet. Ok stays Ok.
absl::Status withPlace(absl::Status status, const ErrorPlace &place);

} // namespace bagua::runtime

#endif // BAGUA_RUNTIME_ERRORPLACE_H
