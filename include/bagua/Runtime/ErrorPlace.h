//===- ErrorPlace.h - What an error of a run speaks of --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For programs that act on an error: what its text says for people, in numbers.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_RUNTIME_ERRORPLACE_H
#define BAGUA_RUNTIME_ERRORPLACE_H

#include "absl/status/status.h"

#include <cstdint>
#include <optional>

namespace bagua::runtime {

/// -1 where an error speaks of none.
struct ErrorPlace {
  /// The one at fault, as far as is known: that is lost, has left, did not come
  /// (the first of several) or made a mistake; else the one that found it.
  int64_t rank = -1;
  /// Of the plan, by number: what was asked for, or waited for.
  int64_t tensor = -1;
  int64_t instruction = -1;
  /// Of the session.
  int64_t step = -1;
};

/// Carried by errors of a session's between beginStep and finish, and by those
/// of worlds and communicators that know of a rank. Travels to all ranks.
std::optional<ErrorPlace> errorPlaceOf(const absl::Status &status);

/// `status` with what `place` knows besides. Ok stays Ok.
absl::Status withPlace(absl::Status status, const ErrorPlace &place);

} // namespace bagua::runtime

#endif // BAGUA_RUNTIME_ERRORPLACE_H
