//===- Cost.h - Floating-point operations and bytes of ops ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Computes the cost of a step's ops from shapes and trip counts alone.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_TARGET_STABLEHLO_GRAPH_COST_H
#define BAGUA_LIB_TARGET_STABLEHLO_GRAPH_COST_H

#include "StableHLO/Graph/Graph.h"
#include "StableHLO/Graph/Loops.h"

namespace bagua::importer {

/// flops: dot_general and convolution only, a multiplication and an addition
/// counted as two; zeros that lhs_dilation inserts are not counted. bytes: what
/// countTraffic says. Loops count their bodies times the trip count, branches
/// the most expensive one.
class CostModel {
public:
  explicit CostModel(const Functions &functions) : functions(functions) {}

  /// Sets flops and bytes of all ops. A loop of unknown trip count counts once,
  /// with a remark. O(ops).
  void annotate(Graph &graph);

private:
  struct Cost {
    int64_t flops = 0;
    int64_t bytes = 0;
  };
  /// The cost of an op's bodies; nothing for an op without any.
  Cost innerCostOf(mlir::Operation *op, InitialValue initial);
  Cost costOf(mlir::Block &block);
  Cost costOfLoop(mlir::Operation *op, InitialValue initial);

  const Functions &functions;
  llvm::DenseMap<mlir::Operation *, Cost> functionCosts;
};

/// Bytes of a tensor; an i1 takes a byte.
int64_t bytesOf(mlir::Type type);

} // namespace bagua::importer

#endif // BAGUA_LIB_TARGET_STABLEHLO_GRAPH_COST_H
