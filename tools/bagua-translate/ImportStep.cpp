//===- ImportStep.cpp - Exported steps in ---------------------------------===//
//
// --import-stablehlo, with its options, as IR or as a summary.
//
//===----------------------------------------------------------------------===//
#include "Translations.h"

#include "bagua/Target/StableHLOImport.h"
#include "bagua/Target/StepSummary.h"

#include "mlir/Support/FileUtilities.h"
#include "mlir/Tools/mlir-translate/Translation.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace bagua;

namespace {
llvm::cl::OptionCategory category("bagua-translate: import");
llvm::cl::opt<std::string>
    clusterOption("cluster", llvm::cl::cat(category),
                  llvm::cl::desc("file with a bagua.cluster, or sizes such as "
                                 "node=2,gpu=4 (default: the exported mesh)"));
llvm::cl::opt<std::string>
    mappingOption("mapping", llvm::cl::cat(category),
                  llvm::cl::desc("JSON that says what can't be inferred"));
llvm::cl::opt<double>
    sizeScaleOption("size-scale", llvm::cl::cat(category), llvm::cl::init(1.0),
                    llvm::cl::desc("multiplies the size of every tensor"));
llvm::cl::opt<bool>
    summaryOption("summary", llvm::cl::cat(category),
                  llvm::cl::desc("print a summary instead of the step"));
llvm::cl::opt<bool> jsonOption("json", llvm::cl::cat(category),
                               llvm::cl::desc("print the summary as JSON"));
} // namespace

static LogicalResult readMapping(StableHLOImportOptions &options,
                                 MLIRContext *context) {
  if (mappingOption.empty())
    return success();
  std::string message;
  auto file = openInputFile(mappingOption, &message);
  if (!file)
    return emitError(UnknownLoc::get(context)) << message;
  options.mapping = file->getBuffer().str();
  options.mappingName = mappingOption;
  return success();
}

static void printSummary(const StepSummary &summary,
                         llvm::raw_ostream &output) {
  if (jsonOption) {
    output << llvm::formatv("{0:2}", llvm::json::Value(toJson(summary)))
           << '\n';
    return;
  }
  output << "step " << summary.name << ": " << summary.parameters
         << " params, " << summary.gradients << " gradients of "
         << summary.gradientBytes << " bytes, " << summary.allReducesFound
         << " all_reduces, " << summary.computeOps << " compute ops of "
         << llvm::format("%.2f", double(summary.flops) * 1e-9) << " GFLOP\n";
}

static LogicalResult
importAndPrint(const std::shared_ptr<llvm::SourceMgr> &sources,
               llvm::raw_ostream &output, MLIRContext *context) {
  StableHLOImportOptions options;
  StableHLOImportInfo info;
  auto cluster = readCluster(clusterOption, context);
  if (failed(cluster) || failed(readMapping(options, context)))
    return failure();
  options.cluster = cluster->cluster;
  options.clusterSizes = cluster->sizes;
  options.sizeScale = sizeScaleOption;
  OwningOpRef<ModuleOp> module =
      importStableHLO(*sources, context, options, &info);
  if (!module)
    return failure();
  if (!summaryOption) {
    // Locations are what later messages point at.
    module->print(output, OpPrintingFlags().enableDebugInfo());
    output << '\n';
    return success();
  }
  for (auto step : module->getOps<StepOp>())
    printSummary(summarize(step, info.allReducesFound), output);
  return success();
}

void bagua::registerImports() {
  static TranslateRegistration registration(
      "import-stablehlo", "an exported training step (StableHLO, generic form)",
      importAndPrint);
}
