//===- GraphMutator.cpp - Random faults at graph level --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One function a kind of fault.
//
//===----------------------------------------------------------------------===//
#include "GraphMutator.h"

#include "CompoundFaults.h"

#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace bagua;
using namespace bagua::proofs;

StringRef bagua::proofs::stringifyGraphMutation(GraphMutation mutation) {
  static constexpr StringRef kNames[kGraphMutationCount] = {
      "op dropped",       "chain of ops dropped", "op applied twice",
      "other axes",       "other kind",           "operands exchanged",
      "operand replaced", "values exchanged",     "grad mark moved",
      "one copy kept",    "ranks mixed",          "terms rounded",
      "terms laundered",  "computed on parts",    "reduction hidden",
      "residual dropped", "residual repeated",    "residual withheld",
      "residual spoiled", "residuals exchanged",  "pushed twice",
      "added to states",  "update lost",          "twins exchanged",
      "equal rewrite"};
  return kNames[static_cast<int>(mutation)];
}

namespace {
class GraphMutator {
public:
  GraphMutator(StepOp step, Random &random) : step(step), random(random) {
    for (Operation &op : step.getBody().front())
      ops.push_back(&op);
    for (BlockArgument argument : step.getBody().getArguments())
      values.push_back(argument);
    for (Operation *op : ops)
      values.insert(values.end(), op->result_begin(), op->result_end());
  }

  std::optional<GraphFault> run();

private:
  using Done = Operation *;

  Done dropOp();
  Done dropChain();
  Done duplicateOp();
  Done changeAxes();
  Done changeKind();
  Done exchangeOperands();
  Done replaceOperand();
  Done exchangeValues();
  Done moveMark();
  Done rewrite();
  Value reduceByParts(OpBuilder &builder, AllReduceOp op);
  Value reduceByAxis(OpBuilder &builder, AllReduceOp op);
  Value cutAndJoin(OpBuilder &builder, Value value);

  bool dependsOn(Value value, Value source);
  bool reachesProgram(Operation *op);
  bool isOwnCommunication(Operation *op);
  /// An op but the yield; compute less often than the rest.
  Operation *pickOp() {
    Operation *op = ops[random.below(ops.size() - 1)];
    return isa<ComputeOp>(op) && random.chance(70)
               ? ops[random.below(ops.size() - 1)]
               : op;
  }

  StepOp step;
  Random &random;
  std::vector<Operation *> ops;
  std::vector<Value> values;
  bool isInProgram = false;
};
} // namespace

/// Uses of each result become uses of an operand of its type.
GraphMutator::Done GraphMutator::dropOp() {
  Operation *op = pickOp();
  std::vector<std::pair<Value, Value>> rewired;
  for (Value result : op->getResults()) {
    std::vector<Value> same;
    for (Value operand : op->getOperands())
      if (operand.getType() == result.getType())
        same.push_back(operand);
    if (same.empty() && !result.use_empty())
      return nullptr;
    if (!same.empty())
      rewired.emplace_back(result, random.pick(same));
  }
  for (auto [result, operand] : rewired)
    result.replaceAllUsesWith(operand);
  isInProgram = isa<ComputeOp>(op);
  return op;
}

bool GraphMutator::dependsOn(Value value, Value source) {
  if (value == source)
    return true;
  Operation *op = value.getDefiningOp();
  return op && llvm::any_of(op->getOperands(), [&](Value operand) {
           return dependsOn(operand, source);
         });
}

/// Uses of a value become uses of one that it was made from: everything between
/// them is lost.
GraphMutator::Done GraphMutator::dropChain() {
  Value value = random.pick(values);
  Operation *op = value.getDefiningOp();
  std::vector<Value> sources;
  for (Value source : values)
    if (op && source != value && source.getType() == value.getType() &&
        !llvm::is_contained(op->getOperands(), source) &&
        dependsOn(value, source))
      sources.push_back(source);
  if (sources.empty())
    return nullptr;
  value.replaceAllUsesWith(random.pick(sources));
  isInProgram = isa<ComputeOp>(op);
  return op;
}

/// The op once more, on its own results.
GraphMutator::Done GraphMutator::duplicateOp() {
  Operation *op = pickOp();
  IRMapping mapping;
  llvm::DenseMap<Value, Value> again;
  unsigned next = 0;
  for (Value operand : op->getOperands())
    if (next < op->getNumResults() &&
        operand.getType() == op->getResult(next).getType() &&
        !again.count(operand)) {
      again[operand] = op->getResult(next++);
      mapping.map(operand, again[operand]);
    }
  if (next == 0)
    return nullptr;
  OpBuilder builder(op);
  builder.setInsertionPointAfter(op);
  Operation *twin = builder.clone(*op, mapping);
  twin->removeAttr("names");
  if (auto compute = dyn_cast<ComputeOp>(twin))
    compute.setResultInfoAttr(nullptr);
  for (auto [result, other] :
       llvm::zip_equal(op->getResults(), twin->getResults()))
    result.replaceAllUsesExcept(other, twin);
  isInProgram = isa<ComputeOp>(op);
  return op;
}

