//===- AllReduce.cpp - Synchronous data parallelism -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One all_reduce for each gradient that the step leaves unreduced.
//
//===----------------------------------------------------------------------===//
#include "AllReduce.h"

#include "bagua/Transforms/Algorithms/Contract.h"
#include "bagua/Transforms/Algorithms/GradientQueries.h"
#include "bagua/Transforms/Utils/Names.h"
#include "bagua/Transforms/Utils/StepQueries.h"

#include "mlir/IR/Builders.h"

#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace bagua;

SmallVector<OpResult> all_reduce::findGradients(StepOp step,
                                                const FactAnalysis &facts) {
  SmallVector<OpResult> gradients;
  NextValues next(step);
  for (OpResult gradient : markedGradients(step))
    if (AxesAttr axes = pendingAxes(facts, gradient);
        axes && !isReducedByStep(step, next, facts, gradient, axes))
      gradients.push_back(gradient);
  return gradients;
}

void all_reduce::rewrite(StepOp step, const FactAnalysis &facts,
                         ArrayRef<OpResult> gradients) {
  auto mean = ReduceKindAttr::get(step.getContext(), ReduceKind::Mean);
  OpBuilder builder(step.getContext());
  for (OpResult gradient : gradients) {
    builder.setInsertionPointAfter(gradient.getOwner());
    auto reduction = builder.create<AllReduceOp>(
        gradient.getLoc(), mean, gradient, pendingAxes(facts, gradient));
    gradient.replaceAllUsesExcept(reduction.getResult(), reduction);
  }
}

/// Relations for gradients whose mean the program finds in their own memory.
SmallVector<Attribute> all_reduce::promise(StepOp step,
                                           const FactAnalysis &facts,
                                           ArrayRef<OpResult> gradients) {
  SmallVector<Attribute> contract;
  auto noPairs = DenseI64ArrayAttr::get(step.getContext(), {});
  promiseExchanged(step, contract);
  llvm::DenseSet<StringAttr> updating;
  for (Attribute update : promiseUpdates(step))
    updating.insert(cast<UpdateAttr>(update).getOf());
  llvm::DenseSet<StringAttr> exchanged = relatedBy(contract);
  llvm::SmallPtrSet<Value, 16> unreduced(gradients.begin(), gradients.end());
  for (OpResult gradient : markedGradients(step)) {
    AxesAttr axes = pendingAxes(facts, gradient);
    StringAttr name = nameOf(step, gradient);
    if (!axes)
      continue;
    // A step may reduce over more axes, if its param may vary along them.
    SmallVector<AxesAttr> over{axes};
    if (!unreduced.contains(gradient) && !isReducedInPlace(gradient, &over)) {
      bool isGiven = llvm::any_of(gradient.getUsers(), [](Operation *user) {
        auto op = dyn_cast<StepOpInterface>(user);
        return op && !op.isRunByProgram();
      });
      if (isGiven && !exchanged.contains(name) && !updating.contains(name))
        emitRemark(gradient.getLoc())
            << "the contract does not cover gradient '" << name.getValue()
            << "': the step computes on this gradient before it reduces it, or "
               "has another use of it";
      continue;
    }
    contract.push_back(RelationAttr::get(
        step.getContext(), name, name, RelationKind::Reduced, ReduceKind::Mean,
        joinAxes(step, over), 0, 0, noPairs));
  }
  return contract;
}
