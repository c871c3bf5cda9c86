//===- Increments.cpp - What `yield add` adds -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A background step commits by adding to states that have moved on meanwhile.
// What it adds brings ranks closer to each other: where they agree, nothing.
// So in what is added, the coefficients of the states add up to 0.
//
//===----------------------------------------------------------------------===//
#include "bagua/Dialect/Bagua/GraphProof.h"

#include "llvm/ADT/DenseMap.h"

using namespace mlir;
using namespace bagua;

/// How many times a state a value is where all ranks have the same of each;
/// nothing for what is not linear in states.
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

/// Of what moves, joins, cuts or reduces values, all a state's the same number
/// of times.
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
    // Thirds in float32 don't quite add up.
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
