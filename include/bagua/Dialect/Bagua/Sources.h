//===- Sources.h - The values that a value is made of ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one walk backwards over the uses of a step. Checks use it to find what a
// next state depends on.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_DIALECT_BAGUA_SOURCES_H
#define BAGUA_DIALECT_BAGUA_SOURCES_H

#include "mlir/IR/ValueRange.h"
#include "mlir/IR/Visitors.h"

namespace bagua {

/// Visits `values` and the values of which they are made, nearest first, each
/// value once. On `advance` the walk goes on to the operands of the op that
/// makes the value, on `skip` it does not, and `interrupt` ends it. Operands
/// that are multiplied by 0 are not visited. O(uses).
mlir::WalkResult
walkSources(mlir::ValueRange values,
            llvm::function_ref<mlir::WalkResult(mlir::Value)> visit);

/// Does the same with all operands, including those multiplied by 0: they show
/// what an op waits for, rather than what it means.
mlir::WalkResult
walkOperands(mlir::ValueRange values,
             llvm::function_ref<mlir::WalkResult(mlir::Value)> visit);

/// Whether `value` is `source` or made of it.
bool isMadeOf(mlir::Value value, mlir::Value source);

} // namespace bagua

#endif // BAGUA_DIALECT_BAGUA_SOURCES_H
