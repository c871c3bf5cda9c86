//===- OpTable.h - What is known of StableHLO's ops -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one place that knows ops by name.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_TARGET_STABLEHLO_OPTABLE_H
#define BAGUA_TARGET_STABLEHLO_OPTABLE_H

#include "Graph.h"

namespace bagua::importer {

/// What an op outside the importer's own kinds is.
struct OpTraits {
  OpKind kind = OpKind::Opaque;
  /// Moves data between devices in a way that is not read.
  bool isOtherCommunication = false;
  /// Costs no memory traffic of its own: a view, or fused into its users.
  bool isFree = false;
};

/// An op of an unknown elementwise family is one only where operands and
/// results agree in shape.
OpTraits traitsOf(mlir::Operation *op);

/// Whether an op adds along dimensions of size 1, which is another shape: so
/// newer exporters drop a dimension.
bool isReduceOfOne(mlir::Operation *op);

/// Whether an op's results are its operands: constraints and barriers.
bool isIdentity(mlir::Operation *op);

/// Whether a known op has the operands and results that its users here rely on.
/// Stub dialects verify nothing.
bool isWellFormed(mlir::Operation *op, OpKind kind);

} // namespace bagua::importer

#endif // BAGUA_TARGET_STABLEHLO_OPTABLE_H
