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

class CuttableUpdates {
public:
  explicit CuttableUpdates(StepOp step)
      : step(step), states(step.getStateArguments()), contract(step),
        next(step) {}

  /// Whether an op is an elementwise update by a gradient, and its moments
  /// belong to it alone, so that they may stay parts for good.
  bool canCut(mlir::Operation *update, mlir::Value gradient) const;

private:
  StepOp step;
  llvm::SmallVector<unsigned> states;
  ContractTensors contract;
  NextValues next;
};

} // namespace bagua

#endif // BAGUA_TRANSFORMS_ALGORITHMS_CUTTABLEUPDATES_H
