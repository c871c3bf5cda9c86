//===- Updates.h - Who runs a step's optimizer ----------------------------===//
//
// What the runtime could run and the program runs all the same.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_TRANSFORMS_UPDATES_H
#define BAGUA_TRANSFORMS_UPDATES_H

#include "bagua/Dialect/Bagua/Bagua.h"

namespace bagua {

/// What is yielded for a state; null for other arguments. O(arguments).
mlir::Value nextValueOf(StepOp step, mlir::BlockArgument argument);

/// Replaces an update, or other arithmetic on whole tensors, by compute without
/// a duration.
ComputeOp giveToProgram(StepOp step, mlir::Operation *op);

/// Makes compute of the arithmetic on whole tensors that only the program uses:
/// of updates, and of the casts and sums that lead to them, but for casts of
/// the wire. Each op becomes one. Returns how many.
int64_t giveUpdatesToProgram(StepOp step);

} // namespace bagua

#endif // BAGUA_TRANSFORMS_UPDATES_H
