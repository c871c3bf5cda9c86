//===- Emit.h - From the analysed graph to a bagua.step -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Builds the module: a cluster and the step.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_TARGET_STABLEHLO_EMIT_H
#define BAGUA_TARGET_STABLEHLO_EMIT_H

#include "ImportedStep.h"

#include "bagua/Target/StableHLOImport.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace bagua::importer {

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

#endif // BAGUA_TARGET_STABLEHLO_EMIT_H
