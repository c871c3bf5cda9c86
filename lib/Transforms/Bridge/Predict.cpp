//===- Predict.cpp - The step time that a strategy would reach ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs the pipeline on a copy and simulates the result.
//
//===----------------------------------------------------------------------===//
#include "bagua/Transforms/Bridge/Predict.h"

#include "bagua/Transforms/Bridge/ClusterReader.h"
#include "bagua/Transforms/Bridge/StrategyPipeline.h"
#include "bagua/Transforms/Passes.h"
#include "bagua/Transforms/Utils/Report.h"
#include "bagua/Transforms/Utils/StepQueries.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;
using namespace bagua;

static LogicalResult runPipeline(ModuleOp module, StringRef pipeline) {
  PassManager manager(module.getContext());
  if (failed(parsePassPipeline(pipeline, manager)))
    return failure();
  return manager.run(module);
}

/// Sets the binding resource: the compute stream or the busiest link; on a tie,
/// compute.
static void findBinding(Prediction &prediction) {
  const Simulation &simulation = prediction.simulation;
  double busiest = prediction.computeNs;
  prediction.bindingResource = "compute";
  for (size_t link = 0; link < simulation.linkBusyNs.size(); ++link)
    if (simulation.linkBusyNs[link] > busiest * (1 + 1e-9)) {
      busiest = simulation.linkBusyNs[link];
      prediction.bindingResource =
          linkName(prediction.cluster, static_cast<int32_t>(link));
    }
  prediction.bindingUtilisation =
      simulation.stepNs > 0 ? busiest / simulation.stepNs : 0;
}

/// The side that runs an update; nothing for other ops.
static std::optional<UpdatesBy> updaterOf(Operation *op) {
  if (cast<StepOpInterface>(op).isUpdate())
    return UpdatesBy::Runtime;
  auto compute = dyn_cast<ComputeOp>(op);
  if (!compute || compute.getPhase() != PhaseKind::Update)
    return std::nullopt;
  return compute.getLate() ? UpdatesBy::Late : UpdatesBy::Program;
}

static void sumUpdates(Prediction &prediction) {
  const TaskGraph &graph = prediction.tasks.graph;
  for (int32_t task = 0; task < graph.size(); ++task) {
    std::optional<UpdatesBy> updater = updaterOf(prediction.tasks.ops[task]);
    if (!updater)
      continue;
    prediction.updatesBy.insert(*updater);
    prediction.updatesNs += graph[task].fixedNs;
    if (graph.usesBegin(task) != graph.usesEnd(task))
      prediction.updatesNs += graph.usesBegin(task)->ns; // on a host's cores
  }
}

/// Simulates a scheduled step. Emits errors.
static LogicalResult simulateStep(StepOp step, Prediction &prediction) {
  FailureOr<ClusterModel> cluster = readClusterModel(step.lookupCluster());
  if (failed(cluster))
    return failure();
  FailureOr<ScheduledTasks> tasks = readTasks(step, *cluster);
  if (failed(tasks))
    return failure();
  prediction.cluster = std::move(*cluster);
  prediction.tasks = std::move(*tasks);
  prediction.simulation = simulate(prediction.tasks.graph);
  prediction.stepNs = prediction.simulation.stepNs;
  prediction.exposedNs = prediction.simulation.exposedNs;
  prediction.computeNs = prediction.stepNs - prediction.exposedNs;
  prediction.bytesSent = prediction.tasks.bytesSent;
  prediction.peakBytes = prediction.tasks.arenaBytes;
  return success();
}

FailureOr<Prediction> bagua::predictScheduled(StepOp step) {
  ScopedDiagnosticHandler silence(step.getContext(),
                                  [](Diagnostic &) { return success(); });
  Prediction prediction;
  if (failed(simulateStep(step, prediction)))
    return failure();
  return prediction;
}

Prediction bagua::predict(ModuleOp module, StringRef strategy) {
  Prediction prediction;
  prediction.strategy = strategy.str();
  // The first error is the reason; its notes are dropped. A search's remarks on
  // its progress still reach the user.
  ScopedDiagnosticHandler handler(
      module.getContext(), [&](Diagnostic &diagnostic) {
        if (diagnostic.getSeverity() == DiagnosticSeverity::Remark)
          return failure();
        if (diagnostic.getSeverity() == DiagnosticSeverity::Error &&
            prediction.refusal.empty())
          prediction.refusal = diagnostic.str();
        return success();
      });
  llvm::Expected<std::string> pipeline = expandStrategy(strategy);
  if (!pipeline) {
    prediction.refusal = llvm::toString(pipeline.takeError());
    return prediction;
  }
  prediction.module = module.clone();
  ReportTrial trial(*prediction.module);
  auto refuse = [&] {
    if (prediction.refusal.empty())
      prediction.refusal = "the strategy's pipeline failed";
    prediction.module = nullptr;
  };
  if (failed(runPipeline(*prediction.module, *pipeline))) {
    refuse();
    return prediction;
  }
  FailureOr<StepOp> step = getOnlyStep(*prediction.module);
  if (failed(step) || failed(simulateStep(*step, prediction))) {
    refuse();
    return prediction;
  }
  sumUpdates(prediction);
  findBinding(prediction);
  return prediction;
}

void bagua::warnOfUnpriced(StepOp step) {
  bool hasDevice = static_cast<bool>(step.lookupCluster().getDeviceAttr());
  int64_t count = 0, unknown = 0;
  // A table of layers has measured times for all ops but the optimizer's; they
  // include launches.
  bool isTable = true;
  ComputeOp first;
  for (auto op : step.getBody().front().getOps<ComputeOp>()) {
    ++count;
    isTable &= op.getPhase() == PhaseKind::Update ||
               op.getCostSource() == CostSource::Measured;
    if (op.getCostNs() || (hasDevice && (op.getFlops() || op.getBytes())))
      continue;
    if (unknown++ == 0)
      first = op;
  }
  if (isTable || (unknown == 0 && hasDevice))
    return;
  InFlightDiagnostic warning = step.emitWarning()
                               << "the prediction counts 0 ns for ";
  if (unknown > 0)
    warning << unknown << " of " << count
            << " compute ops, which have no time (the first of them is "
            << stringifyPhaseKind(first.getPhase()) << " \"" << first.getName()
            << "\")" << (hasDevice ? "" : ", and for ");
  if (!hasDevice)
    warning << "launches and the runtime's local work, since cluster '@"
            << step.lookupCluster().getSymName() << "' has no device";
}

FailureOr<BoundReport> bagua::bound(ModuleOp module) {
  OwningOpRef<ModuleOp> copy = module.clone();
  if (failed(runPipeline(*copy, preparationPipeline())))
    return failure();
  FailureOr<StepOp> step = getOnlyStep(*copy);
  if (failed(step))
    return failure();
  FailureOr<NamedBoundProblem> problem = readBound(*step);
  if (failed(problem))
    return failure();
  BoundReport result;
  result.step = std::move(*problem);
  result.bound = lowerBound(result.step.problem);
  switch (result.bound.binding) {
  case LowerBound::Binding::Compute:
    result.binding = "compute";
    break;
  case LowerBound::Binding::Links:
    result.binding = "links along " +
                     result.step.problem.cluster.axes[result.bound.index].name;
    break;
  case LowerBound::Binding::Cycle:
    result.binding =
        "cycle of '" +
        (result.bound.index >= 0 ? result.step.params[result.bound.index].str()
                                 : std::string()) +
        "'";
    break;
  }
  return result;
}
