//===- Hoist.h - Reductions out of loops ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A scan reduces a gradient in every turn, although only the sum over the
// turns, or the stack of them, is used: one reduction behind the loop does as
// well.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_TARGET_STABLEHLO_GRAPH_HOIST_H
#define BAGUA_LIB_TARGET_STABLEHLO_GRAPH_HOIST_H

#include "StableHLO/Graph/Inline.h"

namespace bagua::importer {

/// Moves sums over ranks out of the function's loops, with a remark for each: a
/// sum that a loop only adds up, or writes into a tensor at places that are the
/// same on all ranks, both beginning with zeros. Moves them behind sums over
/// elements, too, if those are all that is used of them. Calls in a loop that
/// communicates are inlined. Such a step adds in another order. O(ops).
mlir::LogicalResult hoistReductions(mlir::func::FuncOp entry,
                                    const Functions &functions,
                                    CallScopes &scopes);

} // namespace bagua::importer

#endif // BAGUA_LIB_TARGET_STABLEHLO_GRAPH_HOIST_H
