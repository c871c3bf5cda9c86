//===- MicroBatches.h - To which micro-batch an op belongs ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The attribute by which bagua-accumulate lets later passes keep micro-batches
// apart.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_TRANSFORMS_ALGORITHMS_MICROBATCHES_H
#define BAGUA_TRANSFORMS_ALGORITHMS_MICROBATCHES_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"

namespace bagua {

inline constexpr llvm::StringLiteral kMicroBatchAttr = "bagua.micro_batch";

/// The op's micro-batch, from 0; null if the step has only one, and for ops
/// that follow the last one.
inline mlir::IntegerAttr microBatchOf(mlir::Operation *op) {
  return op->getAttrOfType<mlir::IntegerAttr>(kMicroBatchAttr);
}

} // namespace bagua

#endif // BAGUA_TRANSFORMS_ALGORITHMS_MICROBATCHES_H
