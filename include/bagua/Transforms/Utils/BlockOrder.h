//===- BlockOrder.h - Orders of a step's ops ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Helpers of passes that rearrange a block, on index arrays.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_TRANSFORMS_UTILS_BLOCKORDER_H
#define BAGUA_TRANSFORMS_UTILS_BLOCKORDER_H

#include "bagua/Dialect/Bagua/Bagua.h"

#include "llvm/ADT/DenseMap.h"

namespace bagua {

/// All ops of a step but its yield, with their numbers in block order.
class BlockOrder {
public:
  explicit BlockOrder(StepOp step);

  size_t size() const { return ops.size(); }
  mlir::Operation *operator[](size_t index) const { return ops[index]; }
  /// The number of an op of the block.
  size_t indexOf(mlir::Operation *op) const { return numbers.lookup(op); }
  /// The number of the op that makes a value; nothing for an argument.
  std::optional<size_t> definitionOf(mlir::Value value) const;

  auto begin() const { return ops.begin(); }
  auto end() const { return ops.end(); }

private:
  llvm::SmallVector<mlir::Operation *> ops;
  llvm::DenseMap<mlir::Operation *, size_t> numbers;
};

/// Puts the ops in the given order, before the yield. O(n).
void applyOrder(StepOp step, llvm::ArrayRef<mlir::Operation *> order);

/// Makes block order topological again with the least disturbance: among ops
/// whose operands are placed, the first in block order is next. O(n log n).
void sortTopologically(StepOp step);

} // namespace bagua

#endif // BAGUA_TRANSFORMS_UTILS_BLOCKORDER_H
