//===- bagua-sim.cpp - Predicts strategies --------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiles a step by one or many strategies and simulates each, together with
// the lower bound for all of them.
//
//===----------------------------------------------------------------------===//
#include "Phases.h"
#include "Report.h"
#include "Sweep.h"
#include "Timeline.h"

#include "bagua/Target/Clusters.h"
#include "bagua/Transforms/Bridge/StrategyPipeline.h"
#include "bagua/Transforms/Passes.h"
#include "bagua/Transforms/Utils/Retarget.h"
#include "bagua/Transforms/Utils/StepQueries.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/ToolOutputFile.h"

#include <chrono>
#include <optional>

using namespace mlir;
using namespace bagua;

namespace {
llvm::cl::OptionCategory category("bagua-sim");
llvm::cl::opt<std::string> input(llvm::cl::Positional, llvm::cl::init("-"),
                                 llvm::cl::desc("<step.mlir>"),
                                 llvm::cl::cat(category));
llvm::cl::opt<std::string> output("o", llvm::cl::init("-"),
                                  llvm::cl::value_desc("file"),
                                  llvm::cl::desc("where the report goes"),
                                  llvm::cl::cat(category));
llvm::cl::opt<std::string>
    strategyOption("strategy", llvm::cl::value_desc("name"),
                   llvm::cl::desc("predict one strategy: NAME or "
                                  "NAME{option=value}, or @STEP=NAME ... for "
                                  "each step"),
                   llvm::cl::cat(category));
llvm::cl::opt<int64_t> iterationsOption(
    "iterations", llvm::cl::value_desc("count"),
    llvm::cl::desc("with a training of several steps: add up so many "
                   "iterations"),
    llvm::cl::cat(category));
llvm::cl::opt<std::string>
    compareOption("compare", llvm::cl::ValueOptional,
                  llvm::cl::value_desc("a,b,..."),
                  llvm::cl::desc("a table over strategies (default: all)"),
                  llvm::cl::cat(category));
llvm::cl::list<StrategyClass> allowOption(
    "allow", llvm::cl::CommaSeparated,
    llvm::cl::desc("with --compare: classes of strategies (default: "
                   "lossless)"),
    llvm::cl::cat(category));
llvm::cl::opt<std::string> clusterOption(
    "cluster", llvm::cl::value_desc("name"),
    llvm::cl::desc("preset, file with a bagua.cluster, or sizes such as "
                   "node=2,gpu=4 or host=4@500mbit,100us (default: the "
                   "step's)"),
    llvm::cl::cat(category));
llvm::cl::opt<std::string>
    traceOption("trace", llvm::cl::value_desc("file"),
                llvm::cl::desc("write a Chrome trace of the step"),
                llvm::cl::cat(category));
llvm::cl::opt<std::string>
    timelineOption("timeline", llvm::cl::value_desc("file.html"),
                   llvm::cl::desc("write a page that shows streams, links and "
                                  "memory over time"),
                   llvm::cl::cat(category));
llvm::cl::opt<std::string>
    runOption("run", llvm::cl::value_desc("trace.json"),
              llvm::cl::desc("with --timeline: show a step of a run below the "
                             "predicted step, from a rank's trace "
                             "(BAGUA_TRACE)"),
              llvm::cl::cat(category));
llvm::cl::opt<SweepKind> sweepOption(
    "sweep",
    llvm::cl::desc("with --compare: predict over a range of one property of "
                   "the cluster"),
    llvm::cl::values(clEnumValN(SweepKind::Bandwidth, "bandwidth",
                                "the rate of the outermost axis"),
                     clEnumValN(SweepKind::Latency, "latency",
                                "the latency of the outermost axis"),
                     clEnumValN(SweepKind::Ranks, "ranks",
                                "the size of the outermost axis")),
    llvm::cl::cat(category));
llvm::cl::opt<std::string>
    plotOption("plot", llvm::cl::value_desc("file.html"),
               llvm::cl::desc("write a page that shows the sweep"),
               llvm::cl::cat(category));
llvm::cl::opt<bool>
    listOption("list-strategies",
               llvm::cl::desc("print the table of strategies, in Markdown"),
               llvm::cl::cat(category));
llvm::cl::opt<bool> jsonOption("json", llvm::cl::desc("print JSON"),
                               llvm::cl::cat(category));
} // namespace

static LogicalResult fail(const Twine &message) {
  llvm::errs() << "bagua-sim: " << message << "\n";
  return failure();
}

static LogicalResult writeTo(StringRef path,
                             function_ref<void(llvm::raw_ostream &)> write) {
  std::string message;
  auto file = openOutputFile(path, &message);
  if (!file)
    return fail(message);
  write(file->os());
  file->keep();
  return success();
}

