//===- Cost.h - Floating-point operations and bytes of ops ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Computes the cost of a step's ops from shapes and trip counts alone.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_TARGET_STABLEHLO_GRAPH_COST_H
#define BAGUA_LIB_TARGET_STABLEHLO_GRAPH_COST_H

#include "StableHLO/Graph/Graph.h"
#include "StableHLO/Graph/OpTable.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

#include "llvm/ADT/StringMap.h"

namespace bagua::importer {

/// flops: dot_general and convolution only, a multiplication and an addition
/// counted as two; zeros that lhs_dilation inserts are not counted. bytes:
/// operands and results of every op that is not free. Constants, reshapes and
/// broadcasts are free, and an operand counts as the value of which it is a
/// view. A slice or gather reads as much as it returns; an update in place
/// reads and writes as much as it is given. Loops count their bodies times the
/// trip count, branches the most expensive one.
class CostModel {
public:
  explicit CostModel(mlir::ModuleOp module);

  /// Sets flops and bytes. A loop of unknown trip count counts once, with a
  /// remark.
  void annotate(const Graph &graph, FlatOp &op, OpTraits traits);

private:
  struct Cost {
    int64_t flops = 0;
    int64_t bytes = 0;
  };
  /// The initial value of a loop's operand, if it is known.
  using InitialValue =
      llvm::function_ref<std::optional<int64_t>(unsigned operand)>;

  Cost costOf(mlir::Operation *op);
  Cost costOf(mlir::Region &region);
  Cost costOfLoop(mlir::Operation *op, InitialValue initial);
  std::optional<int64_t> tripCountOf(mlir::Operation *op, InitialValue initial);
  std::optional<int64_t> incrementOf(mlir::Value next, mlir::Value counter);

  llvm::StringMap<mlir::func::FuncOp> functions;
  llvm::DenseMap<mlir::Operation *, Cost> functionCosts;
};

/// Bytes of a tensor; an i1 takes a byte.
int64_t bytesOf(mlir::Type type);

} // namespace bagua::importer

#endif // BAGUA_LIB_TARGET_STABLEHLO_GRAPH_COST_H
