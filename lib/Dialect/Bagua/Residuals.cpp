//===- Residuals.cpp - Residuals are sent exactly once --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A residual holds the part of a value that a codec has not sent yet. If the
// residual is dropped, that part is lost; if it is used twice, the part is sent
// twice; in another residual's place, it goes to another tensor. Facts show
// none of this, because residuals differ between ranks in any case.
//
//===----------------------------------------------------------------------===//
#include "bagua/Dialect/Bagua/GraphProof.h"

#include "bagua/Dialect/Bagua/Sources.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace bagua;

namespace {
class ResidualVerifier {
public:
  explicit ResidualVerifier(StepOp step);

  LogicalResult run();

private:
  LogicalResult verify(BlockArgument residual, Value next);
  LogicalResult verifyEncode(EncodeOp encode, StringAttr name, Value next);
  LogicalResult verifyLinear(LinearOp linear, BlockArgument residual,
                             StringAttr name, Value next);
  bool isWhatWasNotSent(Value next, Value sum);

  StepOp step;
  /// The values of which the next states but residuals and buffers are made.
  llvm::DenseSet<Value> sent;
};
} // namespace

ResidualVerifier::ResidualVerifier(StepOp step) : step(step) {
  SmallVector<Value> next;
  for (auto [value, argument] :
       llvm::zip_equal(step.getYield().getValues(), step.getStateArguments()))
    if (Role role = step.getArgument(argument).getRole();
        role != Role::Residual && role != Role::Buffer)
      next.push_back(value);
  walkSources(next, [&](Value value) {
    sent.insert(value);
    return WalkResult::advance();
  });
}

LogicalResult ResidualVerifier::verifyEncode(EncodeOp encode, StringAttr name,
                                             Value next) {
  if (next != encode.getNextResidual() || !next.hasOneUse()) {
    InFlightDiagnostic diagnostic =
        step.getYield().emitOpError()
        << "expected the next value of residual " << name
        << " to be the error that its encode returns, with no other use of "
           "that error";
    diagnostic.attachNote(encode.getLoc()) << "the residual is added here";
    return diagnostic;
  }
  if (sent.contains(encode.getOutput()))
    return success();
  return encode.emitOpError()
         << "expected the encoded sum with residual " << name
         << " to be used by the next value of a param or of an optimizer's "
            "state, found no such use";
}

/// Whether `next` is `linear [1.0, -1.0] (sum, sent)`, where `sent` was made of
/// the sum and sent.
bool ResidualVerifier::isWhatWasNotSent(Value next, Value sum) {
  auto rest = next.getDefiningOp<LinearOp>();
  if (!rest || rest.getInputs().size() != 2 || !next.hasOneUse())
    return false;
  ArrayRef<float> coefficients = rest.getCoefficients();
  unsigned own = rest.getInputs()[0] == sum ? 0 : 1;
  Value other = rest.getInputs()[1 - own];
  return rest.getInputs()[own] == sum && coefficients[own] == 1.0f &&
         coefficients[1 - own] == -1.0f && other != sum &&
         sent.contains(other) && isMadeOf(other, sum);
}

LogicalResult ResidualVerifier::verifyLinear(LinearOp linear,
                                             BlockArgument residual,
                                             StringAttr name, Value next) {
  unsigned index = residual.use_begin()->getOperandNumber();
  float coefficient = linear.getCoefficients()[index];
  if (coefficient != 1.0f)
    return linear.emitOpError() << "expected coefficient 1 for residual "
                                << name << ", found " << coefficient;
  if (isWhatWasNotSent(next, linear.getOutput()))
    return success();
  InFlightDiagnostic diagnostic =
      step.getYield().emitOpError()
      << "expected the next value of residual " << name
      << " to be the sum that it was added to minus the part of that sum which "
         "was sent, found another value";
  diagnostic.attachNote(linear.getLoc()) << "the residual is added here";
  return diagnostic;
}

LogicalResult ResidualVerifier::verify(BlockArgument residual, Value next) {
  StringAttr name = step.getArgument(residual.getArgNumber()).getName();
  if (!residual.hasOneUse()) {
    auto uses = std::distance(residual.use_begin(), residual.use_end());
    return step.emitOpError()
           << "expected one use of residual " << name << ", found " << uses;
  }
  Operation *user = *residual.user_begin();
  if (auto encode = dyn_cast<EncodeOp>(user);
      encode && encode.getResidual() == residual)
    return verifyEncode(encode, name, next);
  // PowerSGD adds the residual to the gradient; its next value is a difference.
  if (auto linear = dyn_cast<LinearOp>(user))
    return verifyLinear(linear, residual, name, next);
  return user->emitOpError() << "expected residual " << name
                             << " to be added by an encode or a linear";
}

/// Checks that the next residual of an encode has a state to go to.
static LogicalResult verifyLeftOver(EncodeOp encode) {
  Value next = encode.getNextResidual();
  if (!next || isa<BlockArgument>(encode.getResidual()))
    return success(); // verified with the argument
  return encode.emitOpError("expected a residual that is an argument of the "
                            "step, found a value that it computes");
}

LogicalResult ResidualVerifier::run() {
  for (auto encode : step.getBody().front().getOps<EncodeOp>())
    if (failed(verifyLeftOver(encode)))
      return failure();
  for (auto [next, argument] :
       llvm::zip_equal(step.getYield().getValues(), step.getStateArguments()))
    if (step.getArgument(argument).getRole() == Role::Residual &&
        failed(verify(step.getBody().getArgument(argument), next)))
      return failure();
  return success();
}

LogicalResult bagua::verifyResiduals(StepOp step) {
  return ResidualVerifier(step).run();
}

Value bagua::getFedBack(BlockArgument residual) {
  Operation *user = *residual.user_begin();
  if (auto encode = dyn_cast<EncodeOp>(user))
    return encode.getInput();
  return user->getResult(0);
}
