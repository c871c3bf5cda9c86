//===- SharedCounts.h - Counts that several updates share -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An imported Adam is corrected by a count, which its module may keep for all
// params together. The runtime counts the updates of each param's moments. In
// one step these are the same number; in steps that update different params
// they need not be.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_TARGET_PLAN_SHAREDCOUNTS_H
#define BAGUA_LIB_TARGET_PLAN_SHAREDCOUNTS_H

#include "bagua/Dialect/Bagua/Bagua.h"
#include "bagua/Runtime/PlanGenerated.h"

namespace bagua {

/// Fails, with an error, if the runtime corrects an update of moments that a
/// step says are counted by one of its states, and that state does not advance
/// in just the steps in which the runtime updates the moments. `plan` has the
/// steps in their order.
llvm::LogicalResult verifyCounts(llvm::ArrayRef<StepOp> steps,
                                 const runtime::fb::Plan &plan);

} // namespace bagua

#endif // BAGUA_LIB_TARGET_PLAN_SHAREDCOUNTS_H