/// Another group. Where the op's own layouts speak of the old one, all of the
/// body follows, so that types fit.
GraphMutator::Done GraphMutator::changeAxes() {
  auto op = dyn_cast<StepOpInterface>(pickOp());
  AxesAttr old = op ? op.getGroupAxes() : nullptr;
  if (!old)
    return nullptr;
  AxesAttr all = step.lookupCluster().getAllAxes();
  SmallVector<StringAttr> chosen;
  for (StringAttr axis : all.getNames())
    if (random.chance(50))
      chosen.push_back(axis);
  AxesAttr axes = AxesAttr::get(step.getContext(), chosen);
  if (axes.empty() || axes == old)
    return nullptr;
  bool hasLayout =
      isa<ReduceScatterOp, AllGatherOp, ReduceOp, BroadcastOp>(*op);
  if (!hasLayout || random.chance(10)) {
    op->setAttr("over", axes);
    return op;
  }
  AttrTypeReplacer replacer;
  replacer.addReplacement(
      [&](AxesAttr found) { return found == old ? axes : found; });
  for (Operation *each : ops)
    replacer.replaceElementsIn(each, /*replaceAttrs=*/true,
                               /*replaceLocs=*/false, /*replaceTypes=*/true);
  return op;
}

GraphMutator::Done GraphMutator::changeKind() {
  auto op = dyn_cast<StepOpInterface>(pickOp());
  if (!op || !op.getReduction())
    return nullptr;
  auto kind = static_cast<ReduceKind>(random.below(kReduceKindCount));
  if (kind == op.getReduction().getValue())
    return nullptr;
  op->setAttr("kind", ReduceKindAttr::get(step.getContext(), kind));
  return op;
}

/// Two operands of one type, of one op or of two; in a bucket, of any type.
GraphMutator::Done GraphMutator::exchangeOperands() {
  Operation *op = random.pick(ops);
  Operation *other = random.chance(50) ? op : random.pick(ops);
  if (op->getNumOperands() == 0 || other->getNumOperands() == 0)
    return nullptr;
  OpOperand &a = op->getOpOperand(random.below(op->getNumOperands()));
  OpOperand &b = other->getOpOperand(random.below(other->getNumOperands()));
  bool fits = a.get().getType() == b.get().getType() ||
              (op == other && isa<ConcatOp>(op));
  if (a.get() == b.get() || !fits)
    return nullptr;
  Value kept = a.get();
  a.set(b.get());
  b.set(kept);
  isInProgram = isa<ComputeOp>(op) || isa<ComputeOp>(other);
  return isa<ComputeOp>(op) ? other : op;
}

GraphMutator::Done GraphMutator::replaceOperand() {
  Operation *op = random.pick(ops);
  if (op->getNumOperands() == 0)
    return nullptr;
  OpOperand &operand = op->getOpOperand(random.below(op->getNumOperands()));
  std::vector<Value> same;
  for (Value value : values)
    if (value != operand.get() && value.getType() == operand.get().getType())
      same.push_back(value);
  if (same.empty())
    return nullptr;
  operand.set(random.pick(same));
  isInProgram = isa<ComputeOp>(op);
  return op;
}

/// All uses of two values of one type.
GraphMutator::Done GraphMutator::exchangeValues() {
  Value a = random.pick(values), b = random.pick(values);
  if (a == b || a.getType() != b.getType() || !a.getDefiningOp())
    return nullptr;
  SmallVector<OpOperand *> usesOfA, usesOfB;
  for (OpOperand &use : a.getUses())
    usesOfA.push_back(&use);
  for (OpOperand &use : b.getUses())
    usesOfB.push_back(&use);
  auto isCompute = [](OpOperand *use) {
    return isa<ComputeOp>(use->getOwner());
  };
  isInProgram =
      llvm::any_of(usesOfA, isCompute) || llvm::any_of(usesOfB, isCompute);
  for (OpOperand *use : usesOfA)
    use->set(b);
  for (OpOperand *use : usesOfB)
    use->set(a);
  return a.getDefiningOp();
}

