//===- CustomCalls.h - How the importer reads custom calls ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The only file that knows custom calls by their targets, and communication by
// its marks.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_TARGET_STABLEHLO_GRAPH_CUSTOMCALLS_H
#define BAGUA_LIB_TARGET_STABLEHLO_GRAPH_CUSTOMCALLS_H

#include "StableHLO/Graph/OpTable.h"

namespace bagua::importer {

bool isCustomCall(mlir::Operation *op);

/// The target's name; empty for an op that is no custom call.
llvm::StringRef targetOf(mlir::Operation *op);

/// Whether the table has the target.
bool isKnownCustomCall(mlir::Operation *op);

/// Whether the call's result is its operand, with another sharding.
bool isShardingWrapper(mlir::Operation *op);

/// The traits of a custom call. A call that communicates, or may do so, is
/// opaque communication: it uses its operands, its results are each rank's own,
/// and no pass looks inside.
OpTraits traitsOfCustomCall(mlir::Operation *op);

/// Whether an op of which nothing else is known has a mark of communication: a
/// channel, groups or pairs of devices, or a mesh among its attributes, or a
/// collective's name within its own.
bool carriesCommunication(mlir::Operation *op);

} // namespace bagua::importer

#endif // BAGUA_LIB_TARGET_STABLEHLO_GRAPH_CUSTOMCALLS_H
