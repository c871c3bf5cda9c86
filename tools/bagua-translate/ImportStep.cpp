//===- ImportStep.cpp - Import and export of steps ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The translations --import-stablehlo and --import-layers with their options,
// which print IR or a summary, and --export-stablehlo.
//
//===----------------------------------------------------------------------===//
#include "Translations.h"

#include "bagua/Target/Clusters.h"
#include "bagua/Target/LayerImport.h"
#include "bagua/Target/StableHLOExport.h"
#include "bagua/Target/StableHLOImport.h"
#include "bagua/Target/StepSummary.h"
#include "bagua/Transforms/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Tools/mlir-translate/Translation.h"
#include "llvm/ADT/MapVector.h"
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
                  llvm::cl::desc("preset, file with a bagua.cluster, or sizes "
                                 "such as node=2,gpu=4 or "
                                 "host=4@500mbit,100us (default: the exported "
                                 "mesh)"));
llvm::cl::opt<std::string>
    mappingOption("mapping", llvm::cl::cat(category),
                  llvm::cl::desc("JSON that says what can't be inferred"));
llvm::cl::opt<std::string>
    costsOption("costs", llvm::cl::cat(category),
                llvm::cl::desc("CSV of measured times: name,phase,ns"));
llvm::cl::opt<double>
    sizeScaleOption("size-scale", llvm::cl::cat(category), llvm::cl::init(1.0),
                    llvm::cl::desc("multiplies the size of every tensor"));
enum class Switch { Off, On };
llvm::cl::opt<Switch> hoistOption(
    "hoist", llvm::cl::cat(category), llvm::cl::init(Switch::On),
    llvm::cl::desc("move sums over ranks out of loops that only add them up or "
                   "stack them"),
    llvm::cl::values(clEnumValN(Switch::On, "on", "the default"),
                     clEnumValN(Switch::Off, "off", "leave them there")));
llvm::cl::opt<Switch> unrollOption(
    "unroll", llvm::cl::cat(category), llvm::cl::init(Switch::On),
    llvm::cl::desc("write out loops that communicate, if their trip count is "
                   "known"),
    llvm::cl::values(clEnumValN(Switch::On, "on", "the default"),
                     clEnumValN(Switch::Off, "off", "leave them as they are")));
llvm::cl::opt<std::string> dumpAfterOption(
    "dump-after", llvm::cl::cat(category),
    llvm::cl::desc("print what a stage of the import has made of the step "
                   "(reading, graph, recognition or writing) instead of the "
                   "step"));
llvm::cl::opt<bool>
    summaryOption("summary", llvm::cl::cat(category),
                  llvm::cl::desc("print a summary instead of the step"));
llvm::cl::opt<std::string> originalOption(
    "original", llvm::cl::cat(category),
    llvm::cl::desc("the module that the step was imported from"));
llvm::cl::opt<bool> jsonOption("json", llvm::cl::cat(category),
                               llvm::cl::desc("print the summary as JSON"));
} // namespace

LogicalResult bagua::expectOptions(MLIRContext *context, StringRef translation,
                                   ArrayRef<StringRef> taken) {
  const llvm::cl::Option *const all[] = {
      &clusterOption,   &mappingOption, &costsOption,    &sizeScaleOption,
      &dumpAfterOption, &summaryOption, &originalOption, &jsonOption,
      &hoistOption,     &unrollOption};
  for (const llvm::cl::Option *option : all)
    if (option->getNumOccurrences() > 0 &&
        !llvm::is_contained(taken, option->ArgStr))
      return emitError(UnknownLoc::get(context))
             << "expected no --" << option->ArgStr << " with --" << translation
             << ", which does not use it";
  return success();
}

/// The text of the file that an option names; empty if the option is not set.
static llvm::FailureOr<std::string> readText(StringRef path,
                                             MLIRContext *context) {
  if (path.empty())
    return std::string();
  std::string message;
  auto file = openInputFile(path, &message);
  if (!file)
    return emitError(UnknownLoc::get(context)) << message;
  return file->getBuffer().str();
}

/// Replaces the importer's durations by those measured elsewhere.
static LogicalResult overlayCosts(ModuleOp module) {
  if (costsOption.empty())
    return success();
  PassManager manager(module.getContext());
  manager.nest<StepOp>().addPass(createAnnotateCostsPass({costsOption}));
  return manager.run(module);
}

static void printSummary(const StepSummary &summary,
                         llvm::raw_ostream &output) {
  if (jsonOption) {
    output << llvm::formatv("{0:2}", llvm::json::Value(toJson(summary)))
           << '\n';
    return;
  }
  output << "step " << summary.name << ": " << summary.parameters << " params, "
         << summary.gradients << " gradients of " << summary.gradientBytes
         << " bytes, " << summary.allReducesFound << " all_reduces, "
         << summary.computeOps << " compute ops of "
         << llvm::format("%.2f", double(summary.flops) * 1e-9) << " GFLOP\n";
  // The turns of a loop reduce alike.
  llvm::MapVector<StringRef, int64_t> times;
  for (const std::string &reduction : summary.keptReductions)
    ++times[reduction];
  for (auto [reduction, count] : times) {
    output << "  no gradient's: " << reduction;
    if (count > 1)
      output << " (" << count << " times)";
    output << '\n';
  }
}

