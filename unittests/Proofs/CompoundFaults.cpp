//===- CompoundFaults.cpp - Faults at graph level that take several ops ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Written with the ops' builders, as a pass would.
//
//===----------------------------------------------------------------------===//
#include "CompoundFaults.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace bagua;
using namespace bagua::proofs;

template <typename OpTy> static std::vector<OpTy> opsOf(StepOp step) {
  std::vector<OpTy> ops;
  for (auto op : step.getBody().front().getOps<OpTy>())
    ops.push_back(op);
  return ops;
}

/// A reduction of whole tensors in their own form; null if there is none.
static AllReduceOp pickReduction(StepOp step, Random &random) {
  std::vector<AllReduceOp> plain;
  for (AllReduceOp op : opsOf<AllReduceOp>(step)) {
    auto type = dyn_cast<RankedTensorType>(op.getType());
    if (type && !getLayout(type) && !op.getCodecAttr())
      plain.push_back(op);
  }
  return plain.empty() ? AllReduceOp() : random.pick(plain);
}

Operation *bagua::proofs::keepOneCopy(StepOp step, Random &random) {
  AllReduceOp op = pickReduction(step, random);
  if (!op)
    return nullptr;
  OpBuilder builder(op);
  auto type = cast<RankedTensorType>(op.getType());
  AxesAttr over = op.getOver();
  bool isWhole = random.chance(50);
  Type kept = pushEntry(type, isWhole ? LayoutEntry::root(over)
                                      : LayoutEntry::shard(over));
  Value all = builder.create<SliceOp>(op.getLoc(), kept, op.getInput());
  if (isWhole)
    all = builder.create<BroadcastOp>(op.getLoc(), type, all, over);
  else
    all = builder.create<AllGatherOp>(op.getLoc(), type, all, over);
  if (random.chance(50))
    op.getInputMutable().assign(all);
  else
    op.getOutput().replaceAllUsesWith(all);
  return op;
}

/// The sum of two values, each times the coefficient.
static Value addUp(OpBuilder &builder, Location loc, Value a, Value b,
                   float coefficient) {
  return builder.create<LinearOp>(loc, a.getType(),
                                  ArrayRef<float>{coefficient, coefficient},
                                  ValueRange{a, b}, StringAttr(), ArrayAttr());
}

Operation *bagua::proofs::mixRanks(StepOp step, Random &random) {
  AllReduceOp op = pickReduction(step, random);
  if (!op)
    return nullptr;
  OpBuilder builder(op);
  auto type = cast<RankedTensorType>(op.getType());
  AxesAttr over = op.getOver();
  int64_t size = step.lookupCluster().getGroupSize(over);
  if (type.getRank() > 0 && type.getDimSize(0) % size == 0 &&
      random.chance(70)) {
    op.getInputMutable().assign(
        builder
            .create<AllToAllOp>(op.getLoc(), type, op.getInput(),
                                /*splitDim=*/0, /*concatDim=*/0, over)
            .getOutput());
    return op;
  }
  if (size % 2 != 0)
    return nullptr;
  auto peer = builder.create<ExchangeOp>(
      op.getLoc(), TypeRange(type), ExchangePattern::ShiftOne, op.getInput(),
      over, ArrayAttr(), StringAttr(), ArrayAttr());
  // A mean of what all have is the same whoever has it: of a part of them not.
  op.getOutput().replaceAllUsesWith(
      addUp(builder, op.getLoc(), op.getInput(), peer->getResult(0), 0.5f));
  return op;
}

Operation *bagua::proofs::roundTerms(StepOp step, Random &random) {
  AllReduceOp op = pickReduction(step, random);
  if (!op)
    return nullptr;
  OpBuilder builder(op);
  Type element = cast<RankedTensorType>(op.getType()).getElementType();
  Value rounded =
      builder.create<CastOp>(op.getLoc(), op.getInput(), builder.getI32Type());
  op.getInputMutable().assign(
      builder.create<CastOp>(op.getLoc(), rounded, element).getOutput());
  return op;
}

