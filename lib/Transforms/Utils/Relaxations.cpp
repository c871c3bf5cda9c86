//===- Relaxations.cpp - Algorithms of distributed training as rows -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table; its only row so far is exact data parallelism.
//
//===----------------------------------------------------------------------===//
#include "bagua/Transforms/Utils/Relaxations.h"

#include "bagua/Dialect/Bagua/Sources.h"
#include "bagua/Transforms/Utils/GradientReduces.h"
#include "bagua/Transforms/Utils/Names.h"
#include "bagua/Transforms/Utils/ProgramUpdates.h"
#include "bagua/Transforms/Utils/StepQueries.h"

#include "mlir/IR/Builders.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace bagua;

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

/// The axes over which a value is pending, in cluster order; null for none.
static AxesAttr pendingAxes(const FactAnalysis &analysis, Value value) {
  SmallVector<StringAttr> names;
  const Facts &facts = analysis.factsOf(value);
  for (auto [axis, name] : llvm::enumerate(analysis.getContext().axisNames))
    if (facts[axis] == Fact::Pending)
      names.push_back(StringAttr::get(value.getContext(), name));
  return names.empty() ? nullptr : AxesAttr::get(value.getContext(), names);
}

/// Whether `user` is compute by which backward changes a gradient before the
/// step reduces it (to clip it on each rank, say).
static bool isOnGradient(Operation *user) {
  auto compute = dyn_cast<ComputeOp>(user);
  return compute && compute.getPhase() == PhaseKind::Backward &&
         llvm::none_of(compute->getResults(), getGradientParam);
}

/// Whether the step itself reduces the gradient over some of the axes, possibly
/// in a bucket, as another element type or, if `isByWayOfCompute`, after
/// backward has computed on it.
static bool isReduced(Value gradient, AxesAttr axes, bool isByWayOfCompute) {
  llvm::SmallPtrSet<Operation *, 16> seen;
  SmallVector<Value> open{gradient};
  while (!open.empty())
    for (Operation *user : open.pop_back_val().getUsers()) {
      auto stepOp = dyn_cast<StepOpInterface>(user);
      if (!stepOp || !seen.insert(user).second ||
          (stepOp.isRunByProgram() &&
           !(isByWayOfCompute && isOnGradient(user))))
        continue;
      AxesAttr over = stepOp.getGroupAxes(); // null for decode
      bool isOver =
          !over || llvm::any_of(over.getNames(), [&](StringAttr name) {
            return axes.contains(name.getValue());
          });
      if (stepOp.getReduction() && isOver)
        return true;
      open.append(user->result_begin(), user->result_end());
    }
  return false;
}

/// Whether ranks already agree over the axes on the next value of the
/// gradient's param.
static bool isParamReduced(StepOp step, const NextValues &nextValues,
                           const FactAnalysis &analysis, OpResult gradient,
                           AxesAttr axes) {
  unsigned param =
      analysis.getContext().arguments.at(getGradientParam(gradient));
  Value next = nextValues.of(step.getBody().getArgument(param));
  const Facts &facts = analysis.factsOf(next);
  for (auto [axis, name] : llvm::enumerate(analysis.getContext().axisNames))
    if (axes.contains(name) && facts[axis] != Fact::Replicated)
      return false;
  return true;
}

/// Whether the step itself reduces a gradient, which is then left alone.
static bool isReducedByStep(StepOp step, const NextValues &nextValues,
                            const FactAnalysis &analysis, OpResult gradient,
                            AxesAttr axes) {
  return isReduced(gradient, axes, /*isByWayOfCompute=*/false) ||
         (isReduced(gradient, axes, /*isByWayOfCompute=*/true) &&
          isParamReduced(step, nextValues, analysis, gradient, axes));
}

