//===- OpTable.h - What is known about StableHLO's ops --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The only file that knows ops by name.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_TARGET_STABLEHLO_GRAPH_OPTABLE_H
#define BAGUA_LIB_TARGET_STABLEHLO_GRAPH_OPTABLE_H

#include "StableHLO/Graph/Graph.h"

#include "bagua/Scheduling/Prices/Traffic.h"

namespace bagua::importer {

/// The traits of an op, as the importer sees it.
struct OpTraits {
  OpKind kind = OpKind::Opaque;
  /// The op moves data between devices in a way that is not read.
  bool isOtherCommunication = false;
  Traffic traffic = Traffic::Kernel;
};

/// The traits of an op. An op of an unknown elementwise family counts as
/// elementwise only if operands and results agree in shape.
OpTraits traitsOf(mlir::Operation *op);

/// Whether an op adds along dimensions of size 1, which only changes the shape:
/// newer exporters drop a dimension in this way.
bool isReduceOfOne(mlir::Operation *op);

/// Whether an op's results are its operands: constraints and barriers.
bool isIdentity(mlir::Operation *op);

/// Whether a known op has the operands and results that its users here rely on.
/// Stub dialects verify nothing.
bool isWellFormed(mlir::Operation *op, OpKind kind);

} // namespace bagua::importer

#endif // BAGUA_LIB_TARGET_STABLEHLO_GRAPH_OPTABLE_H