/// To another result of that shape, or with another param's mark.
GraphMutator::Done GraphMutator::moveMark() {
  std::vector<OpResult> marked, unmarked;
  for (Operation *op : ops)
    if (auto compute = dyn_cast<ComputeOp>(op))
      for (OpResult result : op->getResults()) {
        ResultAttr info = compute.getResultInfo(result.getResultNumber());
        (info && info.getGrad() ? marked : unmarked).push_back(result);
      }
  if (marked.empty())
    return nullptr;
  OpResult from = random.pick(marked);
  std::vector<OpResult> &others = random.chance(50) ? marked : unmarked;
  if (others.empty())
    return nullptr;
  OpResult to = random.pick(others);
  if (to == from || to.getType() != from.getType())
    return nullptr;
  auto infoOf = [](OpResult result) {
    return cast<ComputeOp>(result.getOwner())
        .getResultInfo(result.getResultNumber());
  };
  ResultAttr mark = infoOf(from), other = infoOf(to);
  cast<ComputeOp>(from.getOwner()).setResultInfo(from.getResultNumber(), other);
  cast<ComputeOp>(to.getOwner()).setResultInfo(to.getResultNumber(), mark);
  isInProgram = true;
  return from.getOwner();
}

//===----------------------------------------------------------------------===//
// Rewrites that change nothing
//===----------------------------------------------------------------------===//

Value GraphMutator::reduceByParts(OpBuilder &builder, AllReduceOp op) {
  auto type = cast<RankedTensorType>(op.getType());
  Type part = pushEntry(type, LayoutEntry::shard(op.getOver()));
  auto scattered = builder.create<ReduceScatterOp>(
      op.getLoc(), part, op.getKindAttr(), op.getInput(), op.getOverAttr());
  return builder.create<AllGatherOp>(op.getLoc(), type, scattered,
                                     op.getOverAttr());
}

Value GraphMutator::reduceByAxis(OpBuilder &builder, AllReduceOp op) {
  Value value = op.getInput();
  for (StringAttr axis : op.getOver().getNames())
    value =
        builder.create<AllReduceOp>(op.getLoc(), op.getKindAttr(), value,
                                    AxesAttr::get(step.getContext(), {axis}));
  return value;
}

Value GraphMutator::cutAndJoin(OpBuilder &builder, Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  int64_t first = random.below(type.getNumElements() + 1);
  auto pieceOf = [&](int64_t count) -> Type {
    return RankedTensorType::get({count}, type.getElementType());
  };
  auto split = builder.create<SplitOp>(
      value.getLoc(),
      TypeRange{pieceOf(first), pieceOf(type.getNumElements() - first)}, value);
  return builder.create<ConcatOp>(value.getLoc(), type, split.getOutputs());
}

GraphMutator::Done GraphMutator::rewrite() {
  Operation *op = pickOp();
  OpBuilder builder(op);
  if (auto reduce = dyn_cast<AllReduceOp>(op)) {
    if (isa<EncodedType>(reduce.getType()) || reduce.getCodecAttr() ||
        getLayout(cast<RankedTensorType>(reduce.getType())))
      return nullptr;
    Value result = random.chance(50) ? reduceByParts(builder, reduce)
                                     : reduceByAxis(builder, reduce);
    reduce.getOutput().replaceAllUsesWith(result);
    return op;
  }
  for (OpOperand &operand : op->getOpOperands()) {
    auto type = dyn_cast<RankedTensorType>(operand.get().getType());
    if (!type || getLayout(type) || random.chance(50))
      continue;
    operand.set(cutAndJoin(builder, operand.get()));
    return op;
  }
  return nullptr;
}

/// Whether forward or backward compute depends on the op. What the fault made
/// may have cycles.
bool GraphMutator::reachesProgram(Operation *op) {
  llvm::SmallPtrSet<Operation *, 16> seen{op};
  SmallVector<Operation *> open{op};
  while (!open.empty())
    for (Operation *user : open.pop_back_val()->getUsers()) {
      auto compute = dyn_cast<ComputeOp>(user);
      if (compute && compute.getPhase() != PhaseKind::Update)
        return true;
      if (seen.insert(user).second)
        open.push_back(user);
    }
  return false;
}

/// Communication of what the program computes beside gradients.
bool GraphMutator::isOwnCommunication(Operation *op) {
  auto stepOp = dyn_cast<StepOpInterface>(op);
  auto compute = stepOp && stepOp.getGroupAxes()
                     ? op->getOperand(0).getDefiningOp<ComputeOp>()
                     : ComputeOp();
  if (!compute)
    return false;
  unsigned index = cast<OpResult>(op->getOperand(0)).getResultNumber();
  ResultAttr info = compute.getResultInfo(index);
  return !info || !info.getGrad();
}