/// Whether the program gets the reduced gradient in the memory of the one that
/// it gave: the gradient has no other user, nothing is computed from it on the
/// way, it is made whole again if it was reduced in parts, and the step doesn't
/// give the result a name of its own.
static bool isReducedInPlace(Value gradient) {
  bool isReduced = false;
  for (Value value = gradient; value.hasOneUse();) {
    auto op = dyn_cast<StepOpInterface>(*value.getUsers().begin());
    if (!op || op.isRunByProgram() || (op.isArithmetic() && !op.isTransit()))
      return false;
    if (op->getNumResults() != 1)
      return isReduced;
    isReduced |= op.getReduction() != nullptr;
    value = op->getResult(0);
    if (isReduced && isWhole(value.getType()))
      return !op.getResultName(0);
  }
  return false;
}

/// The results that are marked as gradients, in block order.
static SmallVector<OpResult> markedGradients(StepOp step) {
  SmallVector<OpResult> gradients;
  for (auto compute : step.getBody().front().getOps<ComputeOp>())
    for (OpResult result : compute->getResults())
      if (getGradientParam(result))
        gradients.push_back(result);
  return gradients;
}

/// Whether an op reads a moment. A moment that is reduced instead of the
/// gradient belongs to the algorithm, whoever runs it.
static bool readsMoments(StepOp step, Operation *op) {
  return llvm::any_of(op->getOperands(), [&](Value operand) {
    auto argument = dyn_cast<BlockArgument>(operand);
    return argument && step.getArgument(argument.getArgNumber()).getRole() ==
                           Role::Optimizer;
  });
}

/// Finds the arithmetic on whole tensors by which the step changes a gradient
/// before it reduces it.
static void findUnreducedArithmetic(StepOp step, Value gradient, AxesAttr axes,
                                    llvm::SetVector<Operation *> &found) {
  SmallVector<Value> open{gradient};
  while (!open.empty())
    for (Operation *user : open.pop_back_val().getUsers()) {
      auto op = dyn_cast<StepOpInterface>(user);
      if (!op || op.isRunByProgram() || op.isUpdate() || op.getReduction() ||
          op->getNumResults() != 1 ||
          !isReduced(op->getResult(0), axes, /*isByWayOfCompute=*/false))
        continue;
      if (op.isArithmetic() && !op.isTransit() &&
          isWhole(op->getResult(0).getType()) && !readsMoments(step, op))
        found.insert(op);
      open.push_back(op->getResult(0));
    }
}

/// Adds to `found` the arithmetic of the runtime that makes `value` from a
/// batch or from compute, and returns the latest phase of these; adds and
/// returns nothing if other values take part.
static std::optional<PhaseKind>
findStatisticsArithmetic(StepOp step, Value value,
                         llvm::SetVector<Operation *> &found) {
  std::optional<PhaseKind> phase;
  llvm::SetVector<Operation *> ops;
  SmallVector<Value> open{value};
  while (!open.empty()) {
    Value next = open.pop_back_val();
    if (auto argument = dyn_cast<BlockArgument>(next)) {
      ArgumentAttr given = step.getArgument(argument.getArgNumber());
      if (given.getRole() == Role::Batch)
        phase = phase.value_or(PhaseKind::Forward);
      else if (given.getRole() != Role::Param)
        return std::nullopt;
      continue;
    }
    if (auto compute = next.getDefiningOp<ComputeOp>()) {
      if (getGradientParam(next))
        return std::nullopt;
      phase = std::max(phase.value_or(compute.getPhase()), compute.getPhase());
      continue;
    }
    auto op = dyn_cast<StepOpInterface>(next.getDefiningOp());
    if (!op || !op.isArithmetic() || op.isTransit() || op.isUpdate() ||
        !isWhole(next.getType()))
      return std::nullopt;
    if (ops.insert(op))
      llvm::append_range(open, op->getOperands());
  }
  if (phase)
    found.insert(ops.begin(), ops.end());
  return phase;
}

