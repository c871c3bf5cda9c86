//===- Movement.h - Where elements that a relation moves come from --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Follows all_to_all, pieces along a dimension and permute back element by
// element. This is what a check expects, whatever algorithm moved the elements.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_REPLAY_MOVEMENT_H
#define BAGUA_LIB_REPLAY_MOVEMENT_H

#include "bagua/Runtime/Plan.h"
#include "bagua/Runtime/PlanGenerated.h"

#include <cstdint>

namespace bagua::replay {

/// Neighbouring elements of a tensor taken back that were neighbours also in
/// the tensor that was given.
struct MovedRun {
  static constexpr int64_t kAll = -1;
  static constexpr int64_t kNobody = -2;

  /// The index of the first element in the given tensor.
  int64_t source;
  int64_t length;
  /// The member's place in the group; kAll if all members' elements are
  /// reduced; kNobody for zeros.
  int64_t member;
};

/// The view of one member on a relation of any kind but Reduced and Updated.
class Movement {
public:
  /// `position` is the member's place in a group of `size`.
  Movement(const runtime::Plan &plan, const runtime::fb::Relation &relation,
           int64_t position, int64_t size);

  /// The number of elements of the tensor that is taken back.
  int64_t count() const { return elements; }
  /// The elements that start at `element`.
  MovedRun at(int64_t element) const;

private:
  /// The number of neighbouring elements within a block of the dimension: in
  /// the given tensor, and in the tensor taken back.
  int64_t splitInner = 1, concatInner = 1;
  int64_t elements = 1;
  int64_t position, size;
  bool isCut, isJoined;
  int64_t sender;
};

} // namespace bagua::replay

#endif // BAGUA_LIB_REPLAY_MOVEMENT_H
