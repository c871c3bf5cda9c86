//===- StableHLOExport.h - A planned step back in its module --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes the module from which a step was imported once more, with the plan's
// communication in the place of its own, so that XLA can run both and compare
// every output.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_TARGET_STABLEHLOEXPORT_H
#define BAGUA_TARGET_STABLEHLOEXPORT_H

#include "bagua/Target/StableHLOImport.h"

namespace bagua {

/// `module` has one step, which was imported from the main file of `original`
/// with `options` and planned since. In the result, calls are inlined, and
/// compute stands where its operands are ready. An error names what can't be
/// written back: servers, updates by the runtime, a step that was not made from
/// this module. O(ops of the module).
mlir::OwningOpRef<mlir::ModuleOp>
exportStableHLO(mlir::ModuleOp module, llvm::SourceMgr &original,
                const StableHLOImportOptions &options = {});

} // namespace bagua

#endif // BAGUA_TARGET_STABLEHLOEXPORT_H
