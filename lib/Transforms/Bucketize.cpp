//===- Bucketize.cpp - bagua-bucketize ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads the gradients' all_reduces into a BucketingProblem, asks Scheduling,
// and writes each bucket as concat, all_reduce and split.
//
//===----------------------------------------------------------------------===//
#include "bagua/Dialect/Bagua/FactAnalysis.h"
#include "bagua/Scheduling/Prices/CollectiveCost.h"
#include "bagua/Scheduling/Search/CommunicationPlan.h"
#include "bagua/Scheduling/Search/Merging.h"
#include "bagua/Transforms/Algorithms/GradientReduces.h"
#include "bagua/Transforms/Bridge/ClusterReader.h"
#include "bagua/Transforms/Bridge/MessageWriter.h"
#include "bagua/Transforms/Passes.h"
#include "bagua/Transforms/Utils/BlockOrder.h"
#include "bagua/Transforms/Utils/Names.h"
#include "bagua/Transforms/Utils/Report.h"
#include "bagua/Transforms/Utils/StepQueries.h"

#include "mlir/IR/Builders.h"

#include <map>

namespace bagua {
#define GEN_PASS_DEF_BUCKETIZEPASS
#include "bagua/Transforms/Passes.h.inc"
} // namespace bagua

using namespace mlir;
using namespace bagua;

namespace {
/// The parts of a bucket, and the decisions that later passes must follow.
struct BucketForm {
  int64_t parts = 1;
  /// The forms of the parts in turn; empty: later passes choose.
  SmallVector<StringAttr> forms;
  /// The type on the wire; null: later passes choose.
  StringAttr wire;
};
} // namespace

/// Adds an all_reduce of a value, in parts.
static Value reduceInParts(OpBuilder &builder, AllReduceOp like, Value value,
                           const BucketForm &form) {
  Location location = like.getLoc();
  auto type = cast<RankedTensorType>(value.getType());
  auto reduce = [&](Value part, size_t number) -> Value {
    auto op = builder.create<AllReduceOp>(location, like.getKindAttr(), part,
                                          like.getOverAttr());
    if (!form.forms.empty())
      op->setAttr(kFormAttr, form.forms[number % form.forms.size()]);
    if (form.wire)
      op->setAttr(kWireAttr, form.wire);
    return op.getOutput();
  };
  if (form.parts == 1)
    return reduce(value, 0);
  int64_t count = getElementCount(type);
  SmallVector<Type> types;
  for (int64_t part = 0; part < form.parts; ++part)
    types.push_back(RankedTensorType::get(
        {countOfPart(count, form.parts, part)}, type.getElementType()));
  auto split = builder.create<SplitOp>(location, types, value);
  SmallVector<Value> reduced;
  for (auto [number, part] : llvm::enumerate(split.getOutputs()))
    reduced.push_back(reduce(part, number));
  return builder.create<ConcatOp>(location, type, reduced).getOutput();
}

