//===- Translations.h - What bagua-translate can do -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Registration of the tool's translations.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_TOOLS_BAGUA_TRANSLATE_TRANSLATIONS_H
#define BAGUA_TOOLS_BAGUA_TRANSLATE_TRANSLATIONS_H

#include "mlir/Support/LLVM.h"
#include "llvm/Support/LogicalResult.h"

namespace mlir {
class MLIRContext;
} // namespace mlir

namespace bagua {

/// Fails, with an error, if an option of registerImports() is set that is not
/// among those that the translation takes.
llvm::LogicalResult expectOptions(mlir::MLIRContext *context,
                                  llvm::StringRef translation,
                                  llvm::ArrayRef<llvm::StringRef> taken);

/// Registers --import-stablehlo, --import-layers and --export-stablehlo with
/// their options.
void registerImports();

/// Registers --export-plan, --print-plan and --plan-to-json.
void registerPlanTranslations();

} // namespace bagua

#endif // BAGUA_TOOLS_BAGUA_TRANSLATE_TRANSLATIONS_H
