//===- RankPlace.h - Where a rank is to be looked for ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Errors speak of ranks by their numbers in the world. A reader knows them by
// the plan's axes, and by what their launcher calls them.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_SESSION_RANKPLACE_H
#define BAGUA_LIB_RUNTIME_SESSION_RANKPLACE_H

#include "bagua/Runtime/Communicator.h"
#include "bagua/Runtime/Plan.h"

#include "absl/status/status.h"

#include <string>

namespace bagua::runtime {

/// "rank 3 is node=1, gpu=0, started as rank 1". Empty where that is no more
/// than the number says.
std::string describeRank(const Plan &plan, const World &world, int64_t rank);

/// `status` that says so of the rank that it speaks of. Ok stays Ok.
absl::Status withRankPlace(const absl::Status &status, const Plan &plan,
                           const World &world);

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_SESSION_RANKPLACE_H
