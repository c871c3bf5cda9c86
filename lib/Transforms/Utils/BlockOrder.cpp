//===- BlockOrder.cpp - Orders of a step's ops ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Numbering, and a stable topological sort.
//
//===----------------------------------------------------------------------===//
#include "bagua/Transforms/Utils/BlockOrder.h"

#include <queue>

using namespace mlir;
using namespace bagua;

BlockOrder::BlockOrder(StepOp step) {
  for (Operation &op : step.getBody().front().without_terminator()) {
    numbers[&op] = ops.size();
    ops.push_back(&op);
  }
}

std::optional<size_t> BlockOrder::definitionOf(Value value) const {
  Operation *op = value.getDefiningOp();
  return op ? std::optional<size_t>(indexOf(op)) : std::nullopt;
}

void bagua::applyOrder(StepOp step, ArrayRef<Operation *> order) {
  Operation *yield = step.getYield();
  for (Operation *op : order)
    op->moveBefore(yield);
}

void bagua::sortTopologically(StepOp step) {
  BlockOrder block(step);
  std::vector<unsigned> missing(block.size(), 0);
  std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;
  for (size_t index = 0; index < block.size(); ++index) {
    for (Value operand : block[index]->getOperands())
      missing[index] += operand.getDefiningOp() != nullptr;
    if (missing[index] == 0)
      ready.push(index);
  }
  SmallVector<Operation *> order;
  while (!ready.empty()) {
    Operation *op = block[ready.top()];
    ready.pop();
    order.push_back(op);
    for (Operation *user : op->getUsers())
      if (!isa<YieldOp>(user) && --missing[block.indexOf(user)] == 0)
        ready.push(block.indexOf(user));
  }
  applyOrder(step, order);
}
