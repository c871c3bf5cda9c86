//===- StepQueries.h - What passes ask of a step --------------------------===//
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

/// What is yielded for a state; null for other arguments. O(arguments).
mlir::Value nextValueOf(StepOp step, mlir::BlockArgument argument);

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
