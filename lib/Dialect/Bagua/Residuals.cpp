//===- Residuals.cpp - What error feedback owes is paid once --------------===//
//
// A residual holds what a codec has not sent yet. Dropped, it is lost; used
// twice, it is sent twice; in another's place, it goes to another tensor. None
// of this shows in facts: a residual differs between ranks whatever it holds.
//
//===----------------------------------------------------------------------===//
#include "bagua/Dialect/Bagua/GraphProof.h"

#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace bagua;

static bool dependsOn(Value value, Value source) {
  llvm::SmallPtrSet<Operation *, 16> seen;
  SmallVector<Value> open{value};
  while (!open.empty()) {
    Value next = open.pop_back_val();
    if (next == source)
      return true;
    Operation *op = next.getDefiningOp();
    if (op && seen.insert(op).second)
      open.append(op->operand_begin(), op->operand_end());
  }
  return false;
}

static LogicalResult verifyResidual(StepOp step, BlockArgument residual,
                                    Value next) {
  StringAttr name = step.getArgument(residual.getArgNumber()).getName();
  if (!residual.hasOneUse()) {
    auto uses = std::distance(residual.use_begin(), residual.use_end());
    return step.emitOpError()
           << "expected one use of residual " << name << ", found " << uses;
  }
  Operation *user = *residual.user_begin();
  YieldOp yield = step.getYield();
  if (auto encode = dyn_cast<EncodeOp>(user);
      encode && encode.getResidual() == residual) {
    if (next == encode.getNextResidual() && next.hasOneUse())
      return success();
    InFlightDiagnostic diagnostic =
        yield.emitOpError() << "expected the next value of residual " << name
                            << " to be what its encode has left over, used "
                               "here alone";
    diagnostic.attachNote(encode.getLoc()) << "the residual is added here";
    return diagnostic;
  }
  // PowerSGD adds it to the gradient, and what is left is a difference.
  auto linear = dyn_cast<LinearOp>(user);
  if (!linear)
    return user->emitOpError() << "expected residual " << name
                               << " to be added by an encode or a linear";
  if (dependsOn(next, linear.getOutput()))
    return success();
  return yield.emitOpError()
         << "expected the next value of residual " << name
         << " to come from the sum that it was added to, found another";
}

/// What an encode leaves over has a state to go to.
static LogicalResult verifyLeftOver(EncodeOp encode) {
  Value next = encode.getNextResidual();
  if (!next || isa<BlockArgument>(encode.getResidual()))
    return success(); // verified with the argument
  return encode.emitOpError("expected a residual that is an argument of the "
                            "step, found a value that it computes");
}

LogicalResult bagua::verifyResiduals(StepOp step) {
  for (auto encode : step.getBody().front().getOps<EncodeOp>())
    if (failed(verifyLeftOver(encode)))
      return failure();
  for (auto [next, argument] :
       llvm::zip_equal(step.getYield().getValues(), step.getStateArguments()))
    if (step.getArgument(argument).getRole() == Role::Residual &&
        failed(
            verifyResidual(step, step.getBody().getArgument(argument), next)))
      return failure();
  return success();
}
