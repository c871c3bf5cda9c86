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

/// The number of one op, or first and last of each run.
constexpr llvm::StringLiteral kOrigin = "bagua.origin";

std::optional<Origin> bagua::originOf(Operation *op) {
  auto attr = op->getAttrOfType<DenseI64ArrayAttr>(kOrigin);
  ArrayRef<int64_t> numbers = attr ? attr.asArrayRef() : ArrayRef<int64_t>();
  if (numbers.size() == 1)
    return Origin{{numbers[0], numbers[0]}};
  if (numbers.empty() || numbers.size() % 2 != 0)
    return std::nullopt;
  Origin origin;
  for (size_t i = 0; i < numbers.size(); i += 2)
    origin.push_back({numbers[i], numbers[i + 1]});
  return origin;
}

void bagua::setOrigin(Operation *op, ArrayRef<OriginRun> origin) {
  SmallVector<int64_t, 2> numbers;
  for (const OriginRun &run : origin)
    numbers.append({run.first, run.last});
  if (origin.size() == 1 && numbers[0] == numbers[1])
    numbers.pop_back();
  op->setAttr(kOrigin, DenseI64ArrayAttr::get(op->getContext(), numbers));
}

void bagua::setOrigin(Operation *op, ArrayRef<ComputeOp> others) {
  Origin whole;
  for (ComputeOp other : others) {
    std::optional<Origin> origin = originOf(other);
    if (!origin)
      return;
    for (const OriginRun &run : *origin)
      if (!whole.empty() && run.first == whole.back().last + 1)
        whole.back().last = run.last;
      else
        whole.push_back(run);
  }
  setOrigin(op, whole);
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
