//===- Import.h - The results of an import --------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The exported module, its graph, the meanings of the values, and the step that
// was made of them: the information that writing a step back needs besides the
// step.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_TARGET_STABLEHLO_IMPORT_H
#define BAGUA_LIB_TARGET_STABLEHLO_IMPORT_H

#include "StableHLO/Writing/Emit.h"

namespace bagua::importer {

struct Import {
  /// The exported module, with calls inlined.
  mlir::OwningOpRef<mlir::ModuleOp> original;
  Graph graph;
  ImportedStep model;
  EmittedStep emitted;
};

/// Runs all stages of the import of the main file of `sources`. Null after an
/// error.
std::unique_ptr<Import> runImport(llvm::SourceMgr &sources,
                                  mlir::MLIRContext *context,
                                  const StableHLOImportOptions &options);

} // namespace bagua::importer

#endif // BAGUA_LIB_TARGET_STABLEHLO_IMPORT_H
