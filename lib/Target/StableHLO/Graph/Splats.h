//===- Splats.h - Values that are known to be one number ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The constants of an exported step that matter (learning rates, divisors) are
// splats. These functions follow them through the ops that exporters put on
// top.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_TARGET_STABLEHLO_GRAPH_SPLATS_H
#define BAGUA_LIB_TARGET_STABLEHLO_GRAPH_SPLATS_H

#include "StableHLO/Graph/Graph.h"

namespace bagua::importer {

/// The number that every element of a constant op is; nothing if they differ.
std::optional<double> splatOf(mlir::Operation *constant);

/// Sets the splats of a static op's results, if its operands' are known.
void inferSplat(Graph &graph, FlatOp &op);

} // namespace bagua::importer

#endif // BAGUA_LIB_TARGET_STABLEHLO_GRAPH_SPLATS_H
