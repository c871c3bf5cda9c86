//===- SharedCounts.cpp - Counts that several updates share ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What an update's count was is known no more. So an update is accepted if any
// count of its optimizer advances just with it.
//
//===----------------------------------------------------------------------===//
#include "SharedCounts.h"

#include "bagua/Dialect/Bagua/Bagua.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace bagua;

/// The names of the integers of the optimizer's state whose next values the
/// program computes.
static llvm::StringSet<> findAdvancedCounts(StepOp step) {
  llvm::StringSet<> counts;
  for (auto [next, index] :
       llvm::zip_equal(step.getYield().getValues(), step.getStateArguments())) {
    ArgumentAttr state = step.getArgument(index);
    auto type = dyn_cast<RankedTensorType>(next.getType());
    if (state.getRole() == Role::Optimizer && type && type.getRank() == 0 &&
        type.getElementType().isInteger() &&
        isa_and_nonnull<ComputeOp>(next.getDefiningOp()))
      counts.insert(state.getName().getValue());
  }
  return counts;
}

/// The updates with a bias correction.
static SmallVector<UpdateAttr> findCountedUpdates(StepOp step) {
  SmallVector<UpdateAttr> updates;
  if (auto contract = step->getAttrOfType<ArrayAttr>(kContractAttr))
    for (Attribute entry : contract)
      if (auto update = dyn_cast<UpdateAttr>(entry);
          update && update.getBiasCorrection() != BiasCorrection::None)
        updates.push_back(update);
  return updates;
}

LogicalResult
bagua::verifyCounts(const std::vector<std::unique_ptr<PlanModel>> &steps) {
  std::vector<llvm::StringSet<>> counts;
  std::vector<llvm::DenseSet<ArrayAttr>> updates(steps.size());
  for (size_t i = 0; i < steps.size(); ++i) {
    counts.push_back(findAdvancedCounts(steps[i]->step));
    for (UpdateAttr update : findCountedUpdates(steps[i]->step))
      updates[i].insert(update.getStates());
  }
  auto advancesWith = [&](StringRef count, ArrayAttr states) {
    for (size_t i = 0; i < steps.size(); ++i)
      if (counts[i].contains(count) != updates[i].contains(states))
        return false;
    return true;
  };
  for (size_t i = 0; i < steps.size(); ++i)
    for (UpdateAttr update : findCountedUpdates(steps[i]->step))
      if (steps[i]->isExpected(update) && !counts[i].empty() &&
          llvm::none_of(counts[i].keys(), [&](StringRef count) {
            return advancesWith(count, update.getStates());
          }))
        return steps[i]->step.emitError()
               << "corrects the moments of " << update.getStates()[0]
               << " by the number of their updates, but no count of the "
                  "optimizer advances in just the steps that update them: "
                  "expected a count of their own, or updates=program";
  return success();
}
