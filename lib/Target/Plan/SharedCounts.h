//===- SharedCounts.h - Counts that several updates share -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An imported Adam reads a count, which its module may keep for all params
// together. The runtime counts the updates of each param's moments. In one step
// these are the same number; in steps that update different params they need
// not be.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_TARGET_PLAN_SHAREDCOUNTS_H
#define BAGUA_LIB_TARGET_PLAN_SHAREDCOUNTS_H

#include "PlanModel.h"

#include <memory>
#include <vector>

namespace bagua {

/// Fails, with an error, if a step advances counts beside an update with a bias
/// correction, and every one of them also advances in a step without this
/// update, or rests in one with it.
llvm::LogicalResult
verifyCounts(const std::vector<std::unique_ptr<PlanModel>> &steps);

} // namespace bagua

#endif // BAGUA_LIB_TARGET_PLAN_SHAREDCOUNTS_H
