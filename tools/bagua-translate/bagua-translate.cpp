//===- bagua-translate.cpp - Translates steps and plans -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MLIR's driver with the importers of steps and the exporter of plans.
//
//===----------------------------------------------------------------------===//
#include "Translations.h"

#include "Common/OwnOptions.h"

#include "mlir/Support/Timing.h"
#include "mlir/Tools/mlir-translate/MlirTranslateMain.h"

#include <cstdlib>

int main(int argc, char **argv) {
  bagua::registerImports();
  bagua::registerPlanTranslations();
  mlir::registerAsmPrinterCLOptions();
  mlir::registerDefaultTimingManagerCLOptions();
  mlir::registerMLIRContextCLOptions();
  bagua::showOnly({"cluster", "costs", "dump-after", "hoist", "unroll", "json",
                   "mapping", "original", "size-scale", "summary",
                   "mlir-print-debuginfo"});
  return failed(mlir::mlirTranslateMain(
             argc, argv,
             "bagua-translate: imports training steps, exports and prints "
             "plans\n\n"
             "  bagua-translate --import-stablehlo step.mlir | bagua-opt "
             "--bagua-strategy=ddp | bagua-translate --export-plan -o "
             "step.bagua\n"))
             ? EXIT_FAILURE
             : EXIT_SUCCESS;
}
