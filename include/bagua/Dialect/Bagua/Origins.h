//===- Origins.h - Of which ops of the import a step's ops are made -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The importer numbers the ops of the step that it writes. Numbers go with what
// the ops become, so that a step that was planned can be written back into the
// module that it came from.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_DIALECT_BAGUA_ORIGINS_H
#define BAGUA_DIALECT_BAGUA_ORIGINS_H

#include "bagua/Dialect/Bagua/Bagua.h"

#include <optional>

namespace bagua {

/// Imported ops that follow each other: the numbers of the first and the last.
struct Origin {
  int64_t first = 0;
  int64_t last = 0;
};

/// Nothing where the op was written by a pass.
std::optional<Origin> originOf(mlir::Operation *op);

/// The op stands in the place of these.
void setOrigin(mlir::Operation *op, Origin origin);

/// The op stands in the place of the others, of which each follows the one
/// before; it has an origin if all of them do.
void setOrigin(mlir::Operation *op, llvm::ArrayRef<ComputeOp> others);

/// What ops that become one have to do with others.
struct ComputeBorder {
  /// Values of others that they use, each once, in the order of their uses.
  llvm::SmallVector<mlir::Value> inputs;
  /// Results that others use or that have names, in the order of the ops.
  llvm::SmallVector<mlir::OpResult> outputs;
};

/// O(operands and uses).
ComputeBorder borderOf(llvm::ArrayRef<ComputeOp> ops);

} // namespace bagua

#endif // BAGUA_DIALECT_BAGUA_ORIGINS_H
