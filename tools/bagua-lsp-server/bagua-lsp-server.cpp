//===- bagua-lsp-server.cpp - Editor support for bagua IR -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MLIR's language server with the bagua dialect.
//
//===----------------------------------------------------------------------===//
#include "Common/OwnOptions.h"

#include "bagua/Dialect/Bagua/Bagua.h"

#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"

#include <cstdlib>

int main(int argc, char **argv) {
  mlir::registerAsmPrinterCLOptions();
  mlir::registerMLIRContextCLOptions();
  bagua::showOnly({});
  mlir::DialectRegistry registry;
  registry.insert<bagua::BaguaDialect>();
  return failed(mlir::MlirLspServerMain(argc, argv, registry)) ? EXIT_FAILURE
                                                               : EXIT_SUCCESS;
}