std::optional<GraphFault> GraphMutator::run() {
  // Weighted towards what the passes themselves write.
  static const std::vector<GraphMutation> kChoices = {
      GraphMutation::DropOp, GraphMutation::DropOp, GraphMutation::DropChain,
      GraphMutation::DuplicateOp, GraphMutation::DuplicateOp,
      GraphMutation::ChangeAxes, GraphMutation::ChangeAxes,
      GraphMutation::ChangeKind, GraphMutation::ChangeKind,
      GraphMutation::ExchangeOperands, GraphMutation::ExchangeOperands,
      GraphMutation::ReplaceOperand, GraphMutation::ReplaceOperand,
      GraphMutation::ExchangeValues, GraphMutation::MoveMark,
      GraphMutation::Rewrite, GraphMutation::Rewrite, GraphMutation::Rewrite,
      GraphMutation::Rewrite, GraphMutation::KeepOneCopy,
      GraphMutation::MixRanks, GraphMutation::RoundTerms,
      GraphMutation::LaunderTerms, GraphMutation::ComputeOnParts,
      GraphMutation::HideReduction, GraphMutation::AddToStates,
      GraphMutation::LoseUpdate, GraphMutation::ExchangeTwins,
      // What few steps have.
      GraphMutation::PushTwice, GraphMutation::PushTwice,
      GraphMutation::PushTwice, GraphMutation::PushTwice,
      GraphMutation::PushTwice, GraphMutation::DropResidual,
      GraphMutation::DropResidual, GraphMutation::RepeatResidual,
      GraphMutation::WithholdResidual, GraphMutation::SpoilResidual,
      GraphMutation::ExchangeResiduals, GraphMutation::ExchangeResiduals,
      GraphMutation::ExchangeResiduals, GraphMutation::ExchangeResiduals,
      GraphMutation::ExchangeResiduals, GraphMutation::ExchangeResiduals,
      GraphMutation::ExchangeResiduals, GraphMutation::ExchangeResiduals};
  GraphMutation mutation = random.pick(kChoices);
  auto apply = [&]() -> Done {
    switch (mutation) {
    case GraphMutation::DropOp:
      return dropOp();
    case GraphMutation::DropChain:
      return dropChain();
    case GraphMutation::DuplicateOp:
      return duplicateOp();
    case GraphMutation::ChangeAxes:
      return changeAxes();
    case GraphMutation::ChangeKind:
      return changeKind();
    case GraphMutation::ExchangeOperands:
      return exchangeOperands();
    case GraphMutation::ReplaceOperand:
      return replaceOperand();
    case GraphMutation::ExchangeValues:
      return exchangeValues();
    case GraphMutation::MoveMark:
      return moveMark();
    case GraphMutation::KeepOneCopy:
      return keepOneCopy(step, random);
    case GraphMutation::MixRanks:
      return mixRanks(step, random);
    case GraphMutation::RoundTerms:
      return roundTerms(step, random);
    case GraphMutation::LaunderTerms:
      return launderTerms(step, random);
    case GraphMutation::ComputeOnParts:
      return computeOnParts(step, random);
    case GraphMutation::HideReduction:
      return hideReduction(step, random);
    case GraphMutation::DropResidual:
      return dropResidual(step, random);
    case GraphMutation::RepeatResidual:
      return repeatResidual(step, random);
    case GraphMutation::WithholdResidual:
      return withholdResidual(step, random);
    case GraphMutation::SpoilResidual:
      return spoilResidual(step, random);
    case GraphMutation::ExchangeResiduals:
      return exchangeResiduals(step, random);
    case GraphMutation::PushTwice:
      return pushTwice(step, random);
    case GraphMutation::AddToStates:
      return addToStates(step, random);
    case GraphMutation::LoseUpdate:
      return loseUpdate(step, random);
    case GraphMutation::ExchangeTwins:
      return exchangeTwins(step, random);
    case GraphMutation::Rewrite:
      return rewrite();
    }
    llvm_unreachable("all mutations are handled");
  };
  if (ops.size() < 2)
    return std::nullopt;
  llvm::SmallPtrSet<Operation *, 16> used, own;
  for (Operation *op : ops) {
    if (reachesProgram(op))
      used.insert(op);
    if (isOwnCommunication(op))
      own.insert(op);
  }
  Operation *op = apply();
  if (!op)
    return std::nullopt;
  isInProgram |= used.contains(op) || reachesProgram(op) || own.contains(op);
  return GraphFault{mutation, op->getName().stripDialect().str(), isInProgram};
}

std::optional<GraphFault> bagua::proofs::mutateGraph(StepOp step,
                                                     Random &random) {
  return GraphMutator(step, random).run();
}
