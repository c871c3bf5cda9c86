//===- StepQueries.h - What passes ask of a step --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Questions of which no pass should have an answer of its own.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_TRANSFORMS_UTILS_STEPQUERIES_H
#define BAGUA_TRANSFORMS_UTILS_STEPQUERIES_H

#include "bagua/Dialect/Bagua/Bagua.h"

#include "mlir/IR/BuiltinOps.h"

#include <optional>
#include <string>

namespace bagua {

/// What Scheduling's `check` and `verify` have found is a fault of the
/// compiler: says so and fails. In every build type.
llvm::LogicalResult expectSound(mlir::Operation *op,
                                const std::optional<std::string> &wrong);

/// Emits an error where there is none or another.
llvm::FailureOr<StepOp> getOnlyStep(mlir::ModuleOp module);

/// What is yielded for each state. It follows what becomes of the yield's
/// operands, as long as the step's arguments stay.
class NextValues {
public:
  /// O(arguments).
  explicit NextValues(StepOp step);
  /// Null for an argument that is no state.
  mlir::Value of(mlir::BlockArgument argument) const;

private:
  StepOp step;
  /// By argument: the yield's operand, -1 for none.
  llvm::SmallVector<int32_t, 0> operands;
};

/// Where a value of a step lies; null before it has a place.
PlaceAttr getPlace(mlir::Value value);

/// Whether every rank stores a value of the type, or a part of it that no entry
/// of its layout hides from some ranks.
bool isOnEveryRank(mlir::RankedTensorType type);

/// Whether it is a tensor of which every rank stores all.
bool isWhole(mlir::Type type);

/// Bytes of whole tensors that an op reads and writes.
int64_t trafficOf(mlir::Operation *op);

} // namespace bagua

#endif // BAGUA_TRANSFORMS_UTILS_STEPQUERIES_H
