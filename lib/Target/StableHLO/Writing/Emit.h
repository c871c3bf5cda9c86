//===- Emit.h - From a graph and its meanings to a bagua.step -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The fourth stage of the import, writing: takes the graph and the meanings of
// its values, and gives a module of a cluster and the step.
// --dump-after=writing prints it, as does an import without that option.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_TARGET_STABLEHLO_WRITING_EMIT_H
#define BAGUA_LIB_TARGET_STABLEHLO_WRITING_EMIT_H

#include "StableHLO/Recognition/ImportedStep.h"

#include "bagua/Target/StableHLOImport.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace bagua::importer {

/// Set on a step in whose module sums over ranks were left in loops.
inline constexpr llvm::StringLiteral kNotHoistedAttr = "bagua.not_hoisted";
/// Set on a step in whose module loops that communicate were left as they are.
inline constexpr llvm::StringLiteral kNotUnrolledAttr = "bagua.not_unrolled";

/// An op of the step, and its origin.
struct EmittedOp {
  mlir::Operation *op = nullptr;
  /// The op of the graph; kNone for an op that makes a static value or uses an
  /// output.
  OpId source = kNone;
  /// The output that the op uses; kNone for other ops.
  int32_t output = kNone;
  /// The op makes what the update behind it alone uses, and the graph does not
  /// have: a direction, a norm.
  bool isOfUpdate = false;
};

struct EmittedStep {
  /// The verified module of a cluster and a step.
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// By origin: all ops of the step but the last.
  std::vector<EmittedOp> ops;
  /// The graph's value for each value of the step.
  llvm::DenseMap<mlir::Value, ValueId> valueIds;
};

mlir::FailureOr<EmittedStep> emitStep(mlir::MLIRContext *context,
                                      const Graph &graph,
                                      const ImportedStep &model,
                                      const StableHLOImportOptions &options);

} // namespace bagua::importer

#endif // BAGUA_LIB_TARGET_STABLEHLO_WRITING_EMIT_H
