//===- Bucketize.cpp - bagua-bucketize ------------------------------------===//
//
// Reads the gradients' all_reduces into a BucketingProblem, asks Scheduling,
// and writes each bucket as concat, all_reduce and split.
//
//===----------------------------------------------------------------------===//
#include "bagua/Dialect/Bagua/FactAnalysis.h"
#include "bagua/Scheduling/CollectiveCost.h"
#include "bagua/Scheduling/Merging.h"
#include "bagua/Transforms/BlockOrder.h"
#include "bagua/Transforms/Passes.h"
#include "bagua/Transforms/Report.h"
#include "bagua/Transforms/StepModel.h"

#include "mlir/IR/Builders.h"

#include <map>

namespace bagua {
#define GEN_PASS_DEF_BUCKETIZEPASS
#include "bagua/Transforms/Passes.h.inc"
} // namespace bagua

using namespace mlir;
using namespace bagua;

namespace {
/// A gradient's all_reduce and when its operand is there.
struct Candidate {
  AllReduceOp op;
  int64_t readyNs;
};
} // namespace

/// Whole tensors that can be reduced where they lie: nobody else uses them, and
/// the result has no memory of its own by a name.
static bool canShare(AllReduceOp reduce) {
  auto type = dyn_cast<RankedTensorType>(reduce.getInput().getType());
  return type && !getLayout(type) && reduce.getInput().hasOneUse() &&
         !reduce.getCodecAttr() && !reduce.getNamesAttr();
}

