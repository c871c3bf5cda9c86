//===- ProgramUpdates.h - Who runs a step's optimizer ---------------------===//
//
// What the runtime could run and the program runs all the same.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_TRANSFORMS_UTILS_PROGRAMUPDATES_H
#define BAGUA_TRANSFORMS_UTILS_PROGRAMUPDATES_H

#include "bagua/Dialect/Bagua/Bagua.h"

namespace bagua {

/// Replaces an update, or other arithmetic on whole tensors, by compute without
/// a duration.
ComputeOp giveToProgram(StepOp step, mlir::Operation *op);

/// Makes compute of the arithmetic on whole tensors that only the program uses:
/// of updates, and of the casts and sums that lead to them, but for casts of
/// the wire. Each op becomes one. Returns how many.
int64_t giveUpdatesToProgram(StepOp step);

} // namespace bagua

#endif // BAGUA_TRANSFORMS_UTILS_PROGRAMUPDATES_H