static void writeBucket(ArrayRef<GradientReduce> candidates,
                        const Bucket &bucket, const BucketForm &form) {
  AllReduceOp last = candidates[bucket.back()].op;
  if (bucket.size() == 1) {
    if (form.parts == 1 && form.forms.empty() && !form.wire)
      return;
    OpBuilder builder(last);
    last.getOutput().replaceAllUsesWith(
        reduceInParts(builder, last, last.getInput(), form));
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
  auto concat = builder.create<ConcatOp>(location, bucketType, inputs);
  Value reduced = reduceInParts(builder, last, concat.getOutput(), form);
  auto split = builder.create<SplitOp>(location, types, reduced);
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
    if (failed(expectSound(step, problem.check())))
      return signalPassFailure();
    if (failed(policy == BucketPolicy::List ? writeList(candidates, problem)
                                            : writeByRule(candidates, problem)))
      return signalPassFailure();
    sortTopologically(step);
  }

private:
  MessageCost readCost(ArrayRef<GradientReduce> candidates,
                       const BucketingProblem &problem,
                       const ClusterModel &cluster) {
    StepOp step = getOperation();
    std::map<int32_t, AxisSet> axes;
    for (auto [candidate, tensor] :
         llvm::zip_equal(candidates, problem.tensors)) {
      AllReduceOp reduce = candidate.op;
      axes[tensor.shareClass] =
          readAxes(step.lookupCluster(), reduce.getOver());
    }
    return messageCost(cluster, axes, wire, formsOf(form));
  }

  /// Elements of a bucket.
  static int64_t countOf(ArrayRef<GradientReduce> candidates,
                         const Bucket &bucket) {
    int64_t count = 0;
    for (int32_t index : bucket) {
      AllReduceOp reduce = candidates[index].op;
      count +=
          getElementCount(cast<RankedTensorType>(reduce.getInput().getType()));
    }
    return count;
  }

  LogicalResult writeByRule(ArrayRef<GradientReduce> candidates,
                            const BucketingProblem &problem) {
    StepOp step = getOperation();
    FailureOr<ClusterModel> cluster = readClusterModel(step.lookupCluster());
    if (failed(cluster))
      return failure();
    BucketRule rule{policy, firstBytes, capBytes, cycleNs, partitionBytes};
    std::vector<Bucket> buckets =
        bucketize(problem, rule, readCost(candidates, problem, *cluster));
    if (failed(expectSound(step, problem.verify(buckets))))
      return failure();
    if (Report *report = getReport(&getContext()))
      report->add(step, getArgument(), describe(candidates, problem, buckets));
    std::vector<int64_t> parts;
    for (const Bucket &bucket : buckets) {
      int64_t bytes = 0;
      for (int32_t index : bucket)
        bytes += problem.tensors[index].bytes;
      parts.push_back(partsOf(rule, bytes, countOf(candidates, bucket)));
    }
    if (auto wrong = checkParts(parts))
      return step.emitError()
             << *wrong << " by partition-bytes=" << partitionBytes.getValue();
    for (auto [bucket, count] : llvm::zip_equal(buckets, parts)) {
      BucketForm form;
      form.parts = count;
      writeBucket(candidates, bucket, form);
    }
    return success();
  }

  /// Writes buckets, parts, forms and wires as the option lists them.
  LogicalResult writeList(ArrayRef<GradientReduce> candidates,
                          const BucketingProblem &problem) {
    StepOp step = getOperation();
    // bagua-cast-wire decides the wire of a bucket that names none.
    const Encoding &common = wire;
    auto planned = parseList(bucketList, common);
    auto others = parseList(otherList, common);
    if (failed(planned) || failed(others))
      return failure();
    std::vector<int64_t> counts;
    for (int32_t index = 0; index < static_cast<int32_t>(candidates.size());
         ++index)
      counts.push_back(countOf(candidates, {index}));
    ResolvedBuckets resolved = resolveBuckets(*planned, problem, counts);
    if (!resolved.error.empty())
      return step.emitError() << resolved.error;
    if (auto wrong = checkParts(*planned))
      return step.emitError() << *wrong << " by a list of buckets";
    if (Report *report = getReport(&getContext()))
      report->add(step, getArgument(),
                  describe(candidates, problem, resolved.members));
    if (failed(writeOthers(candidates, *others, common)))
      return failure();
    for (auto [bucket, members] : llvm::zip_equal(*planned, resolved.members))
      writeBucket(candidates, members, formOf(bucket, common));
    return success();
  }

  FailureOr<std::vector<PlannedBucket>> parseList(const std::string &text,
                                                  const Encoding &common) {
    auto planned = parseBuckets(text, common);
    if (planned)
      return std::move(*planned);
    return getOperation().emitError()
           << "expected buckets such as 3*1,12:rail,1/8, found '" << text
           << "'";
  }

  BucketForm formOf(const PlannedBucket &bucket, const Encoding &common) {
    auto attributeOf = [&](std::string_view name) {
      return StringAttr::get(&getContext(), std::string(name));
    };
    BucketForm form;
    form.parts = bucket.parts;
    for (FormKind kind : bucket.form.kinds())
      form.forms.push_back(attributeOf(wordOf(kind)));
    if (bucket.wire != common)
      form.wire = attributeOf(encodingText(bucket.wire));
    return form;
  }

  /// Writes the forms and wires of the all_reduces that are in no bucket.
  LogicalResult writeOthers(ArrayRef<GradientReduce> candidates,
                            ArrayRef<PlannedBucket> planned,
                            const Encoding &common) {
    StepOp step = getOperation();
    SmallVector<AllReduceOp> others = collectOtherReduces(step, candidates);
    std::vector<PlannedBucket> forms = planned;
    // Without a word about them, forms that the step names stay.
    bool isSaid = !forms.empty();
    if (!isSaid)
      forms.resize(others.size(), {1, 1, {}, common});
    std::string wrong = checkOthers(forms, others.size());
    if (!wrong.empty())
      return step.emitError() << wrong;
    for (auto [reduce, planned] : llvm::zip_equal(others, forms)) {
      BucketForm form = formOf(planned, common);
      if (isSaid || !reduce->hasAttr(kFormAttr))
        reduce->setAttr(kFormAttr, form.forms.front());
      if (form.wire)
        reduce->setAttr(kWireAttr, form.wire);
    }
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
        StringAttr param = getGradientParam(reduce.getInput());
        params.push_back(
            (param ? param : nameOf(getOperation(), reduce.getInput()))
                .getValue());
      }
      list.push_back(llvm::json::Object{{"bytes", bytes},
                                        {"ready_ns", readyNs},
                                        {"params", std::move(params)}});
    }
    return llvm::json::Object{
        {"policy", std::string(wordOf(policy.getValue()))},
        {"buckets", std::move(list)}};
  }
};
} // namespace
