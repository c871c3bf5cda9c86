//===- Folds.cpp - Folders and canonicalizers -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Simplifications that hold at graph level for every step: buckets of one
// tensor, splits of a concat just before, identities. None changes a rounding.
//
//===----------------------------------------------------------------------===//
#include "bagua/Dialect/Bagua/Bagua.h"

#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace bagua;

OpFoldResult ConcatOp::fold(FoldAdaptor) {
  // A bucket of one tensor in its own shape is that tensor.
  if (getInputs().size() == 1 &&
      getInputs()[0].getType() == getOutput().getType())
    return getInputs()[0];
  // concat(split(x)), all pieces in order, is x.
  auto split = getInputs()[0].getDefiningOp<SplitOp>();
  if (split && split.getStripedAttr() == getStripedAttr() &&
      ValueRange(split.getOutputs()) == ValueRange(getInputs()) &&
      split.getInput().getType() == getOutput().getType())
    return split.getInput();
  return nullptr;
}

LogicalResult ConcatOp::canonicalize(ConcatOp op, PatternRewriter &rewriter) {
  // reshape(reshape(x)) is one reshape.
  if (op.getInputs().size() != 1)
    return failure();
  auto inner = op.getInputs()[0].getDefiningOp<ConcatOp>();
  if (!inner || inner.getInputs().size() != 1 || op.getStripedAttr() ||
      inner.getStripedAttr())
    return failure();
  rewriter.modifyOpInPlace(
      op, [&] { op.getInputsMutable().assign(inner.getInputs()); });
  return success();
}

LogicalResult SplitOp::canonicalize(SplitOp op, PatternRewriter &rewriter) {
  if (op.getOutputs().size() == 1 &&
      op.getOutputs()[0].getType() == op.getInput().getType()) {
    rewriter.replaceOp(op, op.getInput());
    return success();
  }
  // split(concat(x, y)) into the same pieces is x, y.
  auto concat = op.getInput().getDefiningOp<ConcatOp>();
  if (!concat || concat.getStripedAttr() != op.getStripedAttr() ||
      concat.getInputs().getTypes() != op.getOutputs().getTypes())
    return failure();
  rewriter.replaceOp(op, concat.getInputs());
  return success();
}

OpFoldResult CastOp::fold(FoldAdaptor) {
  return getInput().getType() == getOutput().getType() ? getInput() : nullptr;
}

OpFoldResult AfterOp::fold(FoldAdaptor) {
  return getDependencies().empty() ? getInput() : nullptr;
}

OpFoldResult LinearOp::fold(FoldAdaptor) {
  return getInputs().size() == 1 && getCoefficients()[0] == 1.0f
             ? getInputs()[0]
             : nullptr;
}
