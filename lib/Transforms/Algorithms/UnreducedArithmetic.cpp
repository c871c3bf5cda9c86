//===- UnreducedArithmetic.cpp - Arithmetic in front of reductions --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds it from gradients down, and from reductions of statistics up.
//
//===----------------------------------------------------------------------===//
#include "bagua/Transforms/Algorithms/UnreducedArithmetic.h"

#include "bagua/Dialect/Bagua/Sources.h"
#include "bagua/Transforms/Algorithms/GradientQueries.h"
#include "bagua/Transforms/Algorithms/ProgramOps.h"
#include "bagua/Transforms/Utils/StepQueries.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace bagua;

/// Whether an op reads a moment. A moment that is reduced instead of the
/// gradient belongs to the algorithm, whoever runs it.
static bool readsMoments(StepOp step, Operation *op) {
  return llvm::any_of(op->getOperands(), [&](Value operand) {
    auto argument = dyn_cast<BlockArgument>(operand);
    return argument && step.getArgument(argument.getArgNumber()).getRole() ==
                           Role::Optimizer;
  });
}

/// Finds the arithmetic on whole tensors by which the step changes a gradient
/// before it reduces it.
static void findUnreducedArithmetic(StepOp step, Value gradient, AxesAttr axes,
                                    llvm::SetVector<Operation *> &found) {
  SmallVector<Value> open{gradient};
  while (!open.empty())
    for (Operation *user : open.pop_back_val().getUsers()) {
      auto op = dyn_cast<StepOpInterface>(user);
      if (!op || op.isRunByProgram() || op.isUpdate() || op.getReduction() ||
          op->getNumResults() != 1 || !isReducedOver(op->getResult(0), axes))
        continue;
      if (op.isArithmetic() && !op.isTransit() &&
          isWhole(op->getResult(0).getType()) && !readsMoments(step, op))
        found.insert(op);
      open.push_back(op->getResult(0));
    }
}

/// Adds to `found` the arithmetic of the runtime that makes `value` from a
/// batch or from compute, and returns the latest phase of these; adds and
/// returns nothing if other values take part.
static std::optional<PhaseKind>
findStatisticsArithmetic(StepOp step, Value value,
                         llvm::SetVector<Operation *> &found) {
  std::optional<PhaseKind> phase;
  llvm::SetVector<Operation *> ops;
  SmallVector<Value> open{value};
  while (!open.empty()) {
    Value next = open.pop_back_val();
    if (auto argument = dyn_cast<BlockArgument>(next)) {
      ArgumentAttr given = step.getArgument(argument.getArgNumber());
      if (given.getRole() == Role::Batch)
        phase = phase.value_or(PhaseKind::Forward);
      else if (given.getRole() != Role::Param)
        return std::nullopt;
      continue;
    }
    if (auto compute = next.getDefiningOp<ComputeOp>()) {
      if (getGradientParam(next))
        return std::nullopt;
      phase = std::max(phase.value_or(compute.getPhase()), compute.getPhase());
      continue;
    }
    auto op = dyn_cast<StepOpInterface>(next.getDefiningOp());
    if (!op || !op.isArithmetic() || op.isTransit() || op.isUpdate() ||
        !isWhole(next.getType()))
      return std::nullopt;
    if (ops.insert(op))
      llvm::append_range(open, op->getOperands());
  }
  if (phase)
    found.insert(ops.begin(), ops.end());
  return phase;
}

/// A contract describes only what the program gives, so --check could not
/// verify a reduction of something that the runtime computed. The arithmetic in
/// front of it moves to the program.
static int64_t giveStatistics(StepOp step) {
  int64_t count = 0;
  for (auto reduce : step.getBody().front().getOps<AllReduceOp>()) {
    llvm::SetVector<Operation *> found;
    std::optional<PhaseKind> phase =
        findStatisticsArithmetic(step, reduce.getInput(), found);
    for (Operation *op : found) {
      op->emitRemark() << "'" << op->getName()
                       << "' op is left to the program: it stands between "
                          "values that the program computes and a reduction";
      giveTimed(step, op).setPhase(*phase);
      ++count;
    }
  }
  return count;
}

int64_t bagua::giveUnreduced(StepOp step, const FactAnalysis &facts) {
  llvm::SetVector<Operation *> found;
  for (OpResult gradient : markedGradients(step))
    if (AxesAttr axes = pendingAxes(facts, gradient))
      findUnreducedArithmetic(step, gradient, axes, found);
  for (Operation *op : found) {
    op->emitRemark() << "'" << op->getName()
                     << "' op is left to the program: it stands between a "
                        "gradient and its reduction";
    giveTimed(step, op).setPhase(PhaseKind::Backward);
  }
  return static_cast<int64_t>(found.size()) + giveStatistics(step);
}
