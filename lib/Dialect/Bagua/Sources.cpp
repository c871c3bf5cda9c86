//===- Sources.cpp - The values that a value is made of -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The walk is breadth-first, because checks usually find what they look for
// within an operand or two.
//
//===----------------------------------------------------------------------===//
#include "bagua/Dialect/Bagua/Sources.h"

#include "bagua/Dialect/Bagua/Bagua.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace bagua;

static WalkResult walk(ValueRange values,
                       function_ref<bool(OpOperand &)> isFollowed,
                       function_ref<WalkResult(Value)> visit) {
  llvm::SetVector<Value> open(values.begin(), values.end());
  for (size_t index = 0; index < open.size(); ++index) {
    WalkResult result = visit(open[index]);
    if (result.wasInterrupted())
      return result;
    Operation *op = open[index].getDefiningOp();
    if (!op || result.wasSkipped())
      continue;
    for (OpOperand &operand : op->getOpOperands())
      if (isFollowed(operand))
        open.insert(operand.get());
  }
  return WalkResult::advance();
}

WalkResult bagua::walkSources(ValueRange values,
                              function_ref<WalkResult(Value)> visit) {
  auto isThere = [](OpOperand &operand) {
    auto linear = dyn_cast<LinearOp>(operand.getOwner());
    return !linear ||
           linear.getCoefficients()[operand.getOperandNumber()] != 0.0f;
  };
  return walk(values, isThere, visit);
}

WalkResult bagua::walkOperands(ValueRange values,
                               function_ref<WalkResult(Value)> visit) {
  return walk(values, [](OpOperand &) { return true; }, visit);
}

bool bagua::isMadeOf(Value value, Value source) {
  auto visit = [&](Value found) {
    return found == source ? WalkResult::interrupt() : WalkResult::advance();
  };
  return walkSources(value, visit).wasInterrupted();
}
