//===- Origins.cpp - Imported ops that a step's ops stand for -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Origins are an attribute of one or two numbers.
//
//===----------------------------------------------------------------------===//
#include "bagua/Dialect/Bagua/Origins.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace bagua;

constexpr llvm::StringLiteral kOrigin = "bagua.origin";

std::optional<Origin> bagua::originOf(Operation *op) {
  auto numbers = op->getAttrOfType<DenseI64ArrayAttr>(kOrigin);
  if (!numbers || numbers.empty())
    return std::nullopt;
  return Origin{numbers.asArrayRef().front(), numbers.asArrayRef().back()};
}

void bagua::setOrigin(Operation *op, Origin origin) {
  SmallVector<int64_t, 2> numbers{origin.first};
  if (origin.last != origin.first)
    numbers.push_back(origin.last);
  op->setAttr(kOrigin, DenseI64ArrayAttr::get(op->getContext(), numbers));
}

void bagua::setOrigin(Operation *op, ArrayRef<ComputeOp> others) {
  std::optional<Origin> whole;
  for (ComputeOp other : others) {
    std::optional<Origin> origin = originOf(other);
    if (!origin || (whole && origin->first != whole->last + 1))
      return;
    whole = Origin{whole ? whole->first : origin->first, origin->last};
  }
  if (whole)
    setOrigin(op, *whole);
}

ComputeBorder bagua::borderOf(ArrayRef<ComputeOp> ops) {
  llvm::SmallPtrSet<Operation *, 16> members;
  for (ComputeOp op : ops)
    members.insert(op);
  llvm::SetVector<Value> inputs;
  ComputeBorder border;
  for (ComputeOp op : ops) {
    for (Value operand : op->getOperands())
      if (!operand.getDefiningOp() || !members.count(operand.getDefiningOp()))
        inputs.insert(operand);
    for (OpResult result : op->getResults()) {
      bool leaves = llvm::any_of(result.getUsers(), [&](Operation *user) {
        return !members.count(user);
      });
      if (leaves || op.getResultInfo(result.getResultNumber()))
        border.outputs.push_back(result);
    }
  }
  border.inputs = inputs.takeVector();
  return border;
}
