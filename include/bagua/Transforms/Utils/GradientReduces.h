//===- GradientReduces.h - Which values are gradients on their way --------===//
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

/// A gradient's all_reduce and when its operand is there.
struct GradientReduce {
  AllReduceOp op;
  int64_t readyNs;
};

/// The all_reduces of whole gradients that may share buckets, by readiness; the
/// program runs its compute in block order, one op after the other.
llvm::SmallVector<GradientReduce> collectGradientReduces(StepOp step);

/// Which of them may share one. `analysis` must have run on the step.
BucketingProblem readBucketing(llvm::ArrayRef<GradientReduce> reduces,
                               const FactAnalysis &analysis);

} // namespace bagua

#endif // BAGUA_TRANSFORMS_UTILS_GRADIENTREDUCES_H
