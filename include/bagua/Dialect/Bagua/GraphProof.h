//===- GraphProof.h - The proof of a module at graph level ----------------===//
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
/// communication, provenance); then, for a training, that no row starts from
/// more agreement than the rows before it have proved.
llvm::LogicalResult verifyGraph(mlir::ModuleOp module);

/// Each residual is added once, by an encode (or by a linear, for PowerSGD),
/// and what is left over is its next value. Emits an error.
llvm::LogicalResult verifyResiduals(StepOp step);

/// No compute that communicates stands between gradients or states and the next
/// states but buffers. Emits an error. O(ops).
llvm::LogicalResult verifyOwnCommunication(StepOp step,
                                           const FactContext &context);

} // namespace bagua

#endif // BAGUA_DIALECT_BAGUA_GRAPHPROOF_H
