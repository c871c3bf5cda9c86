//===- GradientReduces.cpp - Which values are gradients on their way ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Walks from a value up to the compute that makes it, and reads what bucketing
// needs.
//
//===----------------------------------------------------------------------===//
#include "bagua/Transforms/Algorithms/GradientReduces.h"

#include "bagua/Dialect/Bagua/Sources.h"
#include "bagua/Transforms/Utils/StepQueries.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/FunctionExtras.h"
#include "llvm/ADT/SmallPtrSet.h"

#include <map>

using namespace mlir;
using namespace bagua;

bool bagua::isOfGradients(Value value) {
  auto visit = [](Value from) {
    if (getGradientParam(from))
      return WalkResult::skip();
    auto op = dyn_cast_or_null<StepOpInterface>(from.getDefiningOp());
    return op && op.carriesGradients() ? WalkResult::advance()
                                       : WalkResult::interrupt();
  };
  return !walkOperands(value, visit).wasInterrupted();
}

/// Whether a value is norms, which are too small for other forms to pay.
static bool isOfNorms(Value value) {
  if (auto concat = value.getDefiningOp<ConcatOp>())
    return llvm::all_of(concat.getInputs(), isOfNorms);
  return value.getDefiningOp<SquaredNormOp>() != nullptr;
}

bool bagua::canTakeForm(AllReduceOp reduce) {
  return !isOfNorms(reduce.getInput()) &&
         reduce.whyNot(Rewriting::Hierarchy).empty() &&
         hasPartOnEveryRank(logicalTensor(reduce.getInput().getType()));
}

bool bagua::canNarrow(AllReduceOp reduce) {
  return reduce.whyNot(Rewriting::Wire).empty() &&
         logicalTensor(reduce.getInput().getType()).getElementType().isF32() &&
         isOfGradients(reduce.getInput());
}

/// Whether a whole tensor can be reduced in its place: it has no other user,
/// and the result has no name, and so no memory, of its own.
static bool canShare(AllReduceOp reduce) {
  return reduce.whyNot(Rewriting::Bucket).empty() &&
         !getLayout(logicalTensor(reduce.getInput().getType())) &&
         reduce.getInput().hasOneUse();
}

/// The ops that lead to an op of which `isEnd` says so. O(ops).
static llvm::DenseSet<Operation *>
leadingTo(StepOp step, llvm::function_ref<bool(Operation *)> isEnd) {
  llvm::DenseSet<Operation *> leading, leadingOrEnd;
  for (Operation &op : llvm::reverse(step.getBody().front())) {
    bool leads = llvm::any_of(op.getUsers(), [&](Operation *user) {
      return leadingOrEnd.contains(user);
    });
    if (leads)
      leading.insert(&op);
    if (leads || isEnd(&op))
      leadingOrEnd.insert(&op);
  }
  return leading;
}

/// Says which reductions the step goes on to compute from. Without gradients,
/// those are gradients' in all but name that lead to a state and to no other
/// reduction.
static llvm::unique_function<bool(AllReduceOp)> findWaitedFor(StepOp step) {
  auto makesGradient = [](Operation *op) {
    return llvm::any_of(op->getResults(), getGradientParam);
  };
  auto ops = llvm::make_pointer_range(step.getBody().front());
  llvm::DenseSet<Operation *> behind;
  if (llvm::any_of(ops, makesGradient)) {
    behind = leadingTo(step, makesGradient);
    return [behind = std::move(behind)](AllReduceOp reduce) {
      return behind.contains(reduce);
    };
  }
  behind = leadingTo(step, llvm::IsaPred<AllReduceOp>);
  llvm::DenseSet<Operation *> ahead = leadingTo(step, llvm::IsaPred<YieldOp>);
  return [behind = std::move(behind),
          ahead = std::move(ahead)](AllReduceOp reduce) {
    return behind.contains(reduce) || !ahead.contains(reduce);
  };
}

