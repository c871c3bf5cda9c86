//===- UpdatedStates.h - The states that updates must produce -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The states that a contract's updates lead to (Updates/UpdateCheck.h). They
// are computed from the first step on, so a check keeps no state.
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

/// The norms by which each of the first `updates` steps scales its direction,
/// on a rank of the group `group`; none if the rule needs none.
std::vector<UpdateNorms> expectNorms(const runtime::Plan &plan,
                                     const runtime::fb::Relation &relation,
                                     const std::vector<int64_t> &group,
                                     int64_t updates);

/// The values after `updates` steps with these norms, on a rank of the group
/// `group`.
void expectUpdated(const runtime::Plan &plan,
                   const runtime::fb::Relation &relation,
                   const std::vector<int64_t> &group,
                   const std::vector<UpdateNorms> &norms, int64_t updates,
                   size_t state, int64_t begin, int64_t count,
                   std::byte *output);

/// How far a state may be from expectUpdated if gradients may be off by
/// `gradientTolerance`: a first-order bound from the largest values that occur.
/// Norms round even if gradients do not.
/// Not finite if any value could be explained: when little is left of Adam's
/// first variance (a small beta2), its step may have any size.
double updatedTolerance(const runtime::Plan &plan,
                        const runtime::fb::Relation &relation,
                        const std::vector<UpdateNorms> &norms, int64_t updates,
                        size_t state, double gradientTolerance);

} // namespace bagua::replay

#endif // BAGUA_LIB_REPLAY_UPDATEDSTATES_H
