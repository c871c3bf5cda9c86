//===- StepQueries.h - Questions that passes ask of a step ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Questions to which all passes need the same answer.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_TRANSFORMS_UTILS_STEPQUERIES_H
#define BAGUA_TRANSFORMS_UTILS_STEPQUERIES_H

#include "bagua/Dialect/Bagua/Bagua.h"

#include "mlir/IR/BuiltinOps.h"

#include <optional>
#include <string>

namespace bagua {

/// Emits and returns an error if `wrong` has a text. A fault that Scheduling's
/// `check` or `verify` finds is a fault of the compiler, in every build type.
llvm::LogicalResult expectSound(mlir::Operation *op,
                                const std::optional<std::string> &wrong);

/// Emits an error if the module has no step, or several.
llvm::FailureOr<StepOp> getOnlyStep(mlir::ModuleOp module);

/// The yielded value of each state. Changes of the yield's operands are seen as
/// long as the step's arguments stay.
class NextValues {
public:
  /// O(arguments).
  explicit NextValues(StepOp step);
  /// Null for an argument that is no state.
  mlir::Value of(mlir::BlockArgument argument) const;

private:
  StepOp step;
  /// By argument: the index of the yield's operand; -1 for none.
  llvm::SmallVector<int32_t, 0> operands;
};

/// The place of a value of a step; null before it has one.
PlaceAttr getPlace(mlir::Value value);

/// Whether every rank stores a value of the type, or a part of it: no entry of
/// its layout leaves the value to some ranks alone.
bool hasPartOnEveryRank(mlir::RankedTensorType type);

/// Whether the type is that of a tensor of which every rank stores all.
bool isWhole(mlir::Type type);

/// The axes that any of the lists has, in the order of the step's cluster; null
/// if there are none. A list may be null.
AxesAttr joinAxes(StepOp step, llvm::ArrayRef<AxesAttr> lists);

/// Bytes of whole tensors that an op reads and writes.
int64_t trafficOf(mlir::Operation *op);

} // namespace bagua

#endif // BAGUA_TRANSFORMS_UTILS_STEPQUERIES_H
