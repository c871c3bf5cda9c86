//===- Flatten.h - From a module to the flat graph ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Inlines calls, removes the wrappers of the exported forms (pmap, stacked
// pmap, shard_map, Shardy's manual computation), and reads the mesh.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_TARGET_STABLEHLO_FLATTEN_H
#define BAGUA_TARGET_STABLEHLO_FLATTEN_H

#include "Graph.h"

#include "mlir/IR/BuiltinOps.h"

namespace bagua::importer {

/// The op of Shardy whose region is written for one device.
inline constexpr llvm::StringLiteral kManualComputation =
    "sdy.manual_computation";

/// The graph of the module's public function, into which calls are inlined. The
/// module must outlive it.
mlir::FailureOr<Graph> flatten(mlir::ModuleOp module);

/// `layer_0/query/dot_general` of a location: its names without those of
/// transformations (jit, jvp, transpose, ...); empty without names.
std::string scopeOf(mlir::Location loc);

/// Whether the location's names say that the op was made by transposition.
bool isTransposedScope(mlir::Location loc);

} // namespace bagua::importer

#endif // BAGUA_TARGET_STABLEHLO_FLATTEN_H
