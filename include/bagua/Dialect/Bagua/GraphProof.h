//===- GraphProof.h - The proof of a module at graph level ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The checks of bagua-verify-graph (docs/Proofs.md).
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_DIALECT_BAGUA_GRAPHPROOF_H
#define BAGUA_DIALECT_BAGUA_GRAPHPROOF_H

#include "bagua/Dialect/Bagua/Bagua.h"

#include "mlir/IR/BuiltinOps.h"

namespace bagua {

/// Runs all checks on each step (facts, yield, residuals, the program's own
/// communication, pushes, increments, provenance). Then checks each training:
/// no row starts from more agreement than the rows before it have proved, and
/// residuals and the optimizer's states stay with their gradients.
llvm::LogicalResult verifyGraph(mlir::ModuleOp module);

/// Checks residuals: an encode (or a linear, for PowerSGD) adds each one once
/// to the value that is sent, and the part that was not sent is the residual's
/// next value. Emits an error.
llvm::LogicalResult verifyResiduals(StepOp step);

/// The value of whose error a residual consists. The residual must have passed
/// verifyResiduals.
mlir::Value getFedBack(mlir::BlockArgument residual);

/// Checks that no compute that communicates stands between gradients or states
/// and the next states but buffers. Emits an error. O(ops).
llvm::LogicalResult verifyOwnCommunication(StepOp step,
                                           const FactContext &context);

/// Checks that under asp and ssp no value is computed from two pushes. Emits an
/// error.
llvm::LogicalResult verifyPushes(StepOp step);

/// Checks that the increments of `yield add` are 0 where all ranks agree. Emits
/// an error.
llvm::LogicalResult verifyIncrements(StepOp step);

} // namespace bagua

#endif // BAGUA_DIALECT_BAGUA_GRAPHPROOF_H
