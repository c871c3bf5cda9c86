//===- Gradients.cpp - Which values are gradients on their way ------------===//
//
// A walk up to the compute that makes them.
//
//===----------------------------------------------------------------------===//
#include "bagua/Transforms/Gradients.h"

using namespace mlir;
using namespace bagua;

bool bagua::isOfGradients(Value value) {
  if (getGradientParam(value))
    return true;
  Operation *op = value.getDefiningOp();
  return isa_and_nonnull<ConcatOp, SplitOp, CastOp, ReduceScatterOp>(op) &&
         llvm::all_of(op->getOperands(), isOfGradients);
}
