//===- Contract.cpp - What a step promises of the program's tensors -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Read from the step's own reductions and updates.
//
//===----------------------------------------------------------------------===//
#include "bagua/Transforms/Algorithms/Contract.h"

#include "bagua/Dialect/Bagua/Sources.h"
#include "bagua/Transforms/Algorithms/GradientQueries.h"
#include "bagua/Transforms/Algorithms/GradientReduces.h"
#include "bagua/Transforms/Utils/Names.h"
#include "bagua/Transforms/Utils/StepQueries.h"

#include "mlir/IR/Builders.h"

#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace bagua;

/// The promise of a collective of the step's own, between values that have
/// names by now.
static RelationAttr relationOf(StepOpInterface op, StringAttr of,
                               StringAttr tensor) {
  InstructionFields fields = op.getInstruction().value_or(InstructionFields());
  ReduceKindAttr kind = op.getReduction();
  return RelationAttr::get(
      op.getContext(), tensor, of, *op.getRelation(),
      kind ? kind.getValue() : ReduceKind::Sum, op.getGroupAxes(),
      fields.splitDim, fields.concatDim,
      DenseI64ArrayAttr::get(op.getContext(), fields.pairs));
}

/// The rate of an update, a number or an input's name; null for other rates.
static Attribute rateOf(StepOp step, StepOpInterface op,
                        const InstructionFields &fields) {
  if (fields.learningRate)
    return Builder(op.getContext()).getF32FloatAttr(*fields.learningRate);
  auto argument = dyn_cast<BlockArgument>(op->getOperands().back());
  if (!argument || step.getArgument(argument.getArgNumber()).isState())
    return nullptr;
  return step.getArgument(argument.getArgNumber()).getName();
}

namespace {
/// The reduction of a named tensor, possibly in phases that each leave a part.
struct ReducedTensor {
  StringAttr of;
  ReduceKind kind;
  AxesAttr over;
};
} // namespace

/// The reduction that makes a value; null for none.
static StepOpInterface reductionOf(Value value) {
  auto op = dyn_cast_or_null<StepOpInterface>(value.getDefiningOp());
  return op && op.isTransit() && op.getReduction() ? op : nullptr;
}

/// The reduction that a value is the result of, if nothing else was done to it.
static std::optional<ReducedTensor> reducedFrom(StepOp step, Value value) {
  std::optional<ReduceKind> kind;
  SmallVector<StringAttr> axes;
  if (auto cast = value.getDefiningOp<CastOp>())
    value = cast.getInput();
  while (StepOpInterface op = reductionOf(value)) {
    ReduceKind found = op.getReduction().getValue();
    AxesAttr group = op.getGroupAxes();
    // A decode combines terms that another op has brought.
    if (!group || kind.value_or(found) != found)
      return std::nullopt;
    kind = found;
    llvm::append_range(axes, group.getNames());
    value = op->getOperand(0);
  }
  StringAttr of = nameOf(step, value);
  if (!kind || !of)
    return std::nullopt;
  llvm::sort(axes, [cluster = step.lookupCluster()](StringAttr a,
                                                    StringAttr b) mutable {
    return *cluster.findAxis(a.getValue()) < *cluster.findAxis(b.getValue());
  });
  return ReducedTensor{of, *kind, AxesAttr::get(step.getContext(), axes)};
}

/// The state that an update reads, as a whole or as the rank's part.
static BlockArgument stateReadAs(Value value) {
  auto isCut = [](StepOpInterface op) {
    return op->getNumOperands() == 1 && op.isElementwise() &&
           !op.isArithmetic() && !op.getCollective();
  };
  while (auto op = dyn_cast_or_null<StepOpInterface>(value.getDefiningOp())) {
    if (!isCut(op))
      return nullptr;
    value = op->getOperand(0);
  }
  return cast<BlockArgument>(value);
}

