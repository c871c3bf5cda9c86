//===- CuttableUpdates.h - Updates that can run part by part --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds updates of whole params that may run between the halves of the
// gradient's all_reduce, with each rank updating its part.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_TRANSFORMS_ALGORITHMS_CUTTABLEUPDATES_H
#define BAGUA_TRANSFORMS_ALGORITHMS_CUTTABLEUPDATES_H

#include "bagua/Transforms/Algorithms/Contract.h"
#include "bagua/Transforms/Utils/StepQueries.h"

namespace bagua {

/// The only user of a value; null if there are more or none.
mlir::Operation *onlyUserOf(mlir::Value value);

/// An update and, if it scales a direction by norms, the ops that make these.
struct UpdateOps {
  StepOpInterface update;
  /// Null without norms.
  DirectionOp direction;
  SquaredNormOp paramNorm, directionNorm;

  bool hasNorms() const { return direction != nullptr; }
  mlir::Value gradient() { return update->getOperand(update.getStateCount()); }
};

class CuttableUpdates {
public:
  explicit CuttableUpdates(StepOp step)
      : step(step), states(step.getStateArguments()), contract(step),
        next(step) {}

  /// The update that alone uses a gradient, besides its direction, if each rank
  /// can run it on its part: it is elementwise but for norms, and its moments
  /// belong to it alone, so that they may stay parts for good. Nothing if there
  /// is none.
  std::optional<UpdateOps> find(mlir::Value gradient) const;

private:
  bool canCut(const UpdateOps &ops, mlir::Value gradient) const;

  StepOp step;
  llvm::SmallVector<unsigned> states;
  ContractTensors contract;
  NextValues next;
};

} // namespace bagua

#endif // BAGUA_TRANSFORMS_ALGORITHMS_CUTTABLEUPDATES_H