/// Splits at commas outside braces: `ddp{cap-bytes=4},bsp-a2a`.
static SmallVector<std::string> splitStrategies(StringRef text) {
  SmallVector<std::string> names(1);
  int depth = 0;
  for (char c : text) {
    depth += (c == '{') - (c == '}');
    if (c == ',' && depth == 0)
      names.emplace_back();
    else
      names.back() += c;
  }
  return names;
}

static LogicalResult runOne(ModuleOp module, const BoundReport &bounded) {
  Prediction prediction = predict(module, strategyOption);
  if (!prediction.refusal.empty())
    return fail("strategy '" + strategyOption + "': " + prediction.refusal);
  if (!traceOption.empty() &&
      failed(writeTo(traceOption, [&](llvm::raw_ostream &os) {
        os << traceOf(prediction);
      })))
    return failure();
  std::optional<MeasuredStep> measured;
  if (!runOption.empty()) {
    auto read = readMeasuredStep(runOption);
    if (!read)
      return fail(llvm::toString(read.takeError()));
    measured = std::move(*read);
  }
  if (!timelineOption.empty() &&
      failed(writeTo(timelineOption, [&](llvm::raw_ostream &os) {
        os << timelineOf(prediction, bounded, measured ? &*measured : nullptr);
      })))
    return failure();
  return writeTo(output, [&](llvm::raw_ostream &os) {
    if (jsonOption)
      os << llvm::formatv("{0:2}\n",
                          llvm::json::Value(toJson(prediction, bounded)));
    else
      printPrediction(prediction, bounded, os);
  });
}

/// Predicts a training of several steps.
static LogicalResult runTraining(ModuleOp module) {
  for (auto step : module.getOps<StepOp>())
    warnOfUnpriced(step);
  FailureOr<TrainingPrediction> training =
      predictTraining(module, strategyOption, iterationsOption);
  if (failed(training))
    return failure();
  return writeTo(output, [&](llvm::raw_ostream &os) {
    if (jsonOption)
      os << llvm::formatv("{0:2}\n", llvm::json::Value(toJson(*training)));
    else
      printTraining(*training, os);
  });
}

/// The strategies to compare; an error if one does not exist.
static FailureOr<SmallVector<std::string>> comparedStrategies() {
  SmallVector<StrategyClass> allowed(allowOption.begin(), allowOption.end());
  if (allowed.empty())
    allowed.push_back(StrategyClass::Lossless);
  SmallVector<std::string> names;
  if (!compareOption.empty())
    names = splitStrategies(compareOption);
  else
    for (const Strategy &strategy : getStrategies())
      if (strategy.use != Strategy::Use::Explicit &&
          llvm::is_contained(allowed, strategy.strategyClass))
        names.push_back(std::string(strategy.name));
  if (names.empty())
    return fail("expected --allow with a class of at least one strategy");
  for (const std::string &name : names)
    if (auto pipeline = expandStrategy(name); !pipeline)
      return fail(llvm::toString(pipeline.takeError()));
  return names;
}

static LogicalResult runSweep(ModuleOp module, ArrayRef<std::string> names) {
  FailureOr<Sweep> found = sweep(module, sweepOption, names);
  if (failed(found))
    return failure();
  if (!plotOption.empty() &&
      failed(writeTo(plotOption,
                     [&](llvm::raw_ostream &os) { os << pageOf(*found); })))
    return failure();
  return writeTo(output, [&](llvm::raw_ostream &os) {
    if (jsonOption)
      os << llvm::formatv("{0:2}\n", llvm::json::Value(toJson(*found)));
    else
      printSweep(*found, os);
  });
}

static LogicalResult runAll(ModuleOp module, const BoundReport &bounded,
                            ArrayRef<std::string> names) {
  std::vector<Prediction> predictions;
  // A person who waits sees a line a second; a log gets none.
  bool isWatched = llvm::errs().is_displayed();
  using Clock = std::chrono::steady_clock;
  Clock::time_point next = Clock::now() + std::chrono::seconds(1);
  for (const std::string &name : names) {
    if (isWatched && Clock::now() >= next) {
      next = Clock::now() + std::chrono::seconds(1);
      llvm::errs() << llvm::formatv("bagua-sim: {0} of {1} strategies\n",
                                    predictions.size(), names.size())
                          .str();
    }
    predictions.push_back(predict(module, name));
    // A table needs only the numbers.
    predictions.back().tasks = {};
    predictions.back().module = nullptr;
  }
  return writeTo(output, [&](llvm::raw_ostream &os) {
    if (!jsonOption)
      return printTable(predictions, bounded, os);
    llvm::json::Array list;
    for (const Prediction &prediction : predictions)
      list.push_back(toJson(prediction, bounded));
    os << llvm::formatv("{0:2}\n", llvm::json::Value(llvm::json::Object{
                                       {"strategies", std::move(list)}}));
  });
}