/// Whether the result of an update, gathered if it is in parts, is the next
/// value of the state.
static bool becomes(const NextValues &next, Value made, BlockArgument state) {
  while (made != next.of(state)) {
    auto op = made.hasOneUse()
                  ? dyn_cast<StepOpInterface>(*made.getUsers().begin())
                  : nullptr;
    if (!op || !op.isTransit() || !op.getGroupAxes() || op.getReduction())
      return false;
    made = op->getResult(0);
  }
  return true;
}

/// The promise of an update of states, or of the rank's parts of them, by a
/// gradient that was just reduced, if the runtime runs the update; null for
/// others.
static UpdateAttr updateOf(StepOp step, const NextValues &nextValues,
                           StepOpInterface op) {
  std::optional<UpdateRule> rule = op.getUpdateRule();
  if (!rule || !rowOf(*rule).isPromised)
    return nullptr;
  MLIRContext *context = step.getContext();
  Value operand = op->getOperand(op.getStateCount());
  std::optional<ReducedTensor> gradient = reducedFrom(step, operand);
  if (!gradient ||
      !hasPartOnEveryRank(cast<RankedTensorType>(operand.getType())))
    return nullptr;
  SmallVector<Attribute> states;
  for (OpResult next : op->getResults()) {
    BlockArgument state = stateReadAs(op->getOperand(next.getResultNumber()));
    if (!state || !becomes(nextValues, next, state))
      return nullptr;
    states.push_back(step.getArgument(state.getArgNumber()).getName());
  }
  InstructionFields fields = *op.getInstruction();
  Attribute rate = rateOf(step, op, fields);
  if (!rate)
    return nullptr;
  return UpdateAttr::get(context, ArrayAttr::get(context, states), *rule,
                         DenseF32ArrayAttr::get(context, fields.constants),
                         fields.biasCorrection, rate, gradient->of,
                         gradient->kind, gradient->over);
}

SmallVector<Attribute> bagua::promiseUpdates(StepOp step) {
  SmallVector<Attribute> contract;
  NextValues next(step);
  for (Operation &op : step.getBody().front())
    if (auto stepOp = dyn_cast<StepOpInterface>(op))
      if (UpdateAttr update = updateOf(step, next, stepOp))
        contract.push_back(update);
  return contract;
}

llvm::DenseSet<StringAttr> bagua::relatedBy(ArrayRef<Attribute> contract) {
  llvm::DenseSet<StringAttr> tensors;
  for (Attribute entry : contract)
    if (auto relation = dyn_cast<RelationAttr>(entry)) {
      tensors.insert(relation.getTensor());
      tensors.insert(relation.getOf());
    }
  return tensors;
}

ContractTensors::ContractTensors(StepOp step) : step(step) {
  auto contract = step->getAttrOfType<ArrayAttr>(kContractAttr);
  isThere = contract != nullptr;
  if (!isThere)
    return;
  related = relatedBy(contract.getValue());
  for (Attribute entry : contract)
    if (auto update = dyn_cast<UpdateAttr>(entry))
      for (auto state : update.getStates().getAsRange<StringAttr>())
        updated.insert(state);
}

/// Whether a relation is about a tensor that the program gives and from which
/// the runtime makes the value.
bool ContractTensors::isPromised(Value value) const {
  auto visit = [&](Value from) {
    auto maker = dyn_cast_or_null<StepOpInterface>(from.getDefiningOp());
    if (!maker || maker.isUpdate())
      return WalkResult::skip();
    if (!maker.isRunByProgram())
      return WalkResult::advance();
    StringAttr name = nameOf(step, from);
    return name && related.contains(name) ? WalkResult::interrupt()
                                          : WalkResult::skip();
  };
  return walkOperands(value, visit).wasInterrupted();
}

bool ContractTensors::allow(StepOpInterface update) const {
  auto param = dyn_cast<BlockArgument>(update->getOperand(0));
  if (!isThere || !param)
    return true;
  Value gradient = update->getOperand(update.getStateCount());
  // If the program itself computes from a reduced gradient, it would give the
  // result for the update alone.
  bool isComputed = isa_and_nonnull<ComputeOp>(gradient.getDefiningOp()) &&
                    !getGradientParam(gradient);
  return updated.contains(nameOf(step, param)) ||
         (!isComputed && !isPromised(gradient));
}

