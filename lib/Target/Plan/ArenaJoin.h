//===- ArenaJoin.h - The arenas of several steps in one -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// bagua-place lays out each step by itself. In a plan of several steps the
// program may use a named tensor at any time, also while a step runs that does
// not have the tensor.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_TARGET_PLAN_ARENAJOIN_H
#define BAGUA_LIB_TARGET_PLAN_ARENAJOIN_H

#include "PlanModel.h"

#include "llvm/ADT/ArrayRef.h"

#include <memory>

namespace bagua {

/// Moves what lies in arenas: a tensor that several steps have gets one place,
/// and bytes that no step without the tensor uses. Bytes of values without a
/// name are shared between steps, which run one after the other. What overlaps
/// in a step stays together. Fails, with an error, if two steps can't have a
/// tensor at one place because of what else is in its bucket.
llvm::LogicalResult
joinArenas(llvm::ArrayRef<std::unique_ptr<PlanModel>> models);

} // namespace bagua

#endif // BAGUA_LIB_TARGET_PLAN_ARENAJOIN_H
