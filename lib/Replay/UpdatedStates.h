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

/// States that updates compute from each other, in any step of the plan. They
/// have one type and one number of elements.
class StateFamily {
public:
  /// The family of a state.
  StateFamily(const runtime::Plan &plan, uint32_t state);

  size_t size() const { return states.size(); }
  uint32_t tensor(size_t place) const { return states[place]; }
  /// The place of a tensor in the family; size() if it is none of these.
  size_t placeOf(uint32_t tensor) const;
  /// Whether the values start positive: those of Adam's variance.
  bool isPositive(size_t place) const { return positive[place]; }

private:
  std::vector<uint32_t> states;
  std::vector<bool> positive;
};

/// One thing that becomes of an optimizer's states in a run.
struct StateEvent {
  /// Updated, or Scaled or Broadcast of one state.
  const runtime::fb::Relation *relation;
  /// The iteration that it belongs to, or that it comes before.
  int64_t iteration;
  /// How far the reduced gradient may be off.
  double gradientTolerance;
};

/// The values of a state before the first step, which are equal on all ranks.
void generateState(const runtime::Plan &plan, const StateFamily &family,
                   size_t state, int64_t begin, int64_t count,
                   std::byte *output);

/// The norms of the whole param and of the whole direction.
struct UpdateNorms {
  double param = 0;
  double direction = 0;
};

/// By event: the norms by which it scales its direction on a rank. None if no
/// rule needs them.
std::vector<UpdateNorms> expectNorms(const runtime::Plan &plan,
                                     const StateFamily &family,
                                     const std::vector<StateEvent> &events,
                                     int64_t rank);

/// The values of a state after `events` of its family, on a rank.
void expectUpdated(const runtime::Plan &plan, const StateFamily &family,
                   const std::vector<StateEvent> &events,
                   const std::vector<UpdateNorms> &norms, int64_t rank,
                   size_t state, int64_t begin, int64_t count,
                   std::byte *output);

/// How far a state may be from expectUpdated if gradients may be off as
/// `events` say: a first-order bound from the largest values that occur. Norms
/// round even if gradients do not. Not finite if any value could be explained:
/// when little is left of Adam's first variance (a small beta2), its step may
/// have any size.
double updatedTolerance(const runtime::Plan &plan, const StateFamily &family,
                        const std::vector<StateEvent> &events,
                        const std::vector<UpdateNorms> &norms, size_t state);

} // namespace bagua::replay

#endif // BAGUA_LIB_REPLAY_UPDATEDSTATES_H
