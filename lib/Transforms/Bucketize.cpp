//===- Bucketize.cpp - bagua-bucketize ------------------------------------===//
//
// Reads the gradients' all_reduces into a BucketingProblem, asks Scheduling,
// and writes each bucket as concat, all_reduce and split.
//
//===----------------------------------------------------------------------===//
#include "bagua/Dialect/Bagua/FactAnalysis.h"
#include "bagua/Scheduling/CollectiveCost.h"
#include "bagua/Scheduling/CommunicationPlan.h"
#include "bagua/Scheduling/Merging.h"
#include "bagua/Transforms/Passes.h"
#include "bagua/Transforms/Utils/BlockOrder.h"
#include "bagua/Transforms/Utils/ClusterReader.h"
#include "bagua/Transforms/Utils/Forms.h"
#include "bagua/Transforms/Utils/GradientReduces.h"
#include "bagua/Transforms/Utils/Report.h"

#include "mlir/IR/Builders.h"

#include <map>

namespace bagua {
#define GEN_PASS_DEF_BUCKETIZEPASS
#include "bagua/Transforms/Passes.h.inc"
} // namespace bagua

using namespace mlir;
using namespace bagua;

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

/// An all_reduce of a value, in parts, each of the form given.
static Value reduceInParts(OpBuilder &builder, AllReduceOp like, Value value,
                           int64_t parts, StringAttr form) {
  Location location = like.getLoc();
  auto type = cast<RankedTensorType>(value.getType());
  auto reduce = [&](Value part) -> Value {
    auto op = builder.create<AllReduceOp>(
        location, part.getType(), like.getKindAttr(), part,
        CodecAttrInterface(), UnitAttr(), like.getOverAttr(), ArrayAttr(),
        StringAttr(), ArrayAttr());
    if (form)
      op->setAttr(kFormAttr, form);
    return op.getOutput();
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

/// `parts` says how many a bucket of some type is cut into.
static void writeBucket(ArrayRef<GradientReduce> candidates,
                        const Bucket &bucket,
                        function_ref<int64_t(RankedTensorType)> partsOf,
                        StringAttr form) {
  AllReduceOp last = candidates[bucket.back()].op;
  if (bucket.size() == 1) {
    int64_t parts = partsOf(cast<RankedTensorType>(last.getInput().getType()));
    if (parts == 1 && !form)
      return;
    OpBuilder builder(last);
    last.getOutput().replaceAllUsesWith(
        reduceInParts(builder, last, last.getInput(), parts, form));
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
                                partsOf(bucketType), form);
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
    SmallVector<GradientReduce> candidates = collectGradientReduces(step);
    BucketingProblem problem = readBucketing(candidates, analysis);
    assert(!problem.check());
    std::optional<FormSet> forms = parseForms(form.getValue());
    if (!forms) {
      step.emitError() << "expected form " << std::string(formNames())
                       << ", found '" << form << "'";
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
    if (policy == "list") {
      if (failed(writeList(candidates, problem)))
        return signalPassFailure();
      return sortTopologically(step);
    }
    std::optional<std::vector<Bucket>> buckets = decide(problem, cost);
    if (!buckets) {
      step.emitError() << "expected policy none, size, ddp, cycle, mg-wfbp, "
                          "optimal or list, found '"
                       << policy << "'";
      return signalPassFailure();
    }
    assert(!problem.verify(*buckets));
    if (Report *report = getReport(&getContext()))
      report->add(step, getArgument(), describe(candidates, problem, *buckets));
    auto partsOf = [&](RankedTensorType type) {
      return partCountOf(type, partitionBytes);
    };
    for (const Bucket &bucket : *buckets)
      writeBucket(candidates, bucket, partsOf, nullptr);
    sortTopologically(step);
  }

private:
  /// Buckets, parts and forms as the option says, one by one.
  LogicalResult writeList(ArrayRef<GradientReduce> candidates,
                          const BucketingProblem &problem) {
    StepOp step = getOperation();
    auto planned = parseBuckets(bucketList.getValue());
    if (!planned)
      return step.emitError() << "expected buckets such as 3*1,12:rail,1/8, "
                                 "found '"
                              << bucketList << "'";
    std::vector<int64_t> counts;
    for (GradientReduce candidate : candidates)
      counts.push_back(getElementCount(
          cast<RankedTensorType>(candidate.op.getInput().getType())));
    ResolvedBuckets resolved = resolveBuckets(*planned, problem, counts);
    if (!resolved.error.empty())
      return step.emitError() << resolved.error;
    if (Report *report = getReport(&getContext()))
      report->add(step, getArgument(),
                  describe(candidates, problem, resolved.members));
    for (auto [bucket, members] : llvm::zip_equal(*planned, resolved.members))
      writeBucket(
          candidates, members,
          [&, parts = bucket.parts](RankedTensorType) { return parts; },
          StringAttr::get(&getContext(), std::string(formName(bucket.form))));
    return success();
  }

  llvm::json::Object describe(ArrayRef<GradientReduce> candidates,
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
