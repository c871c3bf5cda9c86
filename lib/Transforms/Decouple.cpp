//===- Decouple.cpp - bagua-decouple --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Replaces an all_reduce by its two halves, with or without the update between
// them.
//
//===----------------------------------------------------------------------===//
#include "bagua/Dialect/Bagua/Layouts.h"
#include "bagua/Transforms/Algorithms/CuttableUpdates.h"
#include "bagua/Transforms/Algorithms/GradientReduces.h"
#include "bagua/Transforms/Bridge/ClusterReader.h"
#include "bagua/Transforms/Bridge/MessageWriter.h"
#include "bagua/Transforms/Passes.h"
#include "bagua/Transforms/Utils/BlockOrder.h"
#include "bagua/Transforms/Utils/Report.h"
#include "bagua/Transforms/Utils/StepQueries.h"

namespace bagua {
#define GEN_PASS_DEF_DECOUPLEPASS
#include "bagua/Transforms/Passes.h.inc"
} // namespace bagua

using namespace mlir;
using namespace bagua;

static RankedTensorType tensorTypeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

namespace {
/// The scatters of one all_reduce, in order, each over some axes. The gathers
/// are the same in the reverse order.
using Phases = SmallVector<AxesAttr, 3>;

/// An all_reduce whose results feed only updates, each its own.
struct UpdatedBucket {
  AllReduceOp reduce;
  /// Casts around the all_reduce for the wire; null if there are none.
  CastOp narrowed, restored;
  /// The ops that make the bucket and take it apart; both null for a single
  /// tensor.
  ConcatOp concat;
  SplitOp split;
  /// The updates, in the order of the bucket's tensors.
  SmallVector<Operation *> updates;
};

class Decoupler {
public:
  Decoupler(StepOp step, const ClusterModel &model, AllowedForms forms)
      : step(step), cluster(step.lookupCluster()), model(model), forms(forms),
        cuttable(step) {}

  void run(bool shardsUpdates);

  int64_t halved = 0, sharded = 0;

private:
  AllowedForms allowedOf(AllReduceOp reduce) const;
  AllReduceForm formOf(AllReduceOp reduce) const;
  std::vector<MessageStage> stagesOf(AllReduceOp reduce);
  Phases phasesOf(AllReduceOp reduce);
  LayoutAttr layoutOf(ArrayRef<AxesAttr> phases);
  Value scatter(OpBuilder &builder, AllReduceOp like, Value value,
                ArrayRef<AxesAttr> phases);
  Value gather(OpBuilder &builder, Location location, Value value,
               ArrayRef<AxesAttr> phases);
  std::optional<UpdatedBucket> matchUpdated(AllReduceOp reduce);
  SmallVector<Value> scatterBucket(OpBuilder &builder, UpdatedBucket &bucket,
                                   ArrayRef<AxesAttr> phases);
  Value shardUpdate(Operation *update, Value gradient,
                    ArrayRef<AxesAttr> phases);
  void gatherParams(UpdatedBucket &bucket, ArrayRef<Value> shards,
                    ArrayRef<AxesAttr> phases);
  void shardBucket(UpdatedBucket &bucket);
  bool isHalved(AllReduceOp reduce) const;
  void halve(AllReduceOp reduce);

  StepOp step;
  ClusterOp cluster;
  const ClusterModel &model;
  AllowedForms forms;
  CuttableUpdates cuttable;
};
} // namespace

/// The allowed forms; only the chosen one if an earlier pass has chosen.
AllowedForms Decoupler::allowedOf(AllReduceOp reduce) const {
  if (auto word = reduce->getAttrOfType<StringAttr>(kFormAttr))
    if (auto kind = parseWord<FormKind>(std::string_view(word.getValue())))
      return formBit(*kind);
  return forms;
}

AllReduceForm Decoupler::formOf(AllReduceOp reduce) const {
  Message message = messageOf(reduce);
  return cheapestForm(model, message.bytes(), message.over, allowedOf(reduce))
      .form;
}

std::vector<MessageStage> Decoupler::stagesOf(AllReduceOp reduce) {
  return expandMessage(model, messageOf(reduce), formOf(reduce));
}

Phases Decoupler::phasesOf(AllReduceOp reduce) {
  Phases phases;
  for (const MessageStage &stage : stagesOf(reduce))
    if (stage.call.collective == Collective::ReduceScatter)
      phases.push_back(writeAxes(cluster, stage.call.over));
  return phases;
}