/// A contract describes only what the program gives, so --check could not
/// verify a reduction of something that the runtime computed. The arithmetic in
/// front of it moves to the program.
static int64_t giveStatistics(StepOp step) {
  int64_t count = 0;
  for (auto reduce : step.getBody().front().getOps<AllReduceOp>()) {
    llvm::SetVector<Operation *> found;
    std::optional<PhaseKind> phase =
        findStatisticsArithmetic(step, reduce.getInput(), found);
    for (Operation *op : found) {
      op->emitRemark() << "'" << op->getName()
                       << "' op is left to the program: it stands between "
                          "what the program has and a reduction";
      giveTimed(step, op).setPhase(*phase);
      ++count;
    }
  }
  return count;
}

int64_t bagua::giveUnreduced(StepOp step, const FactAnalysis &facts) {
  llvm::SetVector<Operation *> found;
  for (OpResult gradient : markedGradients(step))
    if (AxesAttr axes = pendingAxes(facts, gradient))
      findUnreducedArithmetic(step, gradient, axes, found);
  for (Operation *op : found) {
    op->emitRemark() << "'" << op->getName()
                     << "' op is left to the program: it stands between a "
                        "gradient and its reduction";
    giveTimed(step, op).setPhase(PhaseKind::Backward);
  }
  return static_cast<int64_t>(found.size()) + giveStatistics(step);
}

//===----------------------------------------------------------------------===//
// Contracts
//===----------------------------------------------------------------------===//

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
    if (kind.value_or(found) != found)
      return std::nullopt;
    kind = found;
    llvm::append_range(axes, op.getGroupAxes().getNames());
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
  if (!rule)
    return nullptr;
  MLIRContext *context = step.getContext();
  Value operand = op->getOperand(op.getStateCount());
  std::optional<ReducedTensor> gradient = reducedFrom(step, operand);
  if (!gradient || !isOnEveryRank(cast<RankedTensorType>(operand.getType())))
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

