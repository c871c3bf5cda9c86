//===- CompoundFaults.cpp - Faults at graph level that take several ops ---===//
//
// Written with the ops' generic builders, as a pass would.
//
//===----------------------------------------------------------------------===//
#include "CompoundFaults.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace bagua;
using namespace bagua::proofs;

namespace {
/// An op of the dialect without a stream and places.
template <typename OpTy>
Value make(OpBuilder &builder, Location loc, Type result, ValueRange operands,
           ArrayRef<NamedAttribute> attributes = {}) {
  OperationState state(loc, OpTy::getOperationName());
  state.addTypes(result);
  state.addOperands(operands);
  state.addAttributes(attributes);
  return builder.create(state)->getResult(0);
}
} // namespace

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

static NamedAttribute overOf(OpBuilder &builder, AxesAttr axes) {
  return builder.getNamedAttr("over", axes);
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
  Value part = make<SliceOp>(builder, op.getLoc(), kept, op.getInput());
  Value all = isWhole ? make<BroadcastOp>(builder, op.getLoc(), type, part,
                                          overOf(builder, over))
                      : make<AllGatherOp>(builder, op.getLoc(), type, part,
                                          overOf(builder, over));
  if (random.chance(50))
    op.getInputMutable().assign(all);
  else
    op.getOutput().replaceAllUsesWith(all);
  return op;
}

Operation *bagua::proofs::mixRanks(StepOp step, Random &random) {
  AllReduceOp op = pickReduction(step, random);
  if (!op)
    return nullptr;
  OpBuilder builder(op);
  auto type = cast<RankedTensorType>(op.getType());
  NamedAttribute over = overOf(builder, op.getOver());
  int64_t size = step.lookupCluster().getGroupSize(op.getOver());
  if (type.getRank() > 0 && type.getDimSize(0) % size == 0 &&
      random.chance(70)) {
    NamedAttribute split =
        builder.getNamedAttr("split_dim", builder.getI64IntegerAttr(0));
    NamedAttribute concat =
        builder.getNamedAttr("concat_dim", builder.getI64IntegerAttr(0));
    op.getInputMutable().assign(make<AllToAllOp>(
        builder, op.getLoc(), type, op.getInput(), {over, split, concat}));
    return op;
  }
  if (size % 2 != 0)
    return nullptr;
  NamedAttribute pattern = builder.getNamedAttr(
      "pattern", ExchangePatternAttr::get(builder.getContext(),
                                          ExchangePattern::ShiftOne));
  Value peer = make<ExchangeOp>(builder, op.getLoc(), type, op.getInput(),
                                {over, pattern});
  // A mean of what all have is the same whoever has it: of a part of them not.
  NamedAttribute coefficients = builder.getNamedAttr(
      "coefficients", builder.getDenseF32ArrayAttr({0.5f, 0.5f}));
  Value mixed = make<LinearOp>(builder, op.getLoc(), type,
                               {op.getInput(), peer}, coefficients);
  op.getOutput().replaceAllUsesWith(mixed);
  return op;
}

Operation *bagua::proofs::roundTerms(StepOp step, Random &random) {
  AllReduceOp op = pickReduction(step, random);
  if (!op)
    return nullptr;
  OpBuilder builder(op);
  auto type = cast<RankedTensorType>(op.getType());
  auto integers = RankedTensorType::get(type.getShape(), builder.getI32Type());
  Value rounded = make<CastOp>(builder, op.getLoc(), integers, op.getInput());
  op.getInputMutable().assign(
      make<CastOp>(builder, op.getLoc(), type, rounded));
  return op;
}

Operation *bagua::proofs::hideReduction(StepOp step, Random &random) {
  AllReduceOp op = pickReduction(step, random);
  if (!op)
    return nullptr;
  OpBuilder builder(op);
  NamedAttribute attributes[] = {
      builder.getNamedAttr("name", builder.getStringAttr("psum")),
      builder.getNamedAttr(
          "phase", PhaseKindAttr::get(builder.getContext(), PhaseKind::Update)),
      builder.getNamedAttr("communicates", builder.getUnitAttr())};
  op.getOutput().replaceAllUsesWith(make<ComputeOp>(
      builder, op.getLoc(), op.getType(), op.getInput(), attributes));
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

Operation *bagua::proofs::dropResidual(StepOp step, Random &random) {
  std::vector<EncodeOp> encodes = feedbackOf(step);
  if (encodes.empty())
    return nullptr;
  EncodeOp op = random.pick(encodes);
  op.getNextResidual().replaceAllUsesWith(op.getResidual());
  if (random.chance(50))
    return op; // what is left over is dropped
  OpBuilder builder(op);
  SmallVector<NamedAttribute> attributes;
  if (op.getOutput().getType().getCodecInterface().needsFeedback())
    attributes.push_back(
        builder.getNamedAttr("unchecked", builder.getUnitAttr()));
  op.getOutput().replaceAllUsesWith(make<EncodeOp>(builder, op.getLoc(),
                                                   op.getOutput().getType(),
                                                   op.getInput(), attributes));
  return op;
}

Operation *bagua::proofs::repeatResidual(StepOp step, Random &random) {
  std::vector<EncodeOp> encodes = feedbackOf(step);
  if (encodes.empty())
    return nullptr;
  EncodeOp op = random.pick(encodes);
  OpBuilder builder(op);
  NamedAttribute coefficients = builder.getNamedAttr(
      "coefficients", builder.getDenseF32ArrayAttr({1.0f, 1.0f}));
  op.getInputMutable().assign(
      make<LinearOp>(builder, op.getLoc(), op.getInput().getType(),
                     {op.getInput(), op.getResidual()}, coefficients));
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