/// The layout of a tensor after the scatters.
LayoutAttr Decoupler::layoutOf(ArrayRef<AxesAttr> phases) {
  SmallVector<LayoutEntry> entries;
  for (AxesAttr over : phases)
    entries.push_back(LayoutEntry::shard(over));
  return LayoutAttr::get(step.getContext(), entries);
}

Value Decoupler::scatter(OpBuilder &builder, AllReduceOp like, Value value,
                         ArrayRef<AxesAttr> phases) {
  for (AxesAttr over : phases)
    value = builder.create<ReduceScatterOp>(
        like.getLoc(), pushEntry(tensorTypeOf(value), LayoutEntry::shard(over)),
        like.getKindAttr(), value, over);
  return value;
}

Value Decoupler::gather(OpBuilder &builder, Location location, Value value,
                        ArrayRef<AxesAttr> phases) {
  for (AxesAttr over : llvm::reverse(phases))
    value = builder.create<AllGatherOp>(
        location, popEntry(tensorTypeOf(value), LayoutEntry::shard(over)),
        value, over);
  return value;
}

void Decoupler::halve(AllReduceOp reduce) {
  OpBuilder builder(reduce);
  reduce.getOutput().replaceAllUsesWith(
      writeMessage(builder, reduce, stagesOf(reduce)));
  reduce.erase();
  ++halved;
}

//===----------------------------------------------------------------------===//
// Updates on shards
//===----------------------------------------------------------------------===//

std::optional<UpdatedBucket> Decoupler::matchUpdated(AllReduceOp reduce) {
  UpdatedBucket bucket;
  bucket.reduce = reduce;
  if (reduce.getNamesAttr())
    return std::nullopt;
  Value from = reduce.getInput(), to = reduce.getOutput();
  if (auto cast = from.getDefiningOp<CastOp>(); cast && from.hasOneUse())
    if (auto back = dyn_cast_or_null<CastOp>(onlyUserOf(to))) {
      bucket.narrowed = cast;
      bucket.restored = back;
      from = cast.getInput();
      to = back.getOutput();
    }
  SmallVector<Value> gradients{to};
  if (auto split = dyn_cast_or_null<SplitOp>(onlyUserOf(to))) {
    bucket.split = split;
    bucket.concat = from.getDefiningOp<ConcatOp>();
    if (!bucket.concat || bucket.concat.getStriped() || split.getStriped() ||
        !from.hasOneUse() ||
        bucket.concat->getOperandTypes() != split->getResultTypes())
      return std::nullopt;
    gradients.assign(split->result_begin(), split->result_end());
  }
  for (Value gradient : gradients) {
    Operation *update = onlyUserOf(gradient);
    if (!cuttable.canCut(update, gradient))
      return std::nullopt;
    bucket.updates.push_back(update);
  }
  return bucket;
}

/// Scatters the bucket; returns each tensor's part of the reduced gradient.
SmallVector<Value> Decoupler::scatterBucket(OpBuilder &builder,
                                            UpdatedBucket &bucket,
                                            ArrayRef<AxesAttr> phases) {
  Location location = bucket.reduce.getLoc();
  LayoutAttr layout = layoutOf(phases);
  auto castTo = [&](Value value, Type element) -> Value {
    return builder.create<CastOp>(location, value, element);
  };
  Value value =
      bucket.narrowed ? bucket.narrowed.getInput() : bucket.reduce.getInput();
  Type element = tensorTypeOf(value).getElementType();
  if (bucket.concat) {
    int64_t count = 0;
    for (Value input : bucket.concat.getInputs())
      count += stripedCount(tensorTypeOf(input), layout, cluster);
    value = builder.create<ConcatOp>(location,
                                     RankedTensorType::get({count}, element),
                                     bucket.concat.getInputs(), layout);
  }
  if (bucket.narrowed)
    value = castTo(
        value, tensorTypeOf(bucket.narrowed->getResult(0)).getElementType());
  value = scatter(builder, bucket.reduce, value, phases);
  if (bucket.narrowed)
    value = castTo(value, element);
  if (!bucket.concat)
    return {value};
  SmallVector<Type> parts;
  for (Type type : bucket.split->getResultTypes())
    parts.push_back(withLayout(cast<RankedTensorType>(type), layout));
  auto split = builder.create<SplitOp>(location, parts, value, layout);
  return SmallVector<Value>(split->result_begin(), split->result_end());
}

