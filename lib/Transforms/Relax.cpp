//===- Relax.cpp - bagua-relax --------------------------------------------===//
//
// Puts the algorithm's communication on each gradient, and writes the step's
// contract. Only exact data parallelism so far.
//
//===----------------------------------------------------------------------===//
#include "bagua/Dialect/Bagua/FactAnalysis.h"
#include "bagua/Dialect/Bagua/Provenance.h"
#include "bagua/Transforms/Passes.h"
#include "bagua/Transforms/Utils/Names.h"
#include "bagua/Transforms/Utils/Report.h"
#include "bagua/Transforms/Utils/StepQueries.h"

#include "mlir/IR/Builders.h"

namespace bagua {
#define GEN_PASS_DEF_RELAXPASS
#include "bagua/Transforms/Passes.h.inc"
} // namespace bagua

using namespace mlir;
using namespace bagua;

/// The axes over which a value is pending, in cluster order; null for none.
static AxesAttr pendingAxes(const FactAnalysis &analysis, Value value) {
  SmallVector<StringAttr> names;
  const Facts &facts = analysis.factsOf(value);
  for (auto [axis, name] : llvm::enumerate(analysis.getContext().axisNames))
    if (facts[axis] == Fact::Pending)
      names.push_back(StringAttr::get(value.getContext(), name));
  return names.empty() ? nullptr : AxesAttr::get(value.getContext(), names);
}

/// What the step's own communication promises, for values that have names by
/// now; null where no check would know.
static RelationAttr relationOf(StepOpInterface op, StringAttr of,
                               StringAttr tensor) {
  std::optional<RelationKind> relation = op.getRelation();
  if (!relation)
    return nullptr;
  InstructionFields fields = op.getInstruction().value_or(InstructionFields());
  ReduceKindAttr kind = op.getReduction();
  return RelationAttr::get(op.getContext(), tensor, of, *relation,
                           kind ? kind.getValue() : ReduceKind::Sum,
                           op.getGroupAxes(), fields.splitDim,
                           fields.concatDim);
}

/// The rate of an update, a number or an input's name; null for others.
static Attribute rateOf(StepOp step, StepOpInterface op,
                        const InstructionFields &fields) {
  if (fields.learningRate)
    return Builder(op.getContext()).getF32FloatAttr(*fields.learningRate);
  auto argument = dyn_cast<BlockArgument>(op->getOperands().back());
  if (!argument || step.getArgument(argument.getArgNumber()).isState())
    return nullptr;
  return step.getArgument(argument.getArgNumber()).getName();
}

/// What an update of state arguments by a gradient that one all_reduce makes
/// promises, where the runtime runs it; null for others.
static UpdateAttr updateOf(StepOp step, StepOpInterface op) {
  std::optional<UpdateRule> rule = op.getUpdateRule();
  if (!rule)
    return nullptr;
  MLIRContext *context = step.getContext();
  Value gradient = op->getOperand(op.getStateCount());
  if (auto cast = gradient.getDefiningOp<CastOp>())
    gradient = cast.getInput();
  auto reduction = gradient.getDefiningOp<AllReduceOp>();
  StringAttr of = reduction ? nameOf(step, reduction.getInput()) : nullptr;
  if (!of)
    return nullptr;
  SmallVector<Attribute> states;
  for (OpResult next : op->getResults()) {
    auto argument =
        dyn_cast<BlockArgument>(op->getOperand(next.getResultNumber()));
    if (!argument || nextValueOf(step, argument) != next)
      return nullptr;
    states.push_back(step.getArgument(argument.getArgNumber()).getName());
  }
  InstructionFields fields = *op.getInstruction();
  Attribute rate = rateOf(step, op, fields);
  if (!rate)
    return nullptr;
  return UpdateAttr::get(
      context, ArrayAttr::get(context, states), *rule,
      DenseF32ArrayAttr::get(context, fields.constants), fields.biasCorrection,
      rate, of, reduction.getKind().getValue(), reduction.getGroupAxes());
}

namespace {
struct RelaxPass : public bagua::impl::RelaxPassBase<RelaxPass> {
  using RelaxPassBase::RelaxPassBase;

