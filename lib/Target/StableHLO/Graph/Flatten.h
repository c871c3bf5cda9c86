//===- Flatten.h - From a module to the flat graph ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The second stage of the import: takes the module, and gives its graph. Calls
// are inlined, the wrappers of the exported forms (pmap, stacked pmap,
// shard_map, Shardy's manual computation) removed, and collectives laid on the
// mesh. --dump-after=graph prints it.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_TARGET_STABLEHLO_GRAPH_FLATTEN_H
#define BAGUA_LIB_TARGET_STABLEHLO_GRAPH_FLATTEN_H

#include "StableHLO/Graph/Graph.h"

#include "mlir/IR/BuiltinOps.h"

#include "llvm/Support/raw_ostream.h"

namespace bagua::importer {

/// The op of Shardy whose region is written for one device.
inline constexpr llvm::StringLiteral kManualComputation =
    "sdy.manual_computation";

/// The ways to treat loops that communicate.
struct LoopOptions {
  /// Reductions leave loops that only add them up or stack them (Hoist.h).
  bool hoists = true;
  /// Other loops are written out (Unroll.h).
  bool unrolls = true;
};

/// The graph of the module's public function, into which calls are inlined. The
/// module must outlive it.
mlir::FailureOr<Graph> flatten(mlir::ModuleOp module,
                               const LoopOptions &options);

/// A line for each argument, op and output, values by their numbers in the
/// graph. Dead ops are left out. Nothing reads this text.
void dumpGraph(llvm::raw_ostream &output, const Graph &graph);

} // namespace bagua::importer

#endif // BAGUA_LIB_TARGET_STABLEHLO_GRAPH_FLATTEN_H
