//===- ProgramUpdates.h - Who runs a step's optimizer ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gives the program ops that the runtime could run. In a step that runs between
// iterations the program runs nothing.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_TRANSFORMS_BRIDGE_PROGRAMUPDATES_H
#define BAGUA_TRANSFORMS_BRIDGE_PROGRAMUPDATES_H

#include "bagua/Dialect/Bagua/Bagua.h"
#include "bagua/Scheduling/Prices/OpGraph.h"

namespace bagua {

/// Replaces arithmetic on whole tensors whose results only the program uses by
/// compute, one op for each: updates, and the casts and sums that lead to them,
/// but no casts of the wire. Returns the number of ops.
int64_t giveUpdatesToProgram(StepOp step);

/// The graph of a step as it is scheduled, and how many ops were given to the
/// program for it.
struct SharedStep {
  OpGraph graph;
  int64_t given = 0;
  /// The location of an op that the runtime can't run, and a remark that says
  /// why.
  llvm::SmallVector<std::pair<mlir::Location, std::string>> reasons;
};

/// Gives the program the arithmetic that the runtime can't run, or has no
/// reason to run: ops that only the program can order (findProgramsOwn), ops
/// that would keep a promised gradient from the program
/// (ContractTensors::allow), ops whose results the runtime could leave nowhere
/// (whyNotOwned), and ops that belong to no update and whose results only the
/// program gets. Fails with an error if the step can't be priced.
llvm::FailureOr<SharedStep> giveProgramsOwn(StepOp step,
                                            const ClusterModel &cluster);

/// Marks the ops that the program may run in the next step
/// (GraphOp::mayBeLate), as far as the graph can't tell: their operands from
/// the runtime must lie in tensors that the program gives, so that it can still
/// take these back then.
void offerLate(StepOp step, OpGraph &graph);

} // namespace bagua

#endif // BAGUA_TRANSFORMS_BRIDGE_PROGRAMUPDATES_H
