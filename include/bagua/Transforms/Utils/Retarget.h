//===- Retarget.h - A step on another cluster -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plans for machines other than those a step was imported for.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_TRANSFORMS_UTILS_RETARGET_H
#define BAGUA_TRANSFORMS_UTILS_RETARGET_H

#include "bagua/Dialect/Bagua/Bagua.h"

#include "mlir/IR/BuiltinOps.h"

namespace bagua {

/// Replaces the cluster of all steps of a module. A step that treats the ranks
/// as one group runs on any cluster; the axes of another are laid on those of a
/// cluster of as many ranks, which are cut where a part of them is told apart.
/// Emits an error that says both where they can't be. Durations by the roofline
/// of another device are dropped.
llvm::LogicalResult retarget(mlir::ModuleOp module, ClusterOp cluster);

} // namespace bagua

#endif // BAGUA_TRANSFORMS_UTILS_RETARGET_H