/// What the first rank of the reduction's group has of the value, on all.
static Value copyOfRoot(OpBuilder &builder, AllReduceOp op, Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  AxesAttr over = op.getOver();
  auto root = builder.create<SliceOp>(
      op.getLoc(), pushEntry(type, LayoutEntry::root(over)), value);
  return builder.create<BroadcastOp>(op.getLoc(), type, root, over);
}

/// A batch that fits into a bucket with the value; null if there is none.
static Value findBatch(StepOp step, RankedTensorType beside) {
  for (BlockArgument argument : step.getBody().getArguments()) {
    auto type = cast<RankedTensorType>(argument.getType());
    if (step.getArgument(argument.getArgNumber()).getRole() == Role::Batch &&
        type.getElementType() == beside.getElementType() && !getLayout(type))
      return argument;
  }
  return Value();
}

Operation *bagua::proofs::launderTerms(StepOp step, Random &random) {
  AllReduceOp op = pickReduction(step, random);
  if (!op)
    return nullptr;
  auto type = cast<RankedTensorType>(op.getType());
  Value batch = findBatch(step, type);
  if (!batch)
    return nullptr;
  OpBuilder builder(op);
  Location loc = op.getLoc();
  AxesAttr over = op.getOver();
  int64_t count = getElementCount(type) +
                  getElementCount(cast<RankedTensorType>(batch.getType()));
  auto whole = RankedTensorType::get({count}, type.getElementType());
  auto reduce = [&](Value value, ReduceKind kind) -> Value {
    return builder.create<AllReduceOp>(
        loc, ReduceKindAttr::get(step.getContext(), kind), value, over);
  };
  Value bucket =
      builder.create<ConcatOp>(loc, whole, ValueRange{op.getInput(), batch});
  switch (random.below(4)) {
  case 0:
    bucket = reduce(bucket, ReduceKind::Sum);
    break;
  case 1:
    bucket = reduce(bucket, ReduceKind::Max);
    break;
  case 2:
    bucket = copyOfRoot(builder, op, bucket);
    break;
  case 3:
    bucket = builder.create<CastOp>(loc, bucket, builder.getI32Type());
    bucket = builder.create<CastOp>(loc, bucket, type.getElementType());
    bucket = reduce(bucket, ReduceKind::Mean);
    break;
  }
  auto split =
      builder.create<SplitOp>(loc, TypeRange{type, batch.getType()}, bucket);
  op.getOutput().replaceAllUsesWith(split.getOutputs()[0]);
  return op;
}

Operation *bagua::proofs::computeOnParts(StepOp step, Random &random) {
  AllReduceOp op = pickReduction(step, random);
  if (!op)
    return nullptr;
  OpBuilder builder(op);
  auto type = cast<RankedTensorType>(op.getType());
  auto part = builder.create<ReduceScatterOp>(
      op.getLoc(), pushEntry(type, LayoutEntry::shard(op.getOver())),
      op.getKindAttr(), op.getInput(), op.getOver());
  Value whole =
      builder
          .create<ComputeOp>(op.getLoc(), TypeRange(type), part.getOutput(),
                             PhaseKind::Update, "whole")
          ->getResult(0);
  if (random.chance(50))
    whole = copyOfRoot(builder, op, whole);
  op.getOutput().replaceAllUsesWith(whole);
  return op;
}

Operation *bagua::proofs::hideReduction(StepOp step, Random &random) {
  AllReduceOp op = pickReduction(step, random);
  if (!op)
    return nullptr;
  OpBuilder builder(op);
  auto hidden =
      builder.create<ComputeOp>(op.getLoc(), TypeRange(op.getType()),
                                op.getInput(), PhaseKind::Update, "psum");
  hidden.setCommunicates(true);
  op.getOutput().replaceAllUsesWith(hidden->getResult(0));
  return op;
}

//===----------------------------------------------------------------------===//
// Residuals
//===----------------------------------------------------------------------===//

/// The encodes with feedback by an argument.
static std::vector<EncodeOp> feedbackOf(StepOp step) {
  std::vector<EncodeOp> encodes;
  for (EncodeOp op : opsOf<EncodeOp>(step))
    if (op.getResidual() && isa<BlockArgument>(op.getResidual()))
      encodes.push_back(op);
  return encodes;
}