/// Prints a row for each strategy: its class, its source, and its options with
/// defaults.
static LogicalResult listStrategies() {
  return writeTo(output, [](llvm::raw_ostream &os) {
    auto view = [](std::string_view text) {
      return StringRef(text.data(), text.size());
    };
    os << "| strategy | class | what it is | options |\n|---|---|---|---|\n";
    for (const Strategy &strategy : getStrategies()) {
      SmallVector<std::string> options;
      for (const StrategyOption &option : strategy.options)
        options.push_back(("`" + view(option.name) + "=" +
                           print(settingsOf(strategy), option.setting) + "`")
                              .str());
      os << "| `" << view(strategy.name) << "` | "
         << view(wordOf(strategy.strategyClass)) << " | "
         << view(strategy.paper) << " | " << llvm::join(options, ", ")
         << " |\n";
    }
  });
}

/// Checks that options that go together come together, and no others.
static LogicalResult checkOptions() {
  bool compares = compareOption.getNumOccurrences() > 0;
  if (strategyOption.empty() != compares)
    return fail("expected --strategy=NAME or --compare");
  if (compares && !(traceOption.empty() && timelineOption.empty()))
    return fail("expected --trace and --timeline with --strategy only");
  if (!runOption.empty() && timelineOption.empty())
    return fail("expected --run with --timeline only");
  if (!allowOption.empty() && (!compares || !compareOption.empty()))
    return fail("expected --allow only with --compare without names");
  bool sweeps = sweepOption.getNumOccurrences() > 0;
  if (sweeps && !compares)
    return fail("expected --sweep with --compare only");
  if (!sweeps && !plotOption.empty())
    return fail("expected --plot with --sweep only");
  // They are counted one by one.
  constexpr int64_t kMostIterations = 100000000;
  if (iterationsOption.getNumOccurrences() > 0 &&
      (iterationsOption <= 0 || iterationsOption > kMostIterations))
    return fail("expected --iterations from 1 to 100000000");
  return success();
}

static LogicalResult run() {
  if (listOption && (!strategyOption.empty() ||
                     compareOption.getNumOccurrences() > 0 || jsonOption))
    return fail("expected --list-strategies by itself");
  if (listOption)
    return listStrategies();
  if (failed(checkOptions()))
    return failure();
  bool compares = compareOption.getNumOccurrences() > 0;
  DialectRegistry registry;
  registry.insert<BaguaDialect>();
  MLIRContext context(registry);
  context.printOpOnDiagnostic(false);
  std::string message;
  auto file = openInputFile(input, &message);
  if (!file)
    return fail(message);
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(file), llvm::SMLoc());
  SourceMgrDiagnosticHandler handler(sources, &context);
  auto module = parseSourceFile<ModuleOp>(sources, &context);
  if (!module)
    return failure();
  auto cluster = readCluster(clusterOption, &context);
  if (failed(cluster))
    return failure();
  if (cluster->op && failed(retarget(*module, cluster->op)))
    return failure();
  // Pages and traces show one step.
  bool isOfOneStep = llvm::hasSingleElement(module->getOps<StepOp>());
  if (!isOfOneStep && !compares && traceOption.empty() &&
      timelineOption.empty())
    return runTraining(*module);
  if (iterationsOption > 0)
    return fail("expected --iterations for a training of several steps, with "
                "--strategy alone: --compare, --trace and --timeline are of "
                "one step");
  FailureOr<SmallVector<std::string>> names = comparedStrategies();
  if (failed(names))
    return failure();
  FailureOr<StepOp> step = getOnlyStep(*module);
  if (failed(step))
    return failure();
  warnOfUnpriced(*step);
  if (sweepOption.getNumOccurrences() > 0)
    return runSweep(*module, *names);
  auto bounded = bound(*module);
  if (failed(bounded))
    return failure();
  return compares ? runAll(*module, *bounded, *names)
                  : runOne(*module, *bounded);
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  llvm::cl::HideUnrelatedOptions(category);
  llvm::cl::SetVersionPrinter([](llvm::raw_ostream &os) {
    os << "bagua-sim " << BAGUA_VERSION << "\n";
  });
  llvm::cl::ParseCommandLineOptions(
      argc, argv,
      "bagua-sim: predicts how long a step takes by a strategy\n\n"
      "  bagua-sim step.mlir --strategy=ddp --cluster=v100-nvlink-100g\n"
      "  bagua-sim step.mlir --compare --json\n"
      "  bagua-sim step.mlir --compare=ddp,byteps --sweep=bandwidth "
      "--plot=sweep.html\n");
  registerBaguaPasses();
  return failed(run()) ? EXIT_FAILURE : EXIT_SUCCESS;
}
