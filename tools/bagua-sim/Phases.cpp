//===- Phases.cpp - A training of several steps, predicted ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The compilation of a module, the walk over its phase table, and both outputs.
//
//===----------------------------------------------------------------------===//
#include "Phases.h"

#include "bagua/Transforms/Bridge/StrategyPipeline.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using namespace mlir;
using namespace bagua;

static std::string sayWhen(PhaseOp phase) {
  if (phase.getAtStart())
    return "at_start";
  if (std::optional<int64_t> iteration = phase.getIteration())
    return llvm::formatv("at {0}", *iteration).str();
  if (std::optional<uint64_t> until = phase.getUntil())
    return llvm::formatv("until {0}", *until).str();
  if (std::optional<uint64_t> every = phase.getEvery())
    return llvm::formatv("every {0} offset {1}", *every, *phase.getOffset())
        .str();
  if (std::optional<uint64_t> ns = phase.getBackgroundNs())
    return llvm::formatv("background_ns {0}", *ns).str();
  return "otherwise";
}

/// Whether a foreground row matches an iteration.
static bool matches(PhaseOp phase, uint64_t iteration) {
  if (std::optional<uint64_t> until = phase.getUntil())
    return iteration < *until;
  if (std::optional<uint64_t> every = phase.getEvery())
    return iteration % *every == *phase.getOffset();
  return phase.matchesAlways();
}

/// How often each row runs in the first iterations. The last foreground row
/// matches always, so each iteration has a row.
static void countRuns(ArrayRef<PhaseOp> rows, TrainingPrediction &training) {
  for (auto [row, phase] : llvm::zip_equal(rows, training.phases)) {
    PhaseOp op = row;
    std::optional<int64_t> iteration = op.getIteration();
    if (!op.isBackground())
      phase.runs = iteration && *iteration < training.iterations ? 1 : 0;
  }
  for (int64_t iteration = 0; iteration < training.iterations; ++iteration) {
    const auto *row = llvm::find_if(rows, [&](PhaseOp phase) {
      return matches(phase, static_cast<uint64_t>(iteration));
    });
    ++*training.phases[row - rows.begin()].runs;
  }
}

FailureOr<TrainingPrediction> bagua::predictTraining(ModuleOp module,
                                                     StringRef strategy,
                                                     int64_t iterations) {
  auto trainings = llvm::to_vector(module.getOps<TrainingOp>());
  if (trainings.size() != 1)
    return module.emitError()
           << "expected a module with one bagua.step or one bagua.training, "
              "found "
           << llvm::range_size(module.getOps<StepOp>()) << " steps and "
           << trainings.size() << " trainings";
  llvm::Expected<std::string> pipeline = expandStrategy(strategy);
  if (!pipeline)
    return module.emitError() << llvm::toString(pipeline.takeError());
  OwningOpRef<ModuleOp> compiled = module.clone();
  PassManager manager(module.getContext());
  if (failed(parsePassPipeline(*pipeline, manager)) ||
      failed(manager.run(*compiled)))
    return failure();
  TrainingOp training = *compiled->getOps<TrainingOp>().begin();
  TrainingPrediction result{training.getSymName().str(), iterations, {}};
  auto rows = llvm::to_vector(training.getBody().front().getOps<PhaseOp>());
  for (PhaseOp row : rows) {
    StepOp step = row.lookupStep();
    FailureOr<Prediction> prediction = predictScheduled(step);
    if (failed(prediction))
      return step.emitError() << "can't be simulated";
    auto own = step->getAttrOfType<StringAttr>("bagua.strategy");
    result.phases.push_back({step.getSymName().str(), sayWhen(row),
                             own ? own.str() : strategy.str(),
                             std::move(*prediction), std::nullopt});
  }
  countRuns(rows, result);
  return result;
}

/// The time of all iterations without what background rows add.
static double totalNs(const TrainingPrediction &training) {
  double ns = 0;
  for (const PhasePrediction &phase : training.phases)
    ns += static_cast<double>(phase.runs.value_or(0)) * phase.prediction.stepNs;
  return ns;
}

void bagua::printTraining(const TrainingPrediction &training,
                          llvm::raw_ostream &os) {
  bool counts = training.iterations > 0;
  auto rowOf = [](const PhasePrediction &phase) {
    return "@" + phase.step + " " + phase.when;
  };
  size_t width = 3;
  for (const PhasePrediction &phase : training.phases)
    width = std::max(width, rowOf(phase).size());
  os << "training       @" << training.training << "\n"
     << llvm::left_justify("row", width) << (counts ? "        runs" : "")
     << "     step ms  exposed ms   sent MiB   peak MiB  strategy\n";
  for (const PhasePrediction &phase : training.phases) {
    const Prediction &prediction = phase.prediction;
    os << llvm::left_justify(rowOf(phase), width);
    if (counts)
      os << llvm::right_justify(phase.runs ? std::to_string(*phase.runs) : "-",
                                12);
    os << llvm::formatv(
        "{0,12:F3}{1,12:F3}{2,11:F1}{3,11:F1}  {4}\n", prediction.stepNs * 1e-6,
        prediction.exposedNs * 1e-6, prediction.bytesSent / (1 << 20),
        static_cast<double>(prediction.peakBytes) / (1 << 20), phase.strategy);
  }
  if (counts)
    os << llvm::formatv("{0} iterations take {1:F3} ms\n", training.iterations,
                        totalNs(training) * 1e-6);
}

llvm::json::Object bagua::toJson(const TrainingPrediction &training) {
  llvm::json::Array phases;
  for (const PhasePrediction &phase : training.phases) {
    const Prediction &prediction = phase.prediction;
    llvm::json::Object row{
        {"step", phase.step},
        {"when", phase.when},
        {"strategy", phase.strategy},
        {"step_ns", std::llround(prediction.stepNs)},
        {"exposed_communication_ns", std::llround(prediction.exposedNs)},
        {"bytes_sent", std::llround(prediction.bytesSent)},
        {"peak_bytes", prediction.peakBytes}};
    if (training.iterations > 0 && phase.runs)
      row["runs"] = *phase.runs;
    phases.push_back(std::move(row));
  }
  llvm::json::Object object{{"training", training.training},
                            {"phases", std::move(phases)}};
  if (training.iterations > 0) {
    object["iterations"] = training.iterations;
    object["total_ns"] = std::llround(totalNs(training));
  }
  return object;
}