/// Adds the update of the rank's part. Returns the new part of the param.
Value Decoupler::shardUpdate(Operation *update, Value gradient,
                             ArrayRef<AxesAttr> phases) {
  OpBuilder builder(update);
  LayoutAttr layout = layoutOf(phases);
  Value param = update->getOperand(0);
  for (AxesAttr over : phases)
    param = builder.create<SliceOp>(
        update->getLoc(),
        pushEntry(tensorTypeOf(param), LayoutEntry::shard(over)), param);
  Operation *sharded = builder.clone(*update);
  sharded->setOperand(0, param);
  sharded->setOperand(update->getNumResults(), gradient);
  for (OpResult result : sharded->getResults()) {
    unsigned index = result.getResultNumber();
    result.setType(withLayout(tensorTypeOf(result), layout));
    if (index == 0)
      continue;
    // Moments are parts from the first step on.
    sharded->getOperand(index).setType(result.getType());
    update->getResult(index).replaceAllUsesWith(result);
  }
  return sharded->getResult(0);
}

/// Makes the params whole again.
void Decoupler::gatherParams(UpdatedBucket &bucket, ArrayRef<Value> shards,
                             ArrayRef<AxesAttr> phases) {
  OpBuilder builder(bucket.updates.back());
  Location location = bucket.reduce.getLoc();
  LayoutAttr layout = layoutOf(phases);
  SmallVector<Value> params;
  if (!bucket.concat) {
    params.push_back(gather(builder, location, shards.front(), phases));
  } else {
    SmallVector<Type> types;
    int64_t count = 0;
    for (Operation *update : bucket.updates) {
      auto type = tensorTypeOf(update->getResult(0));
      types.push_back(type);
      count += stripedCount(type, layout, cluster);
    }
    auto element = tensorTypeOf(shards.front()).getElementType();
    Value value = builder.create<ConcatOp>(
        location, RankedTensorType::get({count}, element, layout), shards,
        layout);
    value = gather(builder, location, value, phases);
    auto split = builder.create<SplitOp>(location, types, value, layout);
    params.assign(split->result_begin(), split->result_end());
  }
  for (auto [update, param] : llvm::zip_equal(bucket.updates, params))
    update->getResult(0).replaceAllUsesWith(param);
}

void Decoupler::shardBucket(UpdatedBucket &bucket) {
  Phases phases = phasesOf(bucket.reduce);
  OpBuilder builder(bucket.reduce);
  SmallVector<Value> gradients = scatterBucket(builder, bucket, phases);
  SmallVector<Value> shards;
  for (auto [update, gradient] : llvm::zip_equal(bucket.updates, gradients))
    shards.push_back(shardUpdate(update, gradient, phases));
  gatherParams(bucket, shards, phases);
  for (Operation *update : bucket.updates)
    update->erase();
  for (Operation *op :
       {bucket.split.getOperation(), bucket.restored.getOperation(),
        bucket.reduce.getOperation(), bucket.narrowed.getOperation(),
        bucket.concat.getOperation()})
    if (op)
      op->erase();
  ++sharded;
}

/// Whether all phases of the all_reduce have halves; if not,
/// bagua-lower-hierarchy lowers it.
bool Decoupler::isHalved(AllReduceOp reduce) const {
  return shapeOf(formOf(reduce).kind).isHalved;
}

void Decoupler::run(bool shardsUpdates) {
  for (AllReduceOp reduce :
       llvm::to_vector(step.getBody().front().getOps<AllReduceOp>())) {
    if (!reduce.whyNot(Rewriting::Halves).empty() ||
        getLayout(tensorTypeOf(reduce.getInput())) ||
        !isOfGradients(reduce.getInput()) || !isHalved(reduce))
      continue;
    if (std::optional<UpdatedBucket> bucket =
            shardsUpdates ? matchUpdated(reduce) : std::nullopt)
      shardBucket(*bucket);
    else
      halve(reduce);
  }
  sortTopologically(step);
}

namespace {
struct DecouplePass : public bagua::impl::DecouplePassBase<DecouplePass> {
  using DecouplePassBase::DecouplePassBase;

  void runOnOperation() override {
    StepOp step = getOperation();
    FailureOr<ClusterModel> model = readClusterModel(step.lookupCluster());
    if (failed(model))
      return signalPassFailure();
    Decoupler decoupler(step, *model, halvedForms(form));
    decoupler.run(update == UpdatedPart::Shard);
    if (update == UpdatedPart::Shard && decoupler.sharded == 0)
      step.emitRemark("update=shard changes nothing: expected a message in "
                      "halves that only updates read, found none");
    if (Report *report = getReport(&getContext()))
      report->add(step, getArgument(),
                  llvm::json::Object{{"halved", decoupler.halved},
                                     {"updated_between", decoupler.sharded}});
  }
};
} // namespace