SmallVector<AllReduceOp> bagua::findStatistics(StepOp step) {
  auto isWaitedFor = findWaitedFor(step);
  SmallVector<AllReduceOp> statistics;
  for (auto reduce : step.getBody().front().getOps<AllReduceOp>()) {
    Value input = reduce.getInput();
    if (isa_and_nonnull<ComputeOp>(input.getDefiningOp()) &&
        !getGradientParam(input) && canShare(reduce) &&
        !reduce.getOutput().use_empty() && !isWaitedFor(reduce))
      statistics.push_back(reduce);
  }
  return statistics;
}

SmallVector<GradientReduce> bagua::collectGradientReduces(StepOp step) {
  llvm::DenseSet<Operation *> isStatistic;
  for (AllReduceOp reduce : findStatistics(step))
    isStatistic.insert(reduce);
  SmallVector<GradientReduce> candidates;
  int64_t now = 0;
  for (auto compute : step.getBody().front().getOps<ComputeOp>()) {
    now += compute.getCostNs().value_or(0);
    for (OpResult result : compute->getResults())
      for (Operation *user : result.getUsers())
        if (auto reduce = dyn_cast<AllReduceOp>(user))
          if (getGradientParam(result) ? canShare(reduce)
                                       : isStatistic.contains(reduce))
            candidates.push_back({reduce, now});
  }
  return candidates;
}

SmallVector<AllReduceOp>
bagua::collectOtherReduces(StepOp step, ArrayRef<GradientReduce> reduces) {
  llvm::DenseSet<Operation *> isInBucket;
  for (GradientReduce reduce : reduces)
    isInBucket.insert(reduce.op);
  SmallVector<AllReduceOp> others;
  for (auto reduce : step.getBody().front().getOps<AllReduceOp>())
    if (!isInBucket.contains(reduce) && canTakeForm(reduce))
      others.push_back(reduce);
  return others;
}

/// By reduction: the number of other reductions on the longest way to it. A
/// gradient that is computed from the update of another one (a GAN's generator
/// from its discriminator) can't wait for that one in the same bucket; buckets
/// of one depth never wait for each other.
static llvm::DenseMap<Operation *, int32_t>
depthsOf(ArrayRef<GradientReduce> candidates) {
  llvm::DenseMap<Operation *, int32_t> depths;
  if (candidates.empty())
    return depths;
  llvm::SmallPtrSet<Operation *, 32> reductions;
  for (GradientReduce candidate : candidates)
    reductions.insert(candidate.op);
  for (Operation &op : *candidates.front().op->getBlock()) {
    int32_t depth = 0;
    for (Value operand : op.getOperands())
      if (Operation *maker = operand.getDefiningOp())
        depth = std::max(depth, depths.lookup(maker) +
                                    int32_t(reductions.contains(maker)));
    depths[&op] = depth;
  }
  return depths;
}

/// A bucket agrees no better than its worst member, so a gradient on which
/// ranks agree along an axis must not share a bucket with one on which they
/// differ there (tensor parallelism). Gradients and statistics don't share
/// buckets either: a narrower wire and servers are for gradients only.
BucketingProblem bagua::readBucketing(ArrayRef<GradientReduce> candidates,
                                      const FactAnalysis &analysis) {
  BucketingProblem problem;
  llvm::DenseMap<Operation *, int32_t> depths = depthsOf(candidates);
  std::map<std::tuple<const void *, const void *, const void *, Facts, int32_t,
                      bool>,
           int32_t>
      classes;
  for (GradientReduce candidate : candidates) {
    auto type = cast<RankedTensorType>(candidate.op.getInput().getType());
    auto key = std::make_tuple(
        type.getElementType().getAsOpaquePointer(),
        candidate.op.getKindAttr().getAsOpaquePointer(),
        candidate.op.getOverAttr().getAsOpaquePointer(),
        analysis.factsOf(candidate.op.getInput()), depths.lookup(candidate.op),
        getGradientParam(candidate.op.getInput()) != nullptr);
    int32_t shareClass = classes.try_emplace(key, classes.size()).first->second;
    problem.tensors.push_back(
        {getElementCount(type) * getElementBytes(type.getElementType()),
         candidate.readyNs, shareClass});
  }
  return problem;
}
