//===- OpGraphReader.h - Steps as index arrays ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads the simulator's input from the IR.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_TRANSFORMS_BRIDGE_OPGRAPHREADER_H
#define BAGUA_TRANSFORMS_BRIDGE_OPGRAPHREADER_H

#include "bagua/Dialect/Bagua/Bagua.h"
#include "bagua/Scheduling/Prices/OpGraph.h"

namespace bagua {

/// Reads a step at any level, op by op in block order; its states are the
/// arguments. Ops that placement has made free cost nothing. Emits an error for
/// a value that can't be priced: an encoded one.
llvm::FailureOr<OpGraph> readGraph(StepOp step, const ClusterModel &model);

/// The states whose old value becomes another state's next one, and those
/// others.
class KeptStates {
public:
  explicit KeptStates(StepOp step);
  /// Whether an op reads or makes such a state; the op then has to run in its
  /// own step.
  bool isTouchedBy(mlir::Operation *op) const;

private:
  llvm::DenseSet<mlir::Value> states;
  llvm::DenseSet<mlir::Operation *> makers;
};

/// The graph without prices, for questions of data flow.
OpGraph readDataFlow(StepOp step);

/// A scheduled step and the op of each of its tasks.
struct ScheduledTasks {
  TaskGraph graph;
  std::vector<mlir::Operation *> ops;
  /// The bytes that rank 0 sends in a step.
  double bytesSent = 0;
  /// The bytes of the runtime's arenas.
  int64_t arenaBytes = 0;
};

/// Reads a scheduled step as tasks in block order, with late ones where they
/// run. Tasks wait for their operands, also for those from the previous step.
/// Emits an error for a step that isn't scheduled, and for all that readGraph
/// refuses.
llvm::FailureOr<ScheduledTasks> readTasks(StepOp step,
                                          const ClusterModel &model);

} // namespace bagua

#endif // BAGUA_TRANSFORMS_BRIDGE_OPGRAPHREADER_H
