//===- GradientReduces.h - Which values are gradients on their way --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Answers that all passes which change how gradients travel must share.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_TRANSFORMS_ALGORITHMS_GRADIENTREDUCES_H
#define BAGUA_TRANSFORMS_ALGORITHMS_GRADIENTREDUCES_H

#include "bagua/Dialect/Bagua/FactAnalysis.h"
#include "bagua/Scheduling/Search/Bucketing.h"

namespace bagua {

/// Whether a value is a gradient, or a bucket, part, cast or reduce_scatter of
/// gradients alone.
bool isOfGradients(mlir::Value value);

/// Whether the form of an all_reduce can be decided: each rank of its group has
/// the tensor, the op asks for no codec, and it does not reduce norms.
bool canTakeForm(AllReduceOp reduce);

/// Whether float32 gradients may be narrowed for this all_reduce: only the
/// runtime sees them while they travel.
bool canNarrow(AllReduceOp reduce);

/// The all_reduces of statistics: of values that compute makes for them alone,
/// if nothing that a gradient is computed from waits for the result (the
/// running means of batch normalisation, a loss). In a step without gradients,
/// those that lead to a state and to no other reduction. In block order.
/// O(ops).
llvm::SmallVector<AllReduceOp> findStatistics(StepOp step);

/// The all_reduce of a gradient or statistic, and when its operand is ready.
struct GradientReduce {
  AllReduceOp op;
  int64_t readyNs;
};

/// The all_reduces of whole gradients and statistics that may share buckets, by
/// readiness. The program runs its compute in block order, one op after the
/// other.
llvm::SmallVector<GradientReduce> collectGradientReduces(StepOp step);

/// All other all_reduces that can take a form, in block order.
llvm::SmallVector<AllReduceOp>
collectOtherReduces(StepOp step, llvm::ArrayRef<GradientReduce> reduces);

/// Which of `reduces` may share a bucket. `analysis` must have run on the step.
BucketingProblem readBucketing(llvm::ArrayRef<GradientReduce> reduces,
                               const FactAnalysis &analysis);

} // namespace bagua

#endif // BAGUA_TRANSFORMS_ALGORITHMS_GRADIENTREDUCES_H
