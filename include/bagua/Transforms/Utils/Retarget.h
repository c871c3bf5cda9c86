//===- Retarget.h - A step on another cluster -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Moves a step to machines other than those that it was imported for.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_TRANSFORMS_UTILS_RETARGET_H
#define BAGUA_TRANSFORMS_UTILS_RETARGET_H

#include "bagua/Dialect/Bagua/Bagua.h"

#include "mlir/IR/BuiltinOps.h"

namespace bagua {

/// Replaces the cluster of all steps of a module. A step that treats the ranks
/// as one group runs on any cluster. The axes of another step are laid on those
/// of the new cluster, which must have as many ranks; its axes are cut if the
/// step tells parts of them apart. Emits an error that gives both clusters'
/// axes if that is impossible. Durations by the roofline of another device are
/// dropped.
llvm::LogicalResult retarget(mlir::ModuleOp module, ClusterOp cluster);

} // namespace bagua

#endif // BAGUA_TRANSFORMS_UTILS_RETARGET_H
