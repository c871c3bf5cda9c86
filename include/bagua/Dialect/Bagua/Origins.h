//===- Origins.h - Imported ops that a step's ops stand for ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The importer numbers the ops of the step that it writes. An op that a pass
// makes of others keeps their numbers, so that a planned step can be written
// back into the module that it came from.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_DIALECT_BAGUA_ORIGINS_H
#define BAGUA_DIALECT_BAGUA_ORIGINS_H

#include "bagua/Dialect/Bagua/Bagua.h"

#include <optional>

namespace bagua {

/// Imported ops that follow each other: the numbers of the first and the last.
struct OriginRun {
  int64_t first;
  int64_t last;
};

/// The imported ops that an op stands for, in the order in which they run.
using Origin = llvm::SmallVector<OriginRun, 1>;

/// The op's origin; nothing if a pass wrote the op anew.
std::optional<Origin> originOf(mlir::Operation *op);

/// Lets the op stand for these imported ops.
void setOrigin(mlir::Operation *op, llvm::ArrayRef<OriginRun> origin);

/// Lets the op stand for the others, one after the other. The op has an origin
/// if all of them do.
void setOrigin(mlir::Operation *op, llvm::ArrayRef<ComputeOp> others);

/// The values that pass between ops that become one and other ops.
struct ComputeBorder {
  /// Values of other ops that they use, each once, in the order of their uses.
  llvm::SmallVector<mlir::Value> inputs;
  /// Results that other ops use or that have names, in the order of the ops.
  llvm::SmallVector<mlir::OpResult> outputs;
};

/// O(operands and uses).
ComputeBorder borderOf(llvm::ArrayRef<ComputeOp> ops);

} // namespace bagua

#endif // BAGUA_DIALECT_BAGUA_ORIGINS_H
