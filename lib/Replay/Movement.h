//===- Movement.h - Where elements that a relation moves come from --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// all_to_all, pieces along a dimension and permute, followed back element by
// element: what a check expects, whatever algorithm moved it.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_REPLAY_MOVEMENT_H
#define BAGUA_LIB_REPLAY_MOVEMENT_H

#include "bagua/Runtime/Plan.h"
#include "bagua/Runtime/PlanGenerated.h"

#include <cstdint>

namespace bagua::replay {

/// Elements of a tensor given back that lie together where they were given,
/// too.
struct MovedRun {
  static constexpr int64_t kAll = -1;
  static constexpr int64_t kNobody = -2;

  /// The first one's index in what was given.
  int64_t source;
  int64_t length;
  /// Its place in the group; kAll: all members' are reduced; kNobody: zeros.
  int64_t member;
};

/// One member's view of a relation of any kind but Reduced and Updated.
class Movement {
public:
  /// `position` of `size` in the group.
  Movement(const runtime::Plan &plan, const runtime::fb::Relation &relation,
           int64_t position, int64_t size);

  /// Elements of the tensor given back.
  int64_t count() const { return elements; }
  /// Those from `element` on.
  MovedRun at(int64_t element) const;

private:
  /// Elements that are together in what was given, and in what is given back,
  /// where blocks of a dimension are between them.
  int64_t splitInner = 1, concatInner = 1;
  int64_t elements = 1;
  int64_t position, size;
  bool isCut, isJoined;
  int64_t sender;
};

} // namespace bagua::replay

#endif // BAGUA_LIB_REPLAY_MOVEMENT_H
