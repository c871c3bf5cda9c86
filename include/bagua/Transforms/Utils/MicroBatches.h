//===- MicroBatches.h - To which micro-batch an op belongs ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What bagua-accumulate writes, so that later passes keep micro-batches apart.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_TRANSFORMS_UTILS_MICROBATCHES_H
#define BAGUA_TRANSFORMS_UTILS_MICROBATCHES_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"

namespace bagua {

inline constexpr llvm::StringLiteral kMicroBatchAttr = "bagua.micro_batch";

/// From 0; null where the step has one only, and for what follows the last.
inline mlir::IntegerAttr microBatchOf(mlir::Operation *op) {
  return op->getAttrOfType<mlir::IntegerAttr>(kMicroBatchAttr);
}

} // namespace bagua

#endif // BAGUA_TRANSFORMS_UTILS_MICROBATCHES_H
