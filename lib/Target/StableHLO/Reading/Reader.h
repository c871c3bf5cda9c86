//===- Reader.h - StableHLO text with a stock MLIR ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The first stage of the import, reading: takes the text of a module, and gives
// the module. Generic StableHLO, Shardy and CHLO are parsed with stub dialects:
// ops and attributes stay text, but the module verifies. --dump-after=reading
// prints it.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_TARGET_STABLEHLO_READING_READER_H
#define BAGUA_LIB_TARGET_STABLEHLO_READING_READER_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

namespace bagua::importer {

/// Parses the main file of `sources`; null after an error.
mlir::OwningOpRef<mlir::ModuleOp> readModule(llvm::SourceMgr &sources,
                                             mlir::MLIRContext *context);

/// In the generic form, as it was read.
void dumpModule(llvm::raw_ostream &output, mlir::ModuleOp module);

} // namespace bagua::importer

#endif // BAGUA_LIB_TARGET_STABLEHLO_READING_READER_H
