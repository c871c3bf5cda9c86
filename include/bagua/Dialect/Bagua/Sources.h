//===- Sources.h - What a value is made of --------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one walk backwards over the uses of a step, by which checks ask what a
// next state depends on.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_DIALECT_BAGUA_SOURCES_H
#define BAGUA_DIALECT_BAGUA_SOURCES_H

#include "mlir/IR/ValueRange.h"
#include "mlir/IR/Visitors.h"

namespace bagua {

/// Visits `values` and what they are made of, nearest first, each value once:
/// `advance` goes on to the operands of the op that makes the value, `skip`
/// does not, `interrupt` ends the walk. What is multiplied by 0 is not there.
/// O(uses).
mlir::WalkResult
walkSources(mlir::ValueRange values,
            llvm::function_ref<mlir::WalkResult(mlir::Value)> visit);

/// The same by way of all operands, what is multiplied by 0 too: for what an op
/// waits for, rather than what it means.
mlir::WalkResult
walkOperands(mlir::ValueRange values,
             llvm::function_ref<mlir::WalkResult(mlir::Value)> visit);

/// Whether `value` is `source` or made of it.
bool isMadeOf(mlir::Value value, mlir::Value source);

} // namespace bagua

#endif // BAGUA_DIALECT_BAGUA_SOURCES_H
