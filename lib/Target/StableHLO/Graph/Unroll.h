//===- Unroll.h - Loops written out ---------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A scan over layers that gathers params and scatters gradients in every turn
// hides when each of them happens. Written out, its communication is planned.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_TARGET_STABLEHLO_GRAPH_UNROLL_H
#define BAGUA_LIB_TARGET_STABLEHLO_GRAPH_UNROLL_H

#include "StableHLO/Graph/Inline.h"

namespace bagua::importer {

/// Replaces each loop in the function that communicates, and whose trip count
/// is known, by a copy of its body for each turn, with a remark. Loops in loops
/// follow. A loop that would make the step too large stays, with a remark.
/// O(ops written).
mlir::LogicalResult unrollLoops(mlir::func::FuncOp entry,
                                const Functions &functions, CallScopes &scopes);

} // namespace bagua::importer

#endif // BAGUA_LIB_TARGET_STABLEHLO_GRAPH_UNROLL_H
