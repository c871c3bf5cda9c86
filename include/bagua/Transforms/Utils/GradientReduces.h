//===- GradientReduces.h - Which values are gradients on their way --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What passes that change how gradients travel agree on.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_TRANSFORMS_UTILS_GRADIENTREDUCES_H
#define BAGUA_TRANSFORMS_UTILS_GRADIENTREDUCES_H

#include "bagua/Dialect/Bagua/FactAnalysis.h"
#include "bagua/Scheduling/Bucketing.h"

namespace bagua {

/// Whether a value is a gradient, or a bucket, part, cast or reduce_scatter of
/// gradients alone.
bool isOfGradients(mlir::Value value);

/// Whether an all_reduce is of a tensor that each rank of its group has, and
/// asks for no codec: its form can be decided.
bool canTakeForm(AllReduceOp reduce);

/// Whether it is of float32 gradients that nobody but the runtime sees on their
/// way, so that a narrower type may stand for them.
bool canNarrow(AllReduceOp reduce);

/// The all_reduces of statistics: of what compute makes for them alone, where
/// nothing that a gradient is computed from waits for the result (the running
/// means of batch normalisation, a loss). None where there are no gradients. In
/// block order. O(ops).
llvm::SmallVector<AllReduceOp> findStatistics(StepOp step);

/// A gradient's or statistic's all_reduce and when its operand is there.
struct GradientReduce {
  AllReduceOp op;
  int64_t readyNs;
};

/// The all_reduces of whole gradients and statistics that may share buckets, by
/// readiness; the program runs its compute in block order, one op after the
/// other.
llvm::SmallVector<GradientReduce> collectGradientReduces(StepOp step);

/// All other all_reduces that can take a form, in block order.
llvm::SmallVector<AllReduceOp>
collectOtherReduces(StepOp step, llvm::ArrayRef<GradientReduce> reduces);

/// Which of `reduces` may share a bucket. `analysis` must have run on the step.
BucketingProblem readBucketing(llvm::ArrayRef<GradientReduce> reduces,
                               const FactAnalysis &analysis);

} // namespace bagua

#endif // BAGUA_TRANSFORMS_UTILS_GRADIENTREDUCES_H
