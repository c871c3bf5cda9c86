//===- RankPlace.h - Where to look for a rank -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Errors name ranks by their numbers in the world. A reader may know a rank by
// the plan's axes, or by the number that the launcher gave it.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_SESSION_RANKPLACE_H
#define BAGUA_LIB_RUNTIME_SESSION_RANKPLACE_H

#include "bagua/Runtime/Communicator.h"
#include "bagua/Runtime/Plan.h"

#include "absl/status/status.h"

#include <string>

namespace bagua::runtime {

/// "rank 3 is node=1, gpu=0, started as rank 1". Empty if this says no more
/// than the number.
std::string describeRank(const Plan &plan, const World &world, int64_t rank);

/// `status` with the description of the rank that it names. Ok stays Ok.
absl::Status withRankPlace(const absl::Status &status, const Plan &plan,
                           const World &world);

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_SESSION_RANKPLACE_H
