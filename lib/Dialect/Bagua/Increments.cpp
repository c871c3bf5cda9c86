//===- Increments.cpp - The increments of `yield add` ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A background step commits by adding to states that have changed in the
// meantime. The increment brings ranks closer to each other, and is 0 where
// they agree. So the coefficients of the states in an increment add up to 0.
//
//===----------------------------------------------------------------------===//
#include "bagua/Dialect/Bagua/GraphProof.h"

#include "llvm/ADT/DenseMap.h"

using namespace mlir;
using namespace bagua;

/// The factor between a value and a state on which all ranks agree; nothing for
/// a value that is not linear in states.
using Multiple = std::optional<double>;

static Multiple multipleOf(LinearOp op,
                           const llvm::DenseMap<Value, Multiple> &multiples) {
  double sum = 0;
  for (auto [coefficient, input] :
       llvm::zip_equal(op.getCoefficients(), op.getInputs())) {
    Multiple own = multiples.lookup(input);
    if (!own)
      return std::nullopt;
    sum += coefficient * *own;
  }
  return sum;
}

/// The factor of a value that moves, joins, cuts or reduces others, if all of
/// these have the same factor.
static Multiple multipleOf(Operation &op,
                           const llvm::DenseMap<Value, Multiple> &multiples) {
  if (auto linear = dyn_cast<LinearOp>(op))
    return multipleOf(linear, multiples);
  auto stepOp = cast<StepOpInterface>(op);
  if (isa<ComputeOp, MatmulOp, OrthonormalizeOp>(op) || stepOp.isUpdate())
    return std::nullopt;
  Multiple multiple = multiples.lookup(op.getOperand(0));
  for (Value read : op.getOperands().take_front(stepOp.getReadCount()))
    if (multiples.lookup(read) != multiple)
      return std::nullopt;
  ReduceKindAttr kind = stepOp.getReduction();
  if (!multiple || !kind || kind.getValue() != ReduceKind::Sum)
    return multiple;
  auto step = cast<StepOp>(op.getParentOp());
  AxesAttr over = stepOp.getGroupAxes(); // null for decode
  if (!over)
    return std::nullopt;
  return *multiple * step.lookupCluster().getGroupSize(over);
}

LogicalResult bagua::verifyIncrements(StepOp step) {
  YieldOp yield = step.getYield();
  if (!yield.getAdd())
    return success();
  llvm::DenseMap<Value, Multiple> multiples;
  for (unsigned argument : step.getStateArguments()) {
    if (step.getArgument(argument).getRole() == Role::Residual)
      return yield.emitOpError()
             << "expected no residual in a step that adds, found "
             << step.getArgument(argument).getName();
    multiples[step.getBody().getArgument(argument)] = 1.0;
  }
  for (Operation &op : step.getBody().front().without_terminator()) {
    Multiple multiple = multipleOf(op, multiples);
    for (OpResult result : op.getResults())
      multiples[result] = multiple;
  }
  for (auto [value, argument] :
       llvm::zip_equal(yield.getValues(), step.getStateArguments())) {
    Multiple multiple = multiples.lookup(value);
    // Multiples of a third don't add up exactly in float32.
    if (multiple && std::abs(*multiple) < 1e-6)
      continue;
    InFlightDiagnostic diagnostic =
        yield.emitOpError()
        << "expected a difference that is 0 where all ranks agree, to be added "
           "to state "
        << step.getArgument(argument).getName() << ", found ";
    if (multiple)
      diagnostic << *multiple << " times a state";
    else
      diagnostic << "a value that is not linear in the states";
    return diagnostic;
  }
  return success();
}
