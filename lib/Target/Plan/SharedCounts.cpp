//===- SharedCounts.cpp - Counts that several updates share ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The import does not keep by which count an update was corrected. So an update
// is accepted if any count of its optimizer advances just with it.
//
//===----------------------------------------------------------------------===//
#include "SharedCounts.h"

#include "bagua/Dialect/Bagua/Bagua.h"
#include "bagua/Support/UpdateRules.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace bagua;

namespace {
/// A bias correction.
struct Corrected {
  StringRef param;
  /// The last of the states: adam_apply may have another value of the first
  /// moment.
  StringRef moment;
};

/// The counts that a step advances, and the moments that it updates.
struct StepCounts {
  StepOp step;
  /// The scalars of the optimizer's state whose next values the program
  /// computes: integers, or else floats.
  llvm::StringSet<> counts, floats;
  llvm::StringSet<> moments;
  std::vector<Corrected> corrected;
};
} // namespace

static void readCounts(StepCounts &found) {
  StepOp step = found.step;
  for (auto [next, index] :
       llvm::zip_equal(step.getYield().getValues(), step.getStateArguments())) {
    ArgumentAttr state = step.getArgument(index);
    auto type = dyn_cast<RankedTensorType>(next.getType());
    if (state.getRole() != Role::Optimizer || !type || type.getRank() != 0 ||
        !isa_and_nonnull<ComputeOp>(next.getDefiningOp()))
      continue;
    (type.getElementType().isInteger() ? found.counts : found.floats)
        .insert(state.getName().getValue());
  }
}

/// Reads the updates that the contract names. It names those that are left to
/// the program, too.
static void readContract(PlanModel &model, StepCounts &found) {
  auto contract = found.step->getAttrOfType<ArrayAttr>(kContractAttr);
  if (!contract)
    return;
  for (Attribute entry : contract) {
    auto update = dyn_cast<UpdateAttr>(entry);
    if (!update)
      continue;
    for (auto state : update.getStates().getAsRange<StringAttr>())
      found.moments.insert(state.getValue());
    if (update.getBiasCorrection() != BiasCorrection::None &&
        model.isExpected(update))
      found.corrected.push_back(
          {cast<StringAttr>(update.getStates()[0]).getValue(),
           cast<StringAttr>(update.getStates().getValue().back()).getValue()});
  }
}

/// Reads the updates of which the contract says nothing, such as those by a
/// rank's own gradient.
static void readOps(StepCounts &found) {
  StepOp step = found.step;
  auto nameOf = [&](Value value) -> StringRef {
    auto argument = dyn_cast<BlockArgument>(value);
    return argument
               ? step.getArgument(argument.getArgNumber()).getName().getValue()
               : StringRef();
  };
  for (Operation &op : step.getBody().front().without_terminator()) {
    auto update = cast<StepOpInterface>(op);
    std::optional<UpdateRule> rule = update.getUpdateRule();
    if (!rule)
      continue;
    // Given moments are inputs; the learning rate comes last.
    size_t count = update.getStateCount() + rowOf(*rule).inputs;
    StringRef last;
    for (Value operand : op.getOperands().take_front(count)) {
      auto argument = dyn_cast<BlockArgument>(operand);
      if (!argument || step.getArgument(argument.getArgNumber()).getRole() !=
                           Role::Optimizer)
        continue;
      last = nameOf(operand);
      found.moments.insert(last);
    }
    auto correction = op.getAttrOfType<BiasCorrectionAttr>("bias_correction");
    if (!last.empty() && correction &&
        correction.getValue() != BiasCorrection::None)
      found.corrected.push_back({nameOf(op.getOperand(0)), last});
  }
}

/// Whether the count advances in just the steps that update the moment. Where
/// it went on alone, it could come to another number in a state that another
/// table of phases loads.
static bool counts(const std::vector<StepCounts> &steps, StringRef count,
                   StringRef moment) {
  return llvm::all_of(steps, [&](const StepCounts &found) {
    return found.counts.contains(count) == found.moments.contains(moment);
  });
}

LogicalResult
bagua::verifyCounts(const std::vector<std::unique_ptr<PlanModel>> &models) {
  std::vector<StepCounts> steps;
  for (const auto &model : models) {
    StepCounts &found = steps.emplace_back();
    found.step = model->step;
    readCounts(found);
    readContract(*model, found);
    readOps(found);
  }
  // Other floats of the optimizer, such as a learning rate, advance as well.
  if (llvm::all_of(
          steps, [](const StepCounts &found) { return found.counts.empty(); }))
    for (StepCounts &found : steps)
      found.counts = found.floats;
  for (StepCounts &found : steps)
    for (const Corrected &update : found.corrected)
      if (!found.counts.empty() &&
          llvm::none_of(found.counts.keys(), [&](StringRef count) {
            return counts(steps, count, update.moment);
          }))
        return found.step.emitError()
               << "corrects the moments of \"" << update.param
               << "\" by the number of their updates, but no count of the "
                  "optimizer advances in just the steps that update them: "
                  "expected a count of their own, or updates=program";
  return success();
}
