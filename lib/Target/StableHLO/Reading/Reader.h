//===- Reader.h - StableHLO text with a stock MLIR ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parses generic StableHLO, Shardy and CHLO with stub dialects: ops and
// attributes stay text, but the module verifies.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_TARGET_STABLEHLO_READER_H
#define BAGUA_TARGET_STABLEHLO_READER_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include "llvm/Support/SourceMgr.h"

namespace bagua::importer {

/// Parses the main file of `sources`; null after an error.
mlir::OwningOpRef<mlir::ModuleOp> readModule(llvm::SourceMgr &sources,
                                             mlir::MLIRContext *context);

} // namespace bagua::importer

#endif // BAGUA_TARGET_STABLEHLO_READER_H