/// Null if there is none.
static EncodeOp pickFeedback(StepOp step, Random &random) {
  std::vector<EncodeOp> encodes = feedbackOf(step);
  return encodes.empty() ? EncodeOp() : random.pick(encodes);
}

/// The same encoded without its residual.
static Value encodeAlone(EncodeOp op) {
  EncodedType type = op.getOutput().getType();
  return OpBuilder(op)
      .create<EncodeOp>(op.getLoc(), type, Type(), op.getInput(), Value(),
                        type.getRow().needsFeedback, StringAttr(), ArrayAttr())
      .getOutput();
}

Operation *bagua::proofs::dropResidual(StepOp step, Random &random) {
  EncodeOp op = pickFeedback(step, random);
  if (!op)
    return nullptr;
  op.getNextResidual().replaceAllUsesWith(op.getResidual());
  if (random.chance(50))
    return op; // what is left over is dropped
  op.getOutput().replaceAllUsesWith(encodeAlone(op));
  return op;
}

Operation *bagua::proofs::repeatResidual(StepOp step, Random &random) {
  EncodeOp op = pickFeedback(step, random);
  if (!op)
    return nullptr;
  OpBuilder builder(op);
  op.getInputMutable().assign(
      addUp(builder, op.getLoc(), op.getInput(), op.getResidual(), 1.0f));
  return op;
}

/// The linears that add a residual to one other value.
static std::vector<LinearOp> sumsOf(StepOp step) {
  std::vector<LinearOp> sums;
  for (unsigned argument : step.getStateArguments()) {
    BlockArgument residual = step.getBody().getArgument(argument);
    if (step.getArgument(argument).getRole() == Role::Residual &&
        residual.hasOneUse())
      if (auto sum = dyn_cast<LinearOp>(*residual.user_begin()))
        if (sum.getInputs().size() == 2 && sum.getInputs()[1] == residual)
          sums.push_back(sum);
  }
  return sums;
}

/// The op that makes what a sum with a residual has left over.
static Operation *findRest(StepOp step, LinearOp sum) {
  auto residual = cast<BlockArgument>(sum.getInputs()[1]);
  for (auto [value, argument] :
       llvm::zip_equal(step.getYield().getValues(), step.getStateArguments()))
    if (argument == residual.getArgNumber())
      return value.getDefiningOp();
  return nullptr;
}

Operation *bagua::proofs::withholdResidual(StepOp step, Random &random) {
  std::vector<LinearOp> sums = sumsOf(step);
  EncodeOp op = pickFeedback(step, random);
  if (!sums.empty() && (!op || random.chance(50))) {
    LinearOp sum = random.pick(sums);
    llvm::SmallPtrSet<Operation *, 2> kept{sum, findRest(step, sum)};
    sum.getOutput().replaceAllUsesExcept(sum.getInputs()[0], kept);
    return sum;
  }
  if (!op)
    return nullptr;
  op.getOutput().replaceAllUsesWith(encodeAlone(op));
  return op;
}

Operation *bagua::proofs::spoilResidual(StepOp step, Random &random) {
  std::vector<LinearOp> sums = sumsOf(step);
  EncodeOp op = pickFeedback(step, random);
  if (!sums.empty() && (!op || random.chance(50))) {
    LinearOp sum = random.pick(sums);
    if (random.chance(50))
      sum.setCoefficients({sum.getCoefficients()[0], 0.0f});
    else
      findRest(step, sum)->getResult(0).replaceAllUsesWith(sum.getOutput());
    return sum;
  }
  if (!op)
    return nullptr;
  OpBuilder builder(op);
  builder.setInsertionPointAfter(op);
  Value spoiled =
      random.chance(50)
          ? addUp(builder, op.getLoc(), op.getNextResidual(),
                  op.getNextResidual(), 0.0f)
          : addUp(builder, op.getLoc(), op.getInput(), op.getResidual(), 1.0f);
  op.getNextResidual().replaceAllUsesExcept(spoiled, spoiled.getDefiningOp());
  return op;
}

