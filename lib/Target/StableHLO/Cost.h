//===- Cost.h - Floating-point operations and bytes of ops ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a step's compute costs, from shapes and trip counts alone.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_TARGET_STABLEHLO_COST_H
#define BAGUA_TARGET_STABLEHLO_COST_H

#include "Graph.h"
#include "OpTable.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

#include "llvm/ADT/StringMap.h"

namespace bagua::importer {

/// flops: of dot_general and convolution, a multiplication and an addition
/// counted as two; nothing else. Zeros that lhs_dilation inserts are not
/// counted. bytes: operands and results of every op that is not free. Free are
/// constants, reshapes and broadcasts: an operand counts as what it is a view
/// of. A slice or gather reads what it returns, an update in place writes what
/// it is given. Loops: their bodies times the trip count; branches: the dearest
/// one.
class CostModel {
public:
  explicit CostModel(mlir::ModuleOp module);

  /// Sets flops and bytes. A loop of unknown trip count is taken once, with a
  /// remark.
  void annotate(const Graph &graph, FlatOp &op, OpTraits traits);

private:
  struct Cost {
    int64_t flops = 0;
    int64_t bytes = 0;
  };
  /// Initial value of an operand of a loop, where known.
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

#endif // BAGUA_TARGET_STABLEHLO_COST_H
