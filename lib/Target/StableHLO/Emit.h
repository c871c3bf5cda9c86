//===- Emit.h - From the analysed graph to a bagua.step -------------------===//
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

/// The verified module; null after an error.
mlir::OwningOpRef<mlir::ModuleOp>
emitStep(mlir::MLIRContext *context, const Graph &graph,
         const ImportedStep &model, const StableHLOImportOptions &options);

} // namespace bagua::importer

#endif // BAGUA_TARGET_STABLEHLO_EMIT_H
