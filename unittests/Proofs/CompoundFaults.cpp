//===- CompoundFaults.cpp - Faults at graph level that take several ops ---===//
//
// Written with the ops' builders, as a pass would.
//
//===----------------------------------------------------------------------===//
#include "CompoundFaults.h"

#include "mlir/IR/Builders.h"

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

Operation *bagua::proofs::dropResidual(StepOp step, Random &random) {
  EncodeOp op = pickFeedback(step, random);
  if (!op)
    return nullptr;
  op.getNextResidual().replaceAllUsesWith(op.getResidual());
  if (random.chance(50))
    return op; // what is left over is dropped
  EncodedType type = op.getOutput().getType();
  auto alone = OpBuilder(op).create<EncodeOp>(
      op.getLoc(), type, Type(), op.getInput(), Value(),
      type.getCodecInterface().needsFeedback(), StringAttr(), ArrayAttr());
  op.getOutput().replaceAllUsesWith(alone.getOutput());
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