  void runOnOperation() override {
    StepOp step = getOperation();
    if (algorithm != "all-reduce") {
      step.emitError() << "expected algorithm all-reduce, found '" << algorithm
                       << "'";
      return signalPassFailure();
    }
    FactAnalysis analysis(step);
    if (failed(analysis.run()))
      return signalPassFailure();
    SmallVector<Attribute> contract;
    nameExchanged(step, contract);
    llvm::json::Array reduced = reduceGradients(step, analysis, contract);
    for (Operation &op : step.getBody().front())
      if (auto stepOp = dyn_cast<StepOpInterface>(op))
        if (UpdateAttr update = updateOf(step, stepOp))
          contract.push_back(update);
    step->setAttr("bagua.contract", ArrayAttr::get(&getContext(), contract));
    // To this, bagua-verify-graph holds the passes that follow.
    if (failed(recordMeaning(step)))
      return signalPassFailure();
    if (Report *report = getReport(&getContext()))
      report->add(step, getArgument(),
                  llvm::json::Object{
                      {"algorithm", algorithm.getValue()},
                      {"reduced", std::move(reduced)},
                      {"relations", static_cast<int64_t>(contract.size())}});
  }

private:
  /// Names what the step itself communicates, in and out.
  void nameExchanged(StepOp step, SmallVectorImpl<Attribute> &contract) {
    StepNames names(step);
    for (Operation &op : step.getBody().front()) {
      auto stepOp = dyn_cast<StepOpInterface>(op);
      if (!stepOp || !stepOp.getGroupAxes() || op.getNumResults() != 1)
        continue;
      if (getGradientParam(op.getOperand(0)) &&
          isReducedInPlace(op.getOperand(0)))
        continue; // the gradient's own relation says it
      StringAttr of = names.nameValue(op.getOperand(0));
      StringAttr tensor = of ? names.nameValue(op.getResult(0)) : nullptr;
      if (!tensor)
        continue;
      if (RelationAttr relation = relationOf(stepOp, of, tensor))
        contract.push_back(relation);
    }
  }

  /// The names of those that the step didn't reduce by itself.
  llvm::json::Array reduceGradients(StepOp step, FactAnalysis &analysis,
                                    SmallVectorImpl<Attribute> &contract) {
    llvm::json::Array added;
    MLIRContext *context = &getContext();
    auto mean = ReduceKindAttr::get(context, ReduceKind::Mean);
    OpBuilder builder(context);
    for (auto compute :
         llvm::make_early_inc_range(step.getBody().front().getOps<ComputeOp>()))
      for (OpResult gradient : compute->getResults()) {
        if (!getGradientParam(gradient))
          continue;
        AxesAttr axes = pendingAxes(analysis, gradient);
        if (!axes)
          continue;
        bool reduced = isReduced(gradient, axes);
        StringAttr name = compute.getResultName(gradient.getResultNumber());
        if (!reduced || isReducedInPlace(gradient))
          contract.push_back(RelationAttr::get(context, name, name,
                                               RelationKind::Reduced,
                                               ReduceKind::Mean, axes, 0, 0));
        if (reduced)
          continue;
        builder.setInsertionPointAfter(compute);
        auto reduction = builder.create<AllReduceOp>(
            gradient.getLoc(), gradient.getType(), mean, gradient,
            CodecAttrInterface(), UnitAttr(), axes, ArrayAttr(), StringAttr(),
            ArrayAttr());
        gradient.replaceAllUsesExcept(reduction.getResult(), reduction);
        added.push_back(name.getValue());
      }
    return added;
  }

  /// Whether the step reduces the gradient over some of the axes by itself,
  /// maybe in a bucket or as another element type: then it is left alone.
  static bool isReduced(Value gradient, AxesAttr axes) {
    return llvm::any_of(gradient.getUsers(), [&](Operation *user) {
      auto stepOp = dyn_cast<StepOpInterface>(user);
      if (!stepOp || stepOp.isRunByProgram())
        return false;
      AxesAttr over = stepOp.getGroupAxes(); // null for decode
      bool isOver =
          !over || llvm::any_of(over.getNames(), [&](StringAttr name) {
            return axes.contains(name.getValue());
          });
      return (stepOp.getReduction() && isOver) ||
             llvm::any_of(user->getResults(), [&](Value result) {
               return isReduced(result, axes);
             });
    });
  }

  /// Whether the program gets the reduced gradient where it gave its own:
  /// nobody else needs that, and the step doesn't give the result a name of its
  /// own.
  static bool isReducedInPlace(Value gradient) {
    if (!gradient.hasOneUse())
      return false;
    auto reduction = dyn_cast<AllReduceOp>(*gradient.getUsers().begin());
    return !reduction || !reduction.getNamesAttr();
  }
};
} // namespace