Operation *bagua::proofs::exchangeResiduals(StepOp step, Random &random) {
  std::vector<EncodeOp> encodes = feedbackOf(step);
  std::vector<std::pair<EncodeOp, EncodeOp>> alike;
  for (size_t i = 0; i < encodes.size(); ++i)
    for (size_t j = i + 1; j < encodes.size(); ++j)
      if (encodes[i].getResidual().getType() ==
          encodes[j].getResidual().getType())
        alike.emplace_back(encodes[i], encodes[j]);
  if (alike.empty())
    return nullptr;
  auto [a, b] = random.pick(alike);
  if (random.chance(50)) {
    Value kept = a.getResidual();
    a.getResidualMutable().assign(b.getResidual());
    b.getResidualMutable().assign(kept);
    return a;
  }
  YieldOp yield = step.getYield();
  for (OpOperand &operand : yield->getOpOperands()) {
    if (operand.get() == a.getNextResidual())
      operand.set(b.getNextResidual());
    else if (operand.get() == b.getNextResidual())
      operand.set(a.getNextResidual());
  }
  return a;
}

//===----------------------------------------------------------------------===//
// Updates
//===----------------------------------------------------------------------===//

Operation *bagua::proofs::pushTwice(StepOp step, Random &random) {
  if (!step.isAsynchronous())
    return nullptr;
  std::vector<SgdOp> updates;
  for (SgdOp op : opsOf<SgdOp>(step))
    if (op.getGrad().getDefiningOp<PushOp>())
      updates.push_back(op);
  if (updates.empty())
    return nullptr;
  SgdOp update = random.pick(updates);
  auto push = update.getGrad().getDefiningOp<PushOp>();
  OpBuilder builder(update);
  Operation *again = builder.clone(*push);
  if (random.chance(50)) {
    update.getGradMutable().assign(addUp(
        builder, update.getLoc(), push.getOutput(), again->getResult(0), 1.0f));
    return push;
  }
  builder.setInsertionPointAfter(update);
  Operation *twin = builder.clone(*update);
  update.getOutputs()[0].replaceAllUsesWith(twin->getResult(0));
  twin->setOperand(0, update.getOutputs()[0]);
  cast<SgdOp>(twin).getGradMutable().assign(again->getResult(0));
  return push;
}

Operation *bagua::proofs::addToStates(StepOp step, Random &) {
  YieldOp yield = step.getYield();
  yield.setAdd(true);
  return yield;
}

Operation *bagua::proofs::loseUpdate(StepOp step, Random &random) {
  std::vector<Operation *> updates;
  for (Operation &op : step.getBody().front().without_terminator())
    if (cast<StepOpInterface>(op).isUpdate() && op.getNumResults() > 1)
      updates.push_back(&op);
  if (updates.empty())
    return nullptr;
  Operation *op = random.pick(updates);
  unsigned index = random.between(1, op->getNumResults() - 1);
  Value made = op->getResult(index);
  made.replaceAllUsesWith(op->getOperand(index));
  OpBuilder builder(op);
  builder.setInsertionPointAfter(op);
  addUp(builder, op->getLoc(), made, made, 1.0f);
  return op;
}

//===----------------------------------------------------------------------===//
// Compute
//===----------------------------------------------------------------------===//

Operation *bagua::proofs::exchangeTwins(StepOp step, Random &random) {
  std::vector<std::pair<ComputeOp, ComputeOp>> twins;
  std::vector<ComputeOp> ops = opsOf<ComputeOp>(step);
  for (size_t i = 0; i < ops.size(); ++i)
    for (size_t j = i + 1; j < ops.size(); ++j)
      if (ops[i].getName() == ops[j].getName() &&
          ops[i].getPhase() == ops[j].getPhase() &&
          ops[i]->getOperands() == ops[j]->getOperands() &&
          ops[i].getResultTypes() == ops[j].getResultTypes())
        twins.emplace_back(ops[i], ops[j]);
  if (twins.empty())
    return nullptr;
  auto [a, b] = random.pick(twins);
  for (auto [ofA, ofB] : llvm::zip_equal(a.getResults(), b.getResults())) {
    SmallVector<OpOperand *> uses;
    for (OpOperand &use : ofA.getUses())
      uses.push_back(&use);
    ofB.replaceAllUsesWith(ofA);
    for (OpOperand *use : uses)
      use->set(ofB);
  }
  return a;
}
