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

#include <limits>

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

/// What a step counts, and what it updates.
struct StepCounts {
  StepOp step;
  /// The scalars of the optimizer's state whose next values the program
  /// computes: integers, or else floats.
  llvm::StringSet<> counts, floats;
  llvm::StringSet<> moments;
  std::vector<Corrected> corrected;
  /// Iterations between which the step runs, both included.
  int64_t first = std::numeric_limits<int64_t>::max(), last = -1;
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
    if (!cast<StepOpInterface>(op).getUpdateRule())
      continue;
    StringRef last;
    for (Value operand : op.getOperands()) {
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

/// A row comes behind the iterations of the rows before it that stop.
static void readRows(TrainingOp training, std::vector<StepCounts> &steps) {
  constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
  int64_t begin = 0;
  for (auto row : training.getBody().front().getOps<PhaseOp>()) {
    if (row.getIteration())
      continue; // no updates
    int64_t until = row.getUntil().value_or(kNever);
    for (StepCounts &found : steps) {
      if (found.step.getSymName() != row.getStep() || begin >= until)
        continue;
      found.first = std::min(found.first, begin);
      found.last = std::max(found.last, until - 1);
    }
    if (row.getUntil() && !row.getEvery())
      begin = std::max(begin, until);
  }
}

/// Whether the count is the number of the moment's updates whenever one of them
/// runs: it advances with all of them, and by itself only behind the last.
static bool counts(const std::vector<StepCounts> &steps, StringRef count,
                   StringRef moment) {
  int64_t last = -1;
  for (const StepCounts &found : steps)
    if (found.moments.contains(moment)) {
      if (!found.counts.contains(count))
        return false;
      last = std::max(last, found.last);
    }
  return llvm::none_of(steps, [&](const StepCounts &found) {
    return found.counts.contains(count) && !found.moments.contains(moment) &&
           found.first < last;
  });
}

LogicalResult
bagua::verifyCounts(const std::vector<std::unique_ptr<PlanModel>> &models,
                    TrainingOp training) {
  if (!training)
    return success();
  std::vector<StepCounts> steps;
  for (const auto &model : models) {
    StepCounts &found = steps.emplace_back();
    found.step = model->step;
    readCounts(found);
    readContract(*model, found);
    readOps(found);
  }
  readRows(training, steps);
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
                  "optimizer is that number whenever one of them runs: "
                  "expected a count of their own, or updates=program";
  return success();
}
