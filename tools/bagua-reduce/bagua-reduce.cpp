//===- bagua-reduce.cpp - Shrinks a step that shows a fault ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MLIR's test-case reducer with the bagua dialect.
//
//===----------------------------------------------------------------------===//
#include "Common/OwnOptions.h"

#include "bagua/Dialect/Bagua/Bagua.h"

#include "mlir/Reducer/Passes.h"
#include "mlir/Tools/mlir-reduce/MlirReduceMain.h"

#include <cstdlib>

int main(int argc, char **argv) {
  mlir::registerAsmPrinterCLOptions();
  mlir::registerMLIRContextCLOptions();
  bagua::showOnly({});
  mlir::registerReducerPasses();
  mlir::DialectRegistry registry;
  registry.insert<bagua::BaguaDialect>();
  mlir::MLIRContext context(registry);
  return failed(mlir::mlirReduceMain(argc, argv, context)) ? EXIT_FAILURE
                                                           : EXIT_SUCCESS;
}
