//===- ProgramOps.h - Arithmetic that becomes the program's ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Replaces structured ops by compute.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_TRANSFORMS_ALGORITHMS_PROGRAMOPS_H
#define BAGUA_TRANSFORMS_ALGORITHMS_PROGRAMOPS_H

#include "bagua/Dialect/Bagua/Bagua.h"

namespace bagua {

/// Replaces an update, or other arithmetic on whole tensors, by compute without
/// a duration.
ComputeOp giveToProgram(StepOp step, mlir::Operation *op);

/// Does the same, and sets the duration on the cluster's device, if there is
/// one.
ComputeOp giveTimed(StepOp step, mlir::Operation *op);

} // namespace bagua

#endif // BAGUA_TRANSFORMS_ALGORITHMS_PROGRAMOPS_H
