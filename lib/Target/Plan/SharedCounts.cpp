//===- SharedCounts.cpp - Counts that several updates share ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The import does not keep by which count an update was corrected. So an update
// is accepted if any count of its optimizer advances just with it.
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

/// The names of the moments that a step's updates use. What it leaves to the
/// program is among them.
static llvm::StringSet<> findMoments(StepOp step) {
  llvm::StringSet<> moments;
  if (auto contract = step->getAttrOfType<ArrayAttr>(kContractAttr))
    for (Attribute entry : contract)
      if (auto update = dyn_cast<UpdateAttr>(entry))
        for (auto state : update.getStates().getAsRange<StringAttr>())
          moments.insert(state.getValue());
  for (auto apply : step.getBody().getOps<AdamApplyOp>())
    for (Value operand : apply->getOperands())
      if (auto argument = dyn_cast<BlockArgument>(operand))
        moments.insert(
            step.getArgument(argument.getArgNumber()).getName().getValue());
  return moments;
}

LogicalResult
bagua::verifyCounts(const std::vector<std::unique_ptr<PlanModel>> &steps) {
  std::vector<llvm::StringSet<>> counts, moments;
  for (const auto &model : steps) {
    counts.push_back(findAdvancedCounts(model->step));
    moments.push_back(findMoments(model->step));
  }
  auto advancesWith = [&](StringRef count, StringRef moment) {
    for (size_t i = 0; i < steps.size(); ++i)
      if (counts[i].contains(count) != moments[i].contains(moment))
        return false;
    return true;
  };
  for (size_t i = 0; i < steps.size(); ++i) {
    auto contract = steps[i]->step->getAttrOfType<ArrayAttr>(kContractAttr);
    if (!contract || counts[i].empty())
      continue;
    for (Attribute entry : contract) {
      auto update = dyn_cast<UpdateAttr>(entry);
      if (!update || update.getBiasCorrection() == BiasCorrection::None ||
          !steps[i]->isExpected(update))
        continue;
      // The last moment: adam_apply may have another value of the first.
      auto moment = cast<StringAttr>(update.getStates().getValue().back());
      if (llvm::none_of(counts[i].keys(), [&](StringRef count) {
            return advancesWith(count, moment);
          }))
        return steps[i]->step.emitError()
               << "corrects the moments of " << update.getStates()[0]
               << " by the number of their updates, but no count of the "
                  "optimizer advances in just the steps that update them: "
                  "expected a count of their own, or updates=program";
    }
  }
  return success();
}