/// The tensors that relations are about or begin at.
static llvm::DenseSet<StringAttr> relatedBy(ArrayRef<Attribute> contract) {
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

static bool isOwnReduction(Operation *op) {
  return op->getNumResults() == 1 && reductionOf(op->getResult(0));
}

/// The relation between the ends of a chain of the step's own reductions, which
/// it names; null if they are of several kinds, which no relation can say.
static RelationAttr promiseChain(StepOp step, StepOpInterface last,
                                 StepNames &names) {
  Value source = last->getResult(0);
  while (StepOpInterface op = reductionOf(source))
    source = op->getOperand(0);
  names.nameValue(source);
  std::optional<ReducedTensor> reduced = reducedFrom(step, last->getResult(0));
  auto noPairs = DenseI64ArrayAttr::get(step.getContext(), {});
  StringAttr tensor = names.nameValue(last->getResult(0));
  return reduced && tensor
             ? RelationAttr::get(step.getContext(), tensor, reduced->of,
                                 *last.getRelation(), reduced->kind,
                                 reduced->over, 0, 0, noPairs)
             : nullptr;
}

/// Adds relations for the step's own communication, and names its operands and
/// results.
static void promiseExchanged(StepOp step,
                             SmallVectorImpl<Attribute> &contract) {
  StepNames names(step);
  llvm::SmallPtrSet<Operation *, 16> isStatistic;
  for (AllReduceOp reduce : findStatistics(step))
    isStatistic.insert(reduce);
  for (Operation &op : step.getBody().front()) {
    auto stepOp = dyn_cast<StepOpInterface>(op);
    if (!stepOp || !stepOp.getRelation())
      continue; // no check would know
    if (getGradientParam(op.getOperand(0)) &&
        isReducedInPlace(op.getOperand(0)))
      continue; // the gradient's own relation says it
    // In a chain of reductions, the program gets the result of the last one.
    if (!op.use_empty() && llvm::all_of(op.getUsers(), isOwnReduction))
      continue;
    if (reductionOf(op.getOperand(0))) {
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

//===----------------------------------------------------------------------===//
// all-reduce
//===----------------------------------------------------------------------===//

static SmallVector<OpResult> findUnreduced(StepOp step,
                                           const FactAnalysis &facts) {
  SmallVector<OpResult> gradients;
  NextValues next(step);
  for (OpResult gradient : markedGradients(step))
    if (AxesAttr axes = pendingAxes(facts, gradient);
        axes && !isReducedByStep(step, next, facts, gradient, axes))
      gradients.push_back(gradient);
  return gradients;
}

static void reduceByMean(StepOp step, const FactAnalysis &facts,
                         ArrayRef<OpResult> gradients) {
  auto mean = ReduceKindAttr::get(step.getContext(), ReduceKind::Mean);
  OpBuilder builder(step.getContext());
  for (OpResult gradient : gradients) {
    builder.setInsertionPointAfter(gradient.getOwner());
    auto reduction = builder.create<AllReduceOp>(
        gradient.getLoc(), mean, gradient, pendingAxes(facts, gradient));
    gradient.replaceAllUsesExcept(reduction.getResult(), reduction);
  }
}

/// Relations for gradients whose mean the program finds in their own memory.
static SmallVector<Attribute> promiseMeans(StepOp step,
                                           const FactAnalysis &facts,
                                           ArrayRef<OpResult> gradients) {
  SmallVector<Attribute> contract;
  auto noPairs = DenseI64ArrayAttr::get(step.getContext(), {});
  promiseExchanged(step, contract);
  llvm::DenseSet<StringAttr> updating;
  for (Attribute update : promiseUpdates(step))
    updating.insert(cast<UpdateAttr>(update).getOf());
  llvm::DenseSet<StringAttr> exchanged = relatedBy(contract);
  llvm::SmallPtrSet<Value, 16> unreduced(gradients.begin(), gradients.end());
  for (OpResult gradient : markedGradients(step)) {
    AxesAttr axes = pendingAxes(facts, gradient);
    StringAttr name = nameOf(step, gradient);
    if (!axes)
      continue;
    if (!unreduced.contains(gradient) && !isReducedInPlace(gradient)) {
      bool isGiven = llvm::any_of(gradient.getUsers(), [](Operation *user) {
        auto op = dyn_cast<StepOpInterface>(user);
        return op && !op.isRunByProgram();
      });
      if (isGiven && !exchanged.contains(name) && !updating.contains(name))
        emitRemark(gradient.getLoc())
            << "what becomes of '" << name.getValue()
            << "' is promised to nobody: the step computes on it before it "
               "reduces it, or uses it otherwise";
      continue;
    }
    contract.push_back(
        RelationAttr::get(step.getContext(), name, name, RelationKind::Reduced,
                          ReduceKind::Mean, axes, 0, 0, noPairs));
  }
  return contract;
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

static constexpr Relaxation kRelaxations[] = {
    // Synchronous data parallelism: the mean of all ranks.
    {kDataParallel, StrategyClass::Lossless, findUnreduced, promiseMeans,
     reduceByMean},
};

ArrayRef<Relaxation> bagua::getRelaxations() { return kRelaxations; }

const Relaxation *bagua::findRelaxation(std::string_view name) {
  const Relaxation *found =
      llvm::find_if(kRelaxations, [&](const Relaxation &relaxation) {
        return name == relaxation.name;
      });
  return found == std::end(kRelaxations) ? nullptr : found;
}

template <>
std::optional<RelaxationChoice> bagua::parseWord(std::string_view word) {
  const Relaxation *row = findRelaxation(word);
  return row ? std::optional(RelaxationChoice{row}) : std::nullopt;
}

template <>
std::string bagua::listWords<RelaxationChoice>(std::string_view separator,
                                               std::string_view before) {
  std::vector<std::string_view> names;
  for (const Relaxation &relaxation : kRelaxations)
    names.push_back(relaxation.name);
  return joinWords(names, separator, before);
}
