//===- ProgramUpdates.h - Who runs a step's optimizer ---------------------===//
//
// What the runtime could run and the program runs all the same.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_TRANSFORMS_UTILS_PROGRAMUPDATES_H
#define BAGUA_TRANSFORMS_UTILS_PROGRAMUPDATES_H

#include "bagua/Dialect/Bagua/Bagua.h"
#include "bagua/Scheduling/ClusterModel.h"

namespace bagua {

/// Replaces an update, or other arithmetic on whole tensors, by compute without
/// a duration.
ComputeOp giveToProgram(StepOp step, mlir::Operation *op);

/// Makes compute of the arithmetic on whole tensors that only the program uses:
/// of updates, and of the casts and sums that lead to them, but for casts of
/// the wire. Each op becomes one. Returns how many.
int64_t giveUpdatesToProgram(StepOp step);

/// Gives the program the arithmetic that the runtime can't run between the
/// program's own ops: what only the program can order (findUnorderedWrites),
/// what would keep a promised gradient from it (keepsContract), and what
/// compute of the same step uses and that has no name to be taken by. Returns
/// how many ops, or fails with an error.
llvm::FailureOr<int64_t> giveProgramsOwn(StepOp step,
                                         const ClusterModel &cluster);

} // namespace bagua

#endif // BAGUA_TRANSFORMS_UTILS_PROGRAMUPDATES_H
