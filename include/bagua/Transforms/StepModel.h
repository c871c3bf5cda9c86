//===- StepModel.h - Steps as Scheduling sees them ------------------------===//
//
// Reads clusters and steps into the plain problems of lib/Scheduling: what the
// simulator plays, and what no schedule can beat. The only place that knows
// which op is which collective.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_TRANSFORMS_STEPMODEL_H
#define BAGUA_TRANSFORMS_STEPMODEL_H

#include "bagua/Dialect/Bagua/Bagua.h"
#include "bagua/Scheduling/CollectiveCost.h"
#include "bagua/Scheduling/LowerBound.h"
#include "bagua/Scheduling/StepGraph.h"

#include "mlir/IR/BuiltinOps.h"

namespace bagua {

/// Emits an error where there is none or another.
llvm::FailureOr<StepOp> getOnlyStep(mlir::ModuleOp module);

/// Emits an error where the description doesn't hold together.
llvm::FailureOr<ClusterModel> readClusterModel(ClusterOp cluster);

/// The axes as a set; they exist in the cluster.
AxisSet readAxes(ClusterOp cluster, AxesAttr axes);
/// The set by name, in cluster order.
AxesAttr writeAxes(ClusterOp cluster, AxisSet set);

/// Bytes of whole tensors that an op reads and writes.
int64_t trafficOf(mlir::Operation *op);

/// Where a value of a step lies; null before it has a place.
PlaceAttr getPlace(mlir::Value value);

/// A step at any level, op by op in block order; states are the arguments. What
/// placement has made free costs nothing. Emits an error for what can't be
/// priced: an encoded value.
llvm::FailureOr<StepGraph> readGraph(StepOp step, const ClusterModel &model);

/// A scheduled step and the op of each of its tasks.
struct StepTasks {
  TaskGraph graph;
  std::vector<mlir::Operation *> ops;
  /// What a worker sends in a step.
  double bytesSent = 0;
  /// Of the runtime's arenas.
  int64_t arenaBytes = 0;
};

/// Tasks in block order; waits are operands, also from the previous step. Emits
/// an error for a step that isn't scheduled, and for what readGraph refuses.
llvm::FailureOr<StepTasks> readTasks(StepOp step, const ClusterModel &model);

/// What a graph-level step leaves to decide, after bagua-relax: its compute and
/// its gradients' all_reduces.
struct StepBound {
  BoundProblem problem;
  /// The params of `problem.gradients`.
  std::vector<mlir::StringAttr> params;
};
llvm::FailureOr<StepBound> readBound(StepOp step);

} // namespace bagua

#endif // BAGUA_TRANSFORMS_STEPMODEL_H
