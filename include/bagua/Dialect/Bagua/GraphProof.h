//===- GraphProof.h - The proof of a module at graph level ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What bagua-verify-graph proves (docs/Proofs.md).
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_DIALECT_BAGUA_GRAPHPROOF_H
#define BAGUA_DIALECT_BAGUA_GRAPHPROOF_H

#include "bagua/Dialect/Bagua/Bagua.h"

#include "mlir/IR/BuiltinOps.h"

namespace bagua {

/// All checks for a step (facts, yield, residuals, the program's own
/// communication, pushes, increments, provenance); then, for a training, that
/// no row starts from more agreement than the rows before it have proved, and
/// that residuals and the optimizer's states stay with their gradients.
llvm::LogicalResult verifyGraph(mlir::ModuleOp module);

/// Each residual is added once, by an encode (or by a linear, for PowerSGD), to
/// what is sent, and what is left over is its next value. Emits an error.
llvm::LogicalResult verifyResiduals(StepOp step);

/// Of a residual that has passed verifyResiduals, the value whose error it is.
mlir::Value getFedBack(mlir::BlockArgument residual);

/// No compute that communicates stands between gradients or states and the next
/// states but buffers. Emits an error. O(ops).
llvm::LogicalResult verifyOwnCommunication(StepOp step,
                                           const FactContext &context);

/// Under asp and ssp no value is computed of two pushes. Emits an error.
llvm::LogicalResult verifyPushes(StepOp step);

/// What `yield add` adds is 0 where all ranks agree. Emits an error.
llvm::LogicalResult verifyIncrements(StepOp step);

} // namespace bagua

#endif // BAGUA_DIALECT_BAGUA_GRAPHPROOF_H
