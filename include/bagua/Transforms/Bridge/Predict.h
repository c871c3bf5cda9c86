//===- Predict.h - The step time that a strategy would reach --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiles a copy of a step by a strategy and simulates the result. The given
// module is not changed.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_TRANSFORMS_BRIDGE_PREDICT_H
#define BAGUA_TRANSFORMS_BRIDGE_PREDICT_H

#include "bagua/Scheduling/Prices/Simulator.h"
#include "bagua/Scheduling/Search/Strategy.h"
#include "bagua/Transforms/Bridge/BoundReader.h"
#include "bagua/Transforms/Bridge/OpGraphReader.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <set>

namespace bagua {

struct Prediction {
  /// The given text: NAME or NAME{option=value ...}.
  std::string strategy;
  /// Why there is no prediction; the rest is empty then.
  std::string refusal;

  double stepNs = 0;
  double computeNs = 0;
  double exposedNs = 0;
  /// The time of all updates, the program's and the runtime's, one after the
  /// other.
  double updatesNs = 0;
  /// The sides that run updates in the compiled step. They may differ from the
  /// sides that were asked for.
  std::set<UpdatesBy> updatesBy;
  double bytesSent = 0;
  int64_t peakBytes = 0;
  /// `compute`, or the busiest link.
  std::string bindingResource;
  double bindingUtilisation = 0;

  /// The scheduled step, its tasks, and how they ran.
  mlir::OwningOpRef<mlir::ModuleOp> module;
  ScheduledTasks tasks;
  Simulation simulation;
  ClusterModel cluster;
};

/// Predicts the module's only step. If the strategy refuses the step or doesn't
/// exist, the prediction has a refusal; nothing is emitted.
Prediction predict(mlir::ModuleOp module, llvm::StringRef strategy);

/// Simulates a scheduled step; the prediction has numbers only. Fails if the
/// step has no tasks; nothing is emitted.
llvm::FailureOr<Prediction> predictScheduled(StepOp step);

/// Emits a warning that names the parts of a step that have no price and count
/// as nothing: compute without a time, and, if the cluster has no device,
/// launches and the runtime's local work. Each command that predicts calls this
/// once.
void warnOfUnpriced(StepOp step);

/// The bound that no lossless strategy can beat on the module's only step.
/// bound() emits errors.
struct BoundReport {
  NamedBoundProblem step;
  LowerBound bound;
  /// `compute`, `links along node`, `cycle of 'conv1'`.
  std::string binding;
};
llvm::FailureOr<BoundReport> bound(mlir::ModuleOp module);

} // namespace bagua

#endif // BAGUA_TRANSFORMS_BRIDGE_PREDICT_H
