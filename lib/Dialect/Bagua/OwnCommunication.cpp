//===- OwnCommunication.cpp - Where compute may communicate ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compute that communicates by itself (`communicates`: a reduction in a loop,
// say) is opaque: nothing is known of its effect on agreement between ranks. In
// front of a gradient or a buffer it is part of the model. Behind a gradient,
// or between a state and its next value, it may be the reduction itself, or a
// second one.
//
//===----------------------------------------------------------------------===//
#include "bagua/Dialect/Bagua/GraphProof.h"

#include "llvm/ADT/DenseMap.h"

using namespace mlir;
using namespace bagua;

LogicalResult bagua::verifyOwnCommunication(StepOp step,
                                            const FactContext &context) {
  auto communicates = [](ComputeOp op) { return op.getCommunicates(); };
  if (llvm::none_of(step.getBody().front().getOps<ComputeOp>(), communicates))
    return success();
  // The name of a state or gradient from which each value is computed.
  llvm::DenseMap<Value, StringAttr> madeOf;
  for (unsigned argument : step.getStateArguments())
    madeOf[step.getBody().getArgument(argument)] =
        step.getArgument(argument).getName();
  for (Operation &op : step.getBody().front().without_terminator()) {
    StringAttr name;
    for (Value operand : op.getOperands())
      if (!name)
        name = madeOf.lookup(operand);
    auto compute = dyn_cast<ComputeOp>(op);
    if (name && compute && compute.getCommunicates() &&
        context.updating.contains(&op))
      return op.emitOpError()
             << "expected no communication of the program's own between a "
                "gradient or a state and the next states, found that of \""
             << compute.getName() << "\" on the way from " << name;
    for (OpResult result : op.getResults())
      madeOf[result] = getGradientParam(result)
                           ? compute.getResultName(result.getResultNumber())
                           : name;
  }
  return success();
}
