//===- bagua-opt.cpp - Runs passes and strategies on steps ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MLIR's driver with the bagua dialect and passes, and a report of what the
// passes decided.
//
//===----------------------------------------------------------------------===//
#include "Common/OwnOptions.h"

#include "bagua/Transforms/Bridge/StrategyPipeline.h"
#include "bagua/Transforms/Passes.h"
#include "bagua/Transforms/Utils/Report.h"

#include "mlir/Debug/Counter.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Support/Timing.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/ToolOutputFile.h"

static llvm::cl::opt<std::string>
    reportPath("bagua-report", llvm::cl::value_desc("file"),
               llvm::cl::desc("Write what each pass decided, as JSON"));

static bool writeReport(const bagua::Report &report) {
  std::string message;
  std::unique_ptr<llvm::ToolOutputFile> file =
      mlir::openOutputFile(reportPath, &message);
  if (!file) {
    llvm::errs() << "bagua-opt: " << message << "\n";
    return false;
  }
  report.print(file->os());
  file->keep();
  return true;
}

/// Shows the tool's own options, and those of MLIR that help with steps.
static void showOwnOptions(mlir::DialectRegistry &registry) {
  mlir::MlirOptMainConfig::registerCLOptions(registry);
  mlir::registerAsmPrinterCLOptions();
  mlir::registerPassManagerCLOptions();
  mlir::registerDefaultTimingManagerCLOptions();
  mlir::tracing::DebugCounter::registerCLOptions();
  bagua::printMessagesWithoutOps();
  bagua::showOnly({"bagua-report", "bagua-strategy", "dump-pass-pipeline",
                   "mlir-print-debuginfo", "mlir-print-ir-after",
                   "mlir-print-ir-after-all", "mlir-print-ir-after-failure",
                   "mlir-print-op-on-diagnostic", "mlir-timing",
                   "pass-pipeline", "split-input-file", "verify-diagnostics"});
}

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<bagua::BaguaDialect>();
  bagua::registerBaguaPasses();
  bagua::registerStrategyPipeline();
  mlir::registerCSEPass();
  mlir::registerCanonicalizerPass();
  showOwnOptions(registry);
  auto [input, output] = mlir::registerAndParseCLIOptions(
      argc, argv,
      "bagua-opt: compiles the communication of training steps\n\n"
      "  bagua-opt --bagua-strategy=ddp --bagua-report=decisions.json "
      "step.mlir -o scheduled.mlir\n",
      registry);
  bagua::Report report;
  if (!reportPath.empty())
    bagua::attachReport(registry, report);
  bool isGood =
      mlir::succeeded(mlir::MlirOptMain(argc, argv, input, output, registry));
  // The report is written even if a pass failed: the passes before it explain
  // the failure.
  if (!reportPath.empty())
    isGood &= writeReport(report);
  return isGood ? EXIT_SUCCESS : EXIT_FAILURE;
}
