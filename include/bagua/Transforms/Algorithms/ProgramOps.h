//===- ProgramOps.h - Arithmetic that becomes the program's ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Replaces structured ops by compute.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_TRANSFORMS_ALGORITHMS_PROGRAMOPS_H
#define BAGUA_TRANSFORMS_ALGORITHMS_PROGRAMOPS_H

#include "bagua/Dialect/Bagua/Bagua.h"
#include "bagua/Scheduling/Prices/Roofline.h"

#include <optional>

namespace bagua {

/// Replaces an update, or other arithmetic on whole tensors, by compute without
/// a duration.
ComputeOp giveToProgram(StepOp step, mlir::Operation *op);

/// Does the same, and sets the duration on the cluster's device, if there is
/// one.
ComputeOp giveTimed(StepOp step, mlir::Operation *op);

/// The rates of the device of the step's cluster, if it has one.
std::optional<DeviceRates> ratesOf(StepOp step);

/// The time of an op's flops and bytes, without a launch; 0 without any.
int64_t kernelNsOf(ComputeOp op, const DeviceRates &device);

} // namespace bagua

#endif // BAGUA_TRANSFORMS_ALGORITHMS_PROGRAMOPS_H
