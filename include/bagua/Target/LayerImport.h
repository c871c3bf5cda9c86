//===- LayerImport.h - Tables of layers to bagua.step ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An import for any framework: reads a table of layers with their tensors and
// measured times, as CSV or as a PipeDream profile. docs/Import.md has the
// formats.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_TARGET_LAYERIMPORT_H
#define BAGUA_TARGET_LAYERIMPORT_H

#include "bagua/Dialect/Bagua/Bagua.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include "llvm/Support/SourceMgr.h"

#include <string>

namespace bagua {

struct LayerImportOptions {
  /// The cluster to plan for, copied into the result. Null: one rank.
  ClusterOp cluster;
  /// Every size of N elements becomes max(1, round(N * sizeScale)).
  double sizeScale = 1;
};

/// The step, data-parallel over all axes, and its cluster in a new, verified
/// module; null after an error, which diagnostics describe.
mlir::OwningOpRef<mlir::ModuleOp>
importLayers(llvm::SourceMgr &sources, mlir::MLIRContext *context,
             const LayerImportOptions &options = {});

} // namespace bagua

#endif // BAGUA_TARGET_LAYERIMPORT_H
