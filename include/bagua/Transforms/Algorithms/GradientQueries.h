//===- GradientQueries.h - What a step does with its gradients ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which results are gradients, and whether the step reduces them itself.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_TRANSFORMS_ALGORITHMS_GRADIENTQUERIES_H
#define BAGUA_TRANSFORMS_ALGORITHMS_GRADIENTQUERIES_H

#include "bagua/Dialect/Bagua/FactAnalysis.h"
#include "bagua/Transforms/Utils/StepQueries.h"

namespace bagua {

/// The results that are marked as gradients, in block order.
llvm::SmallVector<mlir::OpResult> markedGradients(StepOp step);

/// The axes over which a value is pending, in cluster order; null for none.
AxesAttr pendingAxes(const FactAnalysis &analysis, mlir::Value value);

/// Whether the runtime reduces the value over some of the axes, possibly in a
/// bucket or as another element type.
bool isReducedOver(mlir::Value value, AxesAttr axes);

/// Whether the step itself reduces a gradient, which is then left alone.
bool isReducedByStep(StepOp step, const NextValues &nextValues,
                     const FactAnalysis &analysis, mlir::OpResult gradient,
                     AxesAttr axes);

/// Whether the program gets the reduced gradient in the memory of the one that
/// it gave: the gradient has no other user, nothing is computed from it on the
/// way, it is made whole again if it was reduced in parts, and the step doesn't
/// give the result a name of its own. `over` gets the axes of each reduction
/// that has some.
bool isReducedInPlace(mlir::Value gradient,
                      llvm::SmallVectorImpl<AxesAttr> *over = nullptr);

} // namespace bagua

#endif // BAGUA_TRANSFORMS_ALGORITHMS_GRADIENTQUERIES_H