/// Warns that a step for one rank communicates with nobody. Such a step is a
/// valid export, but hardly what the user wants.
static void warnOfOneRank(ModuleOp module) {
  for (auto step : module.getOps<StepOp>())
    if (clusterOption.empty() && step.lookupCluster().getWorkerCount() == 1)
      llvm::errs() << "bagua-translate: warning: step '" << step.getSymName()
                   << "' is for one rank: --cluster sets the cluster that it "
                      "is compiled for\n";
}

/// Prints the step, or its summary if that was asked for.
static LogicalResult
print(OwningOpRef<ModuleOp> module, llvm::raw_ostream &output,
      const std::optional<StableHLOImportInfo> &info = std::nullopt) {
  if (!module || failed(overlayCosts(*module)))
    return failure();
  if (summaryOption) {
    for (auto step : module->getOps<StepOp>()) {
      StepSummary summary =
          info ? summarize(step, info->allReducesFound) : summarize(step);
      if (info)
        summary.keptReductions = info->keptReductions;
      printSummary(summary, output);
    }
    return success();
  }
  warnOfOneRank(*module);
  // Later messages point at these locations.
  module->print(output, OpPrintingFlags().enableDebugInfo());
  output << '\n';
  return success();
}

static LogicalResult
importStableHLOStep(const std::shared_ptr<llvm::SourceMgr> &sources,
                    llvm::raw_ostream &output, MLIRContext *context) {
  context->printOpOnDiagnostic(false);
  if (failed(
          expectOptions(context, "import-stablehlo",
                        {"cluster", "mapping", "costs", "size-scale", "hoist",
                         "unroll", "dump-after", "summary", "json"})))
    return failure();
  auto cluster = readCluster(clusterOption, context);
  auto mapping = readText(mappingOption, context);
  if (failed(cluster) || failed(mapping))
    return failure();
  StableHLOImportOptions options;
  options.cluster = cluster->op;
  options.mapping = *mapping;
  options.mappingName = mappingOption;
  options.sizeScale = sizeScaleOption;
  options.hoists = hoistOption == Switch::On;
  options.unrolls = unrollOption == Switch::On;
  if (!dumpAfterOption.empty()) {
    std::optional<ImportStage> stage =
        parseWord<ImportStage>(std::string_view(dumpAfterOption.getValue()));
    if (!stage)
      return emitError(UnknownLoc::get(context))
             << "--dump-after: "
             << wrongWord<ImportStage>(
                    std::string_view(dumpAfterOption.getValue()));
    options.dumpAfter = *stage;
    options.dump = &output;
    auto module = importStableHLO(*sources, context, options);
    return success(static_cast<bool>(module));
  }
  StableHLOImportInfo info;
  auto module = importStableHLO(*sources, context, options, &info);
  return print(std::move(module), output, info);
}

static LogicalResult
importLayerTable(const std::shared_ptr<llvm::SourceMgr> &sources,
                 llvm::raw_ostream &output, MLIRContext *context) {
  context->printOpOnDiagnostic(false);
  if (failed(
          expectOptions(context, "import-layers",
                        {"cluster", "costs", "size-scale", "summary", "json"})))
    return failure();
  auto cluster = readCluster(clusterOption, context);
  if (failed(cluster))
    return failure();
  LayerImportOptions options;
  options.cluster = cluster->op;
  options.sizeScale = sizeScaleOption;
  return print(importLayers(*sources, context, options), output);
}

/// Writes the module that the step was imported from, with the step's
/// communication.
static LogicalResult exportStep(ModuleOp module, llvm::raw_ostream &output) {
  MLIRContext *context = module.getContext();
  context->printOpOnDiagnostic(false);
  if (failed(
          expectOptions(context, "export-stablehlo", {"original", "mapping"})))
    return failure();
  if (originalOption.empty())
    return module.emitError()
           << "expected --original=FILE, the module that the step was imported "
              "from";
  auto mapping = readText(mappingOption, context);
  std::string message;
  auto file = openInputFile(originalOption, &message);
  if (!file)
    return emitError(UnknownLoc::get(context)) << message;
  if (failed(mapping))
    return failure();
  StableHLOImportOptions options;
  options.mapping = *mapping;
  options.mappingName = mappingOption;
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(file), llvm::SMLoc());
  auto written = exportStableHLO(module, sources, options);
  if (!written)
    return failure();
  written->print(output,
                 OpPrintingFlags().enableDebugInfo().printGenericOpForm());
  output << '\n';
  return success();
}

void bagua::registerImports() {
  static TranslateRegistration stableHLORegistration(
      "import-stablehlo", "an exported training step (StableHLO, generic form)",
      importStableHLOStep);
  static TranslateRegistration layersRegistration(
      "import-layers", "a table of layers (CSV, or a PipeDream profile)",
      importLayerTable);
  static TranslateFromMLIRRegistration exportRegistration(
      "export-stablehlo",
      "the module that a scheduled step was imported from (--original), with "
      "its communication",
      exportStep,
      [](DialectRegistry &registry) { registry.insert<BaguaDialect>(); });
}
