//===- Predict.h - What a strategy would reach ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiles a step by a strategy and simulates what comes out. The module that
// was given stays as it is.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_TRANSFORMS_UTILS_PREDICT_H
#define BAGUA_TRANSFORMS_UTILS_PREDICT_H

#include "bagua/Scheduling/Simulator.h"
#include "bagua/Scheduling/Strategy.h"
#include "bagua/Transforms/Utils/BoundReader.h"
#include "bagua/Transforms/Utils/OpGraphReader.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <set>

namespace bagua {

struct Prediction {
  /// As it was given: NAME or NAME{option=value ...}.
  std::string strategy;
  /// Why there is no prediction; the rest is empty then.
  std::string refusal;

  double stepNs = 0;
  double computeNs = 0;
  double exposedNs = 0;
  /// Of updates, the program's and the runtime's, one after the other.
  double updatesNs = 0;
  /// Who runs them in the compiled step, whatever was asked for.
  std::set<UpdatesBy> updatesBy;
  double bytesSent = 0;
  int64_t peakBytes = 0;
  /// `compute`, or the link that is busiest.
  std::string bindingResource;
  double bindingUtilisation = 0;

  /// The scheduled step, its tasks, and how they ran.
  mlir::OwningOpRef<mlir::ModuleOp> module;
  ScheduledTasks tasks;
  Simulation simulation;
  ClusterModel cluster;
};

/// The module's only step. A strategy that refuses it, and one that isn't
/// there, is a prediction with a refusal; nothing is emitted.
Prediction predict(mlir::ModuleOp module, llvm::StringRef strategy);

/// Simulates a step that is scheduled and gives the numbers alone. Fails where
/// the step has no tasks; nothing is emitted.
llvm::FailureOr<Prediction> predictScheduled(StepOp step);

/// A warning that names what of a step has no price: compute without a
/// time, and, where the cluster has no device, launches and the runtime's local
/// work. Whatever predicts says so once; all of that counts as nothing.
void warnOfUnpriced(StepOp step);

/// What no lossless strategy can beat on the module's only step. Emits errors.
struct BoundReport {
  NamedBoundProblem step;
  LowerBound bound;
  /// `compute`, `links along node`, `cycle of 'conv1'`.
  std::string binding;
};
llvm::FailureOr<BoundReport> bound(mlir::ModuleOp module);

} // namespace bagua

#endif // BAGUA_TRANSFORMS_UTILS_PREDICT_H
