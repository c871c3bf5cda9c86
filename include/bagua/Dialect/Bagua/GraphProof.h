//===- GraphProof.h - The proof of a module at graph level ----------------===//
//
// What bagua-verify-graph proves (docs/Proofs.md).
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_DIALECT_BAGUA_GRAPHPROOF_H
#define BAGUA_DIALECT_BAGUA_GRAPHPROOF_H

#include "mlir/IR/BuiltinOps.h"

namespace bagua {

/// All checks for a step (facts, yield, provenance); then, for a training, that
/// no row starts from more agreement than the rows before it have proved.
llvm::LogicalResult verifyGraph(mlir::ModuleOp module);

} // namespace bagua

#endif // BAGUA_DIALECT_BAGUA_GRAPHPROOF_H
