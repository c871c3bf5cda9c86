//===- UpdatedStates.h - The states that updates must produce -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The states that a contract's updates lead to (Updates/UpdateCheck.h), and
// what steps between iterations make of them. They are computed from the first
// step on, so a check keeps no state.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_REPLAY_UPDATEDSTATES_H
#define BAGUA_LIB_REPLAY_UPDATEDSTATES_H

#include "bagua/Runtime/Plan.h"
#include "bagua/Runtime/PlanGenerated.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace bagua::replay {

/// The number of a tensor among an update's states; their count if it is none.
size_t placeAmong(const runtime::fb::Update &update, uint32_t tensor);

/// One thing that becomes of an optimizer's states in a run.
struct StateEvent {
  /// Updated, or Scaled or Broadcast of one state.
  const runtime::fb::Relation *relation;
  /// The iteration that it belongs to, or that it comes before.
  int64_t iteration;
  /// How far the reduced gradient may be off.
  double gradientTolerance;
};

/// The values of state number `state` of an update before the first step. They
/// are equal on all ranks; those of Adam's variance are positive.
void generateState(const runtime::Plan &plan, const runtime::fb::Update &update,
                   size_t state, int64_t begin, int64_t count,
                   std::byte *output);

/// The norms of the whole param and of the whole direction.
struct UpdateNorms {
  double param = 0;
  double direction = 0;
};

/// By event: the norms by which it scales its direction, on a rank of the group
/// `group`. None if no rule needs them.
std::vector<UpdateNorms> expectNorms(const runtime::Plan &plan,
                                     const runtime::fb::Update &update,
                                     const std::vector<StateEvent> &events,
                                     const std::vector<int64_t> &group);

/// The values after `events`, on a rank of the group `group`. All of them are
/// of the states of `update`.
void expectUpdated(const runtime::Plan &plan, const runtime::fb::Update &update,
                   const std::vector<StateEvent> &events,
                   const std::vector<UpdateNorms> &norms,
                   const std::vector<int64_t> &group, size_t state,
                   int64_t begin, int64_t count, std::byte *output);

/// How far a state may be from expectUpdated if gradients may be off as
/// `events` say: a first-order bound from the largest values that occur. Norms
/// round even if gradients do not. Not
/// finite if any value could be explained: when little is left of Adam's first
/// variance (a small beta2), its step may have any size.
double updatedTolerance(const runtime::Plan &plan,
                        const runtime::fb::Update &update,
                        const std::vector<StateEvent> &events,
                        const std::vector<UpdateNorms> &norms, size_t state);

} // namespace bagua::replay

#endif // BAGUA_LIB_REPLAY_UPDATEDSTATES_H
