//===- GradientQueries.cpp - What a step does with its gradients ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Walks down from the gradients to what reduces them.
//
//===----------------------------------------------------------------------===//
#include "bagua/Transforms/Algorithms/GradientQueries.h"

#include "bagua/Dialect/Bagua/Sources.h"

#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace bagua;

AxesAttr bagua::pendingAxes(const FactAnalysis &analysis, Value value) {
  SmallVector<StringAttr> names;
  const Facts &facts = analysis.factsOf(value);
  for (auto [axis, name] : llvm::enumerate(analysis.getContext().axisNames))
    if (facts[axis] == Fact::Pending)
      names.push_back(StringAttr::get(value.getContext(), name));
  return names.empty() ? nullptr : AxesAttr::get(value.getContext(), names);
}

/// Whether `user` is compute by which backward changes a gradient before the
/// step reduces it (to clip it on each rank, say).
static bool isOnGradient(Operation *user) {
  auto compute = dyn_cast<ComputeOp>(user);
  return compute && compute.getPhase() == PhaseKind::Backward &&
         llvm::none_of(compute->getResults(), getGradientParam);
}

/// Whether the step itself reduces the gradient over some of the axes, possibly
/// in a bucket, as another element type or, if `isByWayOfCompute`, after
/// backward has computed on it.
static bool isReduced(Value gradient, AxesAttr axes, bool isByWayOfCompute) {
  llvm::SmallPtrSet<Operation *, 16> seen;
  SmallVector<Value> open{gradient};
  while (!open.empty())
    for (Operation *user : open.pop_back_val().getUsers()) {
      auto stepOp = dyn_cast<StepOpInterface>(user);
      if (!stepOp || !seen.insert(user).second ||
          (stepOp.isRunByProgram() &&
           !(isByWayOfCompute && isOnGradient(user))))
        continue;
      AxesAttr over = stepOp.getGroupAxes(); // null for decode
      bool isOver =
          !over || llvm::any_of(over.getNames(), [&](StringAttr name) {
            return axes.contains(name.getValue());
          });
      if (stepOp.getReduction() && isOver)
        return true;
      open.append(user->result_begin(), user->result_end());
    }
  return false;
}

/// Whether ranks already agree over the axes on the next value of the
/// gradient's param.
static bool isParamReduced(StepOp step, const NextValues &nextValues,
                           const FactAnalysis &analysis, OpResult gradient,
                           AxesAttr axes) {
  unsigned param =
      analysis.getContext().arguments.at(getGradientParam(gradient));
  Value next = nextValues.of(step.getBody().getArgument(param));
  const Facts &facts = analysis.factsOf(next);
  for (auto [axis, name] : llvm::enumerate(analysis.getContext().axisNames))
    if (axes.contains(name) && facts[axis] != Fact::Replicated)
      return false;
  return true;
}

bool bagua::isReducedOver(Value value, AxesAttr axes) {
  return isReduced(value, axes, /*isByWayOfCompute=*/false);
}

bool bagua::isReducedByStep(StepOp step, const NextValues &nextValues,
                            const FactAnalysis &analysis, OpResult gradient,
                            AxesAttr axes) {
  return isReduced(gradient, axes, /*isByWayOfCompute=*/false) ||
         (isReduced(gradient, axes, /*isByWayOfCompute=*/true) &&
          isParamReduced(step, nextValues, analysis, gradient, axes));
}

bool bagua::isReducedInPlace(Value gradient, SmallVectorImpl<AxesAttr> *over) {
  bool isReduced = false;
  for (Value value = gradient; value.hasOneUse();) {
    auto op = dyn_cast<StepOpInterface>(*value.getUsers().begin());
    if (!op || op.isRunByProgram() || (op.isArithmetic() && !op.isTransit()))
      return false;
    if (op->getNumResults() != 1)
      return isReduced;
    isReduced |= op.getReduction() != nullptr;
    if (AxesAttr axes = op.getGroupAxes(); over && axes && op.getReduction())
      over->push_back(axes);
    value = op->getResult(0);
    if (isReduced && isWhole(value.getType()))
      return !op.getResultName(0);
  }
  return false;
}

SmallVector<OpResult> bagua::markedGradients(StepOp step) {
  SmallVector<OpResult> gradients;
  for (auto compute : step.getBody().front().getOps<ComputeOp>())
    for (OpResult result : compute->getResults())
      if (getGradientParam(result))
        gradients.push_back(result);
  return gradients;
}
