//===- StateChanges.cpp - What a step between iterations promises ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Recognises the ops that make the next value of a state from the state alone.
//
//===----------------------------------------------------------------------===//
#include "bagua/Transforms/Algorithms/StateChanges.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace bagua;

/// The relation between a state and its next value; null if no relation can say
/// it.
static RelationAttr relationOf(StepOp step, BlockArgument state, Value next) {
  StringAttr name = step.getArgument(state.getArgNumber()).getName();
  MLIRContext *context = step.getContext();
  if (auto linear = next.getDefiningOp<LinearOp>())
    if (linear.getInputs().size() == 1 && linear.getInputs()[0] == state)
      return RelationAttr::get(
          name, RelationKind::Scaled, AxesAttr::get(context, {}),
          Builder(context).getF32FloatAttr(linear.getCoefficients()[0]));
  if (auto broadcast = next.getDefiningOp<BroadcastOp>())
    if (auto slice = broadcast.getInput().getDefiningOp<SliceOp>();
        slice && slice.getInput() == state)
      return RelationAttr::get(name, RelationKind::Broadcast,
                               broadcast.getOver(), FloatAttr());
  return nullptr;
}

static LogicalResult refuse(StepOp step, BlockArgument state, Value next) {
  auto nameAt = [&](BlockArgument argument) {
    return step.getArgument(argument.getArgNumber()).getName().getValue();
  };
  InFlightDiagnostic diagnostic = step.emitError();
  diagnostic << "expected a step between iterations to leave state '"
             << nameAt(state)
             << "' as it is, to scale it by one coefficient or to broadcast it "
                "from the first rank, found ";
  if (auto other = dyn_cast<BlockArgument>(next))
    diagnostic << "state '" << nameAt(other) << "' in its place";
  else
    diagnostic << "a result of '" << next.getDefiningOp()->getName() << "'";
  return diagnostic;
}

FailureOr<SmallVector<Attribute>> bagua::promiseStateChanges(StepOp step) {
  SmallVector<Attribute> contract;
  for (auto [next, argument] :
       llvm::zip_equal(step.getYield().getValues(), step.getStateArguments())) {
    BlockArgument state = step.getBody().getArgument(argument);
    if (next == state)
      continue;
    RelationAttr relation = relationOf(step, state, next);
    if (!relation)
      return refuse(step, state, next);
    contract.push_back(relation);
  }
  return contract;
}
