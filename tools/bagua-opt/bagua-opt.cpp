//===- bagua-opt.cpp - Runs passes and strategies on steps ----------------===//
//
// MLIR's driver with the bagua dialect and passes.
//
//===----------------------------------------------------------------------===//
#include "bagua/Transforms/Passes.h"
#include "bagua/Transforms/Strategies.h"

#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<bagua::BaguaDialect>();
  bagua::registerBaguaPasses();
  bagua::registerStrategyPipeline();
  mlir::registerCSEPass();
  mlir::registerCanonicalizerPass();
  return mlir::asMainReturnCode(mlir::MlirOptMain(
      argc, argv, "bagua-opt: compiles the communication of training steps\n",
      registry));
}
