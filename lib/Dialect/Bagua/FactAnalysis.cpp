//===- FactAnalysis.cpp - One forward walk over a step --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Applies the rules of a step's ops, and explains where a proof fails.
//
//===----------------------------------------------------------------------===//
#include "bagua/Dialect/Bagua/FactAnalysis.h"

using namespace mlir;
using namespace bagua;

Facts FactAnalysis::declaredFacts(unsigned argument) {
  ArgumentAttr info = step.getArgument(argument);
  switch (info.getRole()) {
  case Role::Batch: {
    Facts facts = context.varyingOn(info.getVaries());
    for (unsigned axis = 0; axis < context.axisCount(); ++axis)
      if (context.dataAxes[axis])
        facts[axis] = Fact::Varying;
    return facts;
  }
  case Role::Residual:
  case Role::Replica:
    return context.all(Fact::Varying);
  case Role::Input:
  case Role::Param:
  case Role::Optimizer:
  case Role::Buffer:
    return context.varyingOn(info.getVaries());
  }
  llvm_unreachable("all roles are handled");
}

LogicalResult FactAnalysis::run() {
  for (BlockArgument argument : step.getBody().getArguments())
    facts[argument] = declaredFacts(argument.getArgNumber());
  // Each step finds in a state of the rank's own what the step before left
  // there.
  do
    if (failed(walk()))
      return failure();
  while (handOn());
  return success();
}

bool FactAnalysis::handOn() {
  bool isNew = false;
  for (auto [next, number] :
       llvm::zip_equal(step.getYield().getValues(), step.getStateArguments())) {
    if (step.getArgument(number).getRole() == Role::Buffer)
      continue; // buffers belong to the model itself
    Facts &found = facts[step.getBody().getArgument(number)];
    for (auto [own, left] : llvm::zip_equal(found, factsOf(next)))
      if (own == Fact::Varying && isOwed(left)) {
        own = Fact::Mixed;
        isNew = true;
      }
  }
  return isNew;
}

LogicalResult FactAnalysis::walk() {
  for (Operation &op : step.getBody().front()) {
    auto stepOp = dyn_cast<StepOpInterface>(op);
    if (!stepOp)
      continue; // the yield
    SmallVector<Facts> operands, results;
    for (Value operand : op.getOperands())
      operands.push_back(factsOf(operand));
    if (failed(stepOp.inferFacts(context, operands, results)))
      return failure();
    // The author of an op forgot a rule.
    if (results.size() != op.getNumResults())
      return op.emitOpError()
             << "has no rule about agreement between ranks for "
                "each of its "
             << op.getNumResults() << " results";
    for (auto [result, fact] : llvm::zip_equal(op.getResults(), results))
      facts[result] = fact;
  }
  return success();
}

/// The value from which a fact comes. Follows operands that have the same fact,
/// or any trouble, to a gradient, an argument, or an op whose operands are
/// replicated.
Value FactAnalysis::findOrigin(Value value, unsigned axis) {
  while (Operation *op = value.getDefiningOp()) {
    auto stepOp = cast<StepOpInterface>(op);
    unsigned index = cast<OpResult>(value).getResultNumber();
    if (stepOp.getResultName(index) && factsOf(value)[axis] == Fact::Pending)
      return value;
    auto isAsBad = [&](Value operand) {
      return factsOf(operand)[axis] == factsOf(value)[axis];
    };
    auto isBad = [&](Value operand) {
      return factsOf(operand)[axis] != Fact::Replicated;
    };
    // A varying operand explains more than a pending one that the op made
    // varying.
    auto worst = llvm::find_if(op->getOperands(), isAsBad);
    if (worst == op->getOperands().end())
      worst = llvm::find_if(op->getOperands(), isBad);
    if (worst == op->getOperands().end())
      return value;
    value = *worst;
  }
  return value;
}

static void describeOrigin(InFlightDiagnostic &diagnostic, StepOp step,
                           Value origin, Fact fact, StringRef axis) {
  Diagnostic &note = diagnostic.attachNote(origin.getLoc());
  if (auto argument = dyn_cast<BlockArgument>(origin)) {
    note << "argument '"
         << step.getArgument(argument.getArgNumber()).getName().getValue()
         << "'";
  } else {
    auto op = cast<StepOpInterface>(origin.getDefiningOp());
    StringAttr name =
        op.getResultName(cast<OpResult>(origin).getResultNumber());
    if (name)
      note << "'" << name.getValue() << "'";
    else
      note << "this value";
  }
  note << " is " << stringifyFact(fact) << " over axis '" << axis << "'";
}

LogicalResult FactAnalysis::verifyYield() {
  YieldOp yield = step.getYield();
  for (auto [value, argument] :
       llvm::zip_equal(yield.getValues(), step.getStateArguments())) {
    Facts declared = declaredFacts(argument);
    for (unsigned axis = 0; axis < context.axisCount(); ++axis) {
      Fact found = factsOf(value)[axis];
      // A state that may differ belongs to the rank, whatever it holds.
      if (found == Fact::Replicated || declared[axis] != Fact::Replicated)
        continue;
      ArgumentAttr info = step.getArgument(argument);
      InFlightDiagnostic diagnostic =
          yield.emitOpError()
          << "expected state '" << info.getName().getValue() << "' "
          << stringifyFact(declared[axis]) << " over axis '"
          << context.axisNames[axis] << "', found " << stringifyFact(found);
      Value origin = findOrigin(value, axis);
      describeOrigin(diagnostic, step, origin, factsOf(origin)[axis],
                     context.axisNames[axis]);
      return diagnostic;
    }
  }
  return success();
}
