//===- GradientReduces.cpp - Which values are gradients on their way ------===//
//
// A walk up to the compute that makes them, and what bucketing asks of them.
//
//===----------------------------------------------------------------------===//
#include "bagua/Transforms/Utils/GradientReduces.h"

#include <map>

using namespace mlir;
using namespace bagua;

bool bagua::isOfGradients(Value value) {
  if (getGradientParam(value))
    return true;
  auto op = dyn_cast_or_null<StepOpInterface>(value.getDefiningOp());
  return op && op.carriesGradients() &&
         llvm::all_of(op->getOperands(), isOfGradients);
}

/// Whole tensors that can be reduced where they lie: nobody else uses them, and
/// the result has no memory of its own by a name.
static bool canShare(AllReduceOp reduce) {
  auto type = dyn_cast<RankedTensorType>(reduce.getInput().getType());
  return type && !getLayout(type) && reduce.getInput().hasOneUse() &&
         !reduce.getCodecAttr() && !reduce.getNamesAttr();
}

SmallVector<GradientReduce> bagua::collectGradientReduces(StepOp step) {
  SmallVector<GradientReduce> candidates;
  int64_t now = 0;
  for (auto compute : step.getBody().front().getOps<ComputeOp>()) {
    now += compute.getCostNs().value_or(0);
    for (OpResult result : compute->getResults()) {
      if (!getGradientParam(result))
        continue;
      for (Operation *user : result.getUsers())
        if (auto reduce = dyn_cast<AllReduceOp>(user))
          if (canShare(reduce))
            candidates.push_back({reduce, now});
    }
  }
  return candidates;
}

/// A bucket agrees no better than its worst member, so what is the same along
/// an axis must not share one with what differs there (tensor parallelism).
BucketingProblem bagua::readBucketing(ArrayRef<GradientReduce> candidates,
                                      const FactAnalysis &analysis) {
  BucketingProblem problem;
  std::map<std::tuple<const void *, const void *, const void *, Facts>, int32_t>
      classes;
  for (GradientReduce candidate : candidates) {
    auto type = cast<RankedTensorType>(candidate.op.getInput().getType());
    auto key = std::make_tuple(type.getElementType().getAsOpaquePointer(),
                               candidate.op.getKindAttr().getAsOpaquePointer(),
                               candidate.op.getOverAttr().getAsOpaquePointer(),
                               analysis.factsOf(candidate.op.getInput()));
    int32_t shareClass = classes.try_emplace(key, classes.size()).first->second;
    problem.tensors.push_back(
        {getElementCount(type) * getElementBytes(type.getElementType()),
         candidate.readyNs, shareClass});
  }
  return problem;
}