/// All_reduces of whole gradients, by readiness; the program runs its compute
/// in block order, one op after the other.
static SmallVector<Candidate> collectCandidates(StepOp step) {
  SmallVector<Candidate> candidates;
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
static BucketingProblem readProblem(ArrayRef<Candidate> candidates,
                                    const FactAnalysis &analysis) {
  BucketingProblem problem;
  std::map<std::tuple<const void *, const void *, const void *, Facts>, int32_t>
      classes;
  for (Candidate candidate : candidates) {
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

/// Parts of at most `partitionBytes` and equal but for one element; 1 for no
/// limit.
static int64_t partCountOf(RankedTensorType type, int64_t partitionBytes) {
  int64_t bytes =
      getElementCount(type) * getElementBytes(type.getElementType());
  if (partitionBytes == 0 || bytes <= partitionBytes)
    return 1;
  return std::min((bytes + partitionBytes - 1) / partitionBytes,
                  getElementCount(type));
}

/// An all_reduce of a value, in parts.
static Value reduceInParts(OpBuilder &builder, AllReduceOp like, Value value,
                           int64_t parts) {
  Location location = like.getLoc();
  auto type = cast<RankedTensorType>(value.getType());
  auto reduce = [&](Value part) -> Value {
    return builder
        .create<AllReduceOp>(location, part.getType(), like.getKindAttr(), part,
                             CodecAttrInterface(), UnitAttr(),
                             like.getOverAttr(), ArrayAttr(), StringAttr(),
                             ArrayAttr())
        .getOutput();
  };
  if (parts == 1)
    return reduce(value);
  int64_t count = getElementCount(type);
  SmallVector<Type> types;
  for (int64_t part = 0; part < parts; ++part)
    types.push_back(RankedTensorType::get(
        {count * (part + 1) / parts - count * part / parts},
        type.getElementType()));
  auto split = builder.create<SplitOp>(location, types, value, LayoutAttr(),
                                       StringAttr(), ArrayAttr());
  SmallVector<Value> reduced;
  for (Value part : split.getOutputs())
    reduced.push_back(reduce(part));
  return builder
      .create<ConcatOp>(location, type, reduced, LayoutAttr(), StringAttr(),
                        ArrayAttr())
      .getOutput();
}

static void writeBucket(ArrayRef<Candidate> candidates, const Bucket &bucket,
                        int64_t partitionBytes) {
  AllReduceOp last = candidates[bucket.back()].op;
  if (bucket.size() == 1) {
    int64_t parts = partCountOf(
        cast<RankedTensorType>(last.getInput().getType()), partitionBytes);
    if (parts == 1)
      return;
    OpBuilder builder(last);
    last.getOutput().replaceAllUsesWith(
        reduceInParts(builder, last, last.getInput(), parts));
    last.erase();
    return;
  }
  SmallVector<Value> inputs;
  SmallVector<Type> types;
  int64_t count = 0;
  for (int32_t index : bucket) {
    AllReduceOp reduce = candidates[index].op;
    Value input = reduce.getInput();
    inputs.push_back(input);
    types.push_back(input.getType());
    count += getElementCount(cast<RankedTensorType>(input.getType()));
  }
  OpBuilder builder(last);
  Location location = last.getLoc();
  auto bucketType = RankedTensorType::get(
      {count}, cast<RankedTensorType>(types.front()).getElementType());
  auto concat = builder.create<ConcatOp>(
      location, bucketType, inputs, LayoutAttr(), StringAttr(), ArrayAttr());
  Value reduced = reduceInParts(builder, last, concat.getOutput(),
                                partCountOf(bucketType, partitionBytes));
  auto split = builder.create<SplitOp>(location, types, reduced, LayoutAttr(),
                                       StringAttr(), ArrayAttr());
  for (auto [index, output] : llvm::zip_equal(bucket, split.getOutputs())) {
    AllReduceOp old = candidates[index].op;
    old.getOutput().replaceAllUsesWith(output);
    old.erase();
  }
}

namespace {
struct BucketizePass : public bagua::impl::BucketizePassBase<BucketizePass> {
  using BucketizePassBase::BucketizePassBase;

  void runOnOperation() override {
    StepOp step = getOperation();
    if (firstBytes < 0 || capBytes < 0 || partitionBytes < 0 || cycleNs < 1) {
      step.emitError(
          "expected first-bytes, cap-bytes and partition-bytes of at "
          "least 0 and cycle-ns of at least 1");
      return signalPassFailure();
    }
    FactAnalysis analysis(step);
    if (failed(analysis.run()))
      return signalPassFailure();
    SmallVector<Candidate> candidates = collectCandidates(step);
    BucketingProblem problem = readProblem(candidates, analysis);
    assert(!problem.check());
    std::optional<FormSet> forms = parseForms(form.getValue());
    if (!forms) {
      step.emitError() << "expected form flat, leader, rail, multilevel or "
                          "cheapest, found '"
                       << form << "'";
      return signalPassFailure();
    }
    FailureOr<ClusterModel> cluster = readClusterModel(step.lookupCluster());
    if (failed(cluster))
      return signalPassFailure();
    std::map<int32_t, AxisSet> axes;
    for (auto [candidate, tensor] :
         llvm::zip_equal(candidates, problem.tensors))
      axes[tensor.shareClass] =
          readAxes(step.lookupCluster(), candidate.op.getOver());
    int64_t narrowing = wire == "f16" || wire == "bf16" ? 2 : 1;
    MessageCost cost = [&](int64_t bytes, int32_t shareClass) {
      bytes = (bytes + narrowing - 1) / narrowing;
      return static_cast<double>(cluster->launchNs) +
             cheapestForm(*cluster, bytes, axes[shareClass], *forms).ns;
    };
    std::optional<std::vector<Bucket>> buckets = decide(problem, cost);
    if (!buckets) {
      step.emitError() << "expected policy none, size, ddp, cycle, mg-wfbp or "
                          "optimal, found '"
                       << policy << "'";
      return signalPassFailure();
    }
    assert(!problem.verify(*buckets));
    if (Report *report = getReport(&getContext()))
      report->add(step, getArgument(), describe(candidates, problem, *buckets));
    for (const Bucket &bucket : *buckets)
      writeBucket(candidates, bucket, partitionBytes);
    sortTopologically(step);
  }

private:
  llvm::json::Object describe(ArrayRef<Candidate> candidates,
                              const BucketingProblem &problem,
                              ArrayRef<Bucket> buckets) {
    llvm::json::Array list;
    for (const Bucket &bucket : buckets) {
      int64_t bytes = 0, readyNs = 0;
      llvm::json::Array params;
      for (int32_t index : bucket) {
        bytes += problem.tensors[index].bytes;
        readyNs = std::max(readyNs, problem.tensors[index].readyNs);
        AllReduceOp reduce = candidates[index].op;
        params.push_back(getGradientParam(reduce.getInput()).getValue());
      }
      list.push_back(llvm::json::Object{{"bytes", bytes},
                                        {"ready_ns", readyNs},
                                        {"params", std::move(params)}});
    }
    return llvm::json::Object{{"policy", policy.getValue()},
                              {"buckets", std::move(list)}};
  }

  std::optional<std::vector<Bucket>> decide(const BucketingProblem &problem,
                                            const MessageCost &cost) {
    if (policy == "none")
      return bucketizeAlone(problem);
    if (policy == "size")
      return bucketizeBySize(problem, capBytes, capBytes);
    if (policy == "ddp")
      return bucketizeBySize(problem, firstBytes, capBytes);
    if (policy == "cycle")
      return bucketizeByCycle(problem, capBytes, cycleNs);
    if (policy == "mg-wfbp")
      return problem.tensors.empty()
                 ? std::vector<Bucket>()
                 : mergeGreedily(problem, cost,
                                 cost(0, problem.tensors[0].shareClass));
    if (policy == "optimal")
      return mergeOptimally(problem, cost);
    return std::nullopt;
  }
};
} // namespace
