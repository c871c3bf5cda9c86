//===- PlanExport.h - A scheduled step as a plan file ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The compiler's last stage: writes the part of a scheduled step that the
// runtime runs, as the bytes of a plan. docs/PlanFormat.md describes them.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_TARGET_PLANEXPORT_H
#define BAGUA_TARGET_PLANEXPORT_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/LogicalResult.h"

#include <string>

namespace bagua {

/// The plan of the module's one step, which must be scheduled and placed. Emits
/// an error and fails otherwise. The same module gives the same bytes.
llvm::FailureOr<std::string> exportPlan(mlir::ModuleOp module);

} // namespace bagua

#endif // BAGUA_TARGET_PLANEXPORT_H
