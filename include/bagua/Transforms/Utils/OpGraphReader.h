//===- OpGraphReader.h - Steps as index arrays ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From the IR to what the simulator plays.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_TRANSFORMS_UTILS_OPGRAPHREADER_H
#define BAGUA_TRANSFORMS_UTILS_OPGRAPHREADER_H

#include "bagua/Dialect/Bagua/Bagua.h"
#include "bagua/Scheduling/OpGraph.h"

namespace bagua {

/// A step at any level, op by op in block order; states are the arguments. What
/// placement has made free costs nothing. Emits an error for what can't be
/// priced: an encoded value.
llvm::FailureOr<OpGraph> readGraph(StepOp step, const ClusterModel &model);

/// The states whose old value becomes another's next one, and those others.
class KeptStates {
public:
  explicit KeptStates(StepOp step);
  /// Whether an op reads or makes one: it then has to run in its own step.
  bool isTouchedBy(mlir::Operation *op) const;

private:
  llvm::DenseSet<mlir::Value> states;
  llvm::DenseSet<mlir::Operation *> makers;
};

/// The same without prices, for questions of data flow.
OpGraph readDataFlow(StepOp step);

/// A scheduled step and the op of each of its tasks.
struct ScheduledTasks {
  TaskGraph graph;
  std::vector<mlir::Operation *> ops;
  /// By rank 0 in a step.
  double bytesSent = 0;
  /// Of the runtime's arenas.
  int64_t arenaBytes = 0;
};

/// Tasks in block order, late ones where they run; waits are operands, also
/// from the previous step. Emits an error for a step that isn't scheduled, and
/// for what readGraph refuses.
llvm::FailureOr<ScheduledTasks> readTasks(StepOp step,
                                          const ClusterModel &model);

} // namespace bagua

#endif // BAGUA_TRANSFORMS_UTILS_OPGRAPHREADER_H
