//===- ProgramUpdates.h - Who runs a step's optimizer ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the runtime could run and the program runs all the same.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_TRANSFORMS_UTILS_PROGRAMUPDATES_H
#define BAGUA_TRANSFORMS_UTILS_PROGRAMUPDATES_H

#include "bagua/Dialect/Bagua/Bagua.h"
#include "bagua/Scheduling/OpGraph.h"

namespace bagua {

/// Replaces an update, or other arithmetic on whole tensors, by compute without
/// a duration.
ComputeOp giveToProgram(StepOp step, mlir::Operation *op);

/// The same with the duration that the cluster's device would need, if it has
/// one.
ComputeOp giveTimed(StepOp step, mlir::Operation *op);

/// Makes compute of the arithmetic on whole tensors that only the program uses:
/// of updates, and of the casts and sums that lead to them, but for casts of
/// the wire. Each op becomes one. Returns how many.
int64_t giveUpdatesToProgram(StepOp step);

/// A step as it is scheduled, and how many ops were given to the program for
/// it.
struct SharedStep {
  OpGraph graph;
  int64_t given = 0;
  /// Where an op can't be the runtime's, and a remark that says why.
  llvm::SmallVector<std::pair<mlir::Location, std::string>> reasons;
};

/// Gives the program the arithmetic that the runtime can't run, or has no
/// reason to: what only the program can order (findProgramsOwn), what would
/// keep a promised gradient from it (ContractTensors::allow), what the runtime
/// could leave nowhere (whyNotOwned), and what has to do with no update and
/// only the program gets. Fails with an error where the step can't be priced.
llvm::FailureOr<SharedStep> giveProgramsOwn(StepOp step,
                                            const ClusterModel &cluster);

/// Marks what the program may run in the next step (GraphOp::mayBeLate), as far
/// as that is not the graph's to say: what it takes from the runtime lies in
/// tensors that it gives, so that it can still take them back then.
void offerLate(StepOp step, OpGraph &graph);

} // namespace bagua

#endif // BAGUA_TRANSFORMS_UTILS_PROGRAMUPDATES_H