/// Whether an op makes a value of parts whole again.
static bool isOwnGather(Operation *op) {
  auto stepOp = dyn_cast_or_null<StepOpInterface>(op);
  return stepOp && stepOp.isTransit() &&
         stepOp.getCollective() == Collective::AllGather;
}

/// The value of parts that gathers make whole; the value itself if none does.
static Value beforeGathers(Value value) {
  while (isOwnGather(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  return value;
}

/// The first operand of a chain of the step's own reductions, and of gathers
/// after them, that makes a value.
static Value sourceOf(Value value) {
  value = beforeGathers(value);
  while (StepOpInterface op = reductionOf(value))
    value = op->getOperand(0);
  return value;
}

/// Whether an op is part of such a chain behind its operand.
static bool continuesChain(Operation *op) {
  return isOwnGather(op) ||
         (op->getNumResults() == 1 && reductionOf(op->getResult(0)));
}

/// Whether an op gathers the parts of a reduced tensor that was whole before.
/// The result is that of an all_reduce.
static bool endsInGather(Operation *op) {
  return isOwnGather(op) && reductionOf(beforeGathers(op->getResult(0))) &&
         isWhole(sourceOf(op->getResult(0)).getType()) &&
         isWhole(op->getResult(0).getType());
}

/// The relation between the ends of a chain, which it names; null if its
/// reductions are of several kinds, which no relation can say.
static RelationAttr promiseChain(StepOp step, StepOpInterface last,
                                 StepNames &names) {
  names.nameValue(sourceOf(last->getResult(0)));
  std::optional<ReducedTensor> reduced =
      reducedFrom(step, beforeGathers(last->getResult(0)));
  auto noPairs = DenseI64ArrayAttr::get(step.getContext(), {});
  StringAttr tensor = names.nameValue(last->getResult(0));
  return reduced && tensor
             ? RelationAttr::get(
                   step.getContext(), tensor, reduced->of,
                   last.getRelation().value_or(RelationKind::Reduced),
                   reduced->kind, reduced->over, 0, 0, noPairs)
             : nullptr;
}

void bagua::promiseExchanged(StepOp step,
                             SmallVectorImpl<Attribute> &contract) {
  StepNames names(step);
  NextValues next(step);
  llvm::SmallPtrSet<Operation *, 16> isStatistic;
  for (AllReduceOp reduce : findStatistics(step))
    isStatistic.insert(reduce);
  for (Operation &op : step.getBody().front()) {
    auto stepOp = dyn_cast<StepOpInterface>(op);
    if (!stepOp || (!stepOp.getRelation() && !endsInGather(&op)))
      continue; // no check would know
    // A state that is reduced, and not used any more, stays in its place.
    auto state = dyn_cast<BlockArgument>(sourceOf(op.getResult(0)));
    if (state && next.of(state) == op.getResult(0) &&
        llvm::all_of(op.getUsers(), llvm::IsaPred<YieldOp>))
      continue;
    Value given =
        isOwnGather(&op) ? sourceOf(op.getResult(0)) : op.getOperand(0);
    if (getGradientParam(given) && isReducedInPlace(given))
      continue; // the gradient's own relation says it
    // In a chain, the program gets the result of the last op.
    if (!op.use_empty() && llvm::all_of(op.getUsers(), continuesChain))
      continue;
    if (endsInGather(&op) || reductionOf(op.getOperand(0))) {
      if (RelationAttr relation = promiseChain(step, stepOp, names))
        contract.push_back(relation);
      continue;
    }
    StringAttr of = names.nameValue(op.getOperand(0));
    // A statistic is reduced in the memory in which the program gave it.
    StringAttr tensor = !of || isStatistic.contains(&op)
                            ? of
                            : names.nameValue(op.getResult(0));
    if (tensor)
      contract.push_back(relationOf(stepOp, of, tensor));
  }
}
