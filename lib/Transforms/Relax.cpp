//===- Relax.cpp - bagua-relax --------------------------------------------===//
//
// Puts the algorithm's communication on each gradient, and writes the step's
// contract. Only exact data parallelism so far.
//
//===----------------------------------------------------------------------===//
#include "bagua/Dialect/Bagua/FactAnalysis.h"
#include "bagua/Transforms/Names.h"
#include "bagua/Transforms/Passes.h"

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

/// What the step's own communication promises, for values that have names by now.
static RelationAttr relationOf(Operation *op, StringAttr of, StringAttr tensor) {
  auto stepOp = cast<StepOpInterface>(op);
  auto allToAll = dyn_cast<AllToAllOp>(op);
  if (!allToAll && !isa<AllReduceOp>(op))
    return nullptr;
  return RelationAttr::get(
      op->getContext(), tensor, of,
      allToAll ? RelationKind::AllToAll : RelationKind::Reduced,
      allToAll ? ReduceKind::Sum : stepOp.getReduction().getValue(),
      stepOp.getGroupAxes(),
      allToAll ? allToAll.getSplitDim().value_or(0) : 0,
      allToAll ? allToAll.getConcatDim().value_or(0) : 0);
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
    reduceGradients(step, analysis, contract);
    step->setAttr("bagua.contract", ArrayAttr::get(&getContext(), contract));
  }

private:
  /// Names what the step itself communicates, in and out.
  void nameExchanged(StepOp step, SmallVectorImpl<Attribute> &contract) {
    StepNames names(step);
    for (Operation &op : step.getBody().front()) {
      auto stepOp = dyn_cast<StepOpInterface>(op);
      if (!stepOp || !stepOp.getGroupAxes() || op.getNumResults() != 1)
        continue;
      StringAttr of = names.nameValue(op.getOperand(0));
      StringAttr tensor = names.nameValue(op.getResult(0));
      if (!of || !tensor)
        continue;
      if (RelationAttr relation = relationOf(&op, of, tensor))
        contract.push_back(relation);
    }
  }

  void reduceGradients(StepOp step, FactAnalysis &analysis,
                       SmallVectorImpl<Attribute> &contract) {
    MLIRContext *context = &getContext();
    auto mean = ReduceKindAttr::get(context, ReduceKind::Mean);
    OpBuilder builder(context);
    for (auto compute :
         llvm::make_early_inc_range(step.getBody().front().getOps<ComputeOp>()))
      for (OpResult gradient : compute->getResults()) {
        ResultAttr info = compute.getResultInfo(gradient.getResultNumber());
        if (!info || !info.getGrad())
          continue;
        AxesAttr axes = pendingAxes(analysis, gradient);
        if (!axes)
          continue;
        StringAttr name = compute.getResultName(gradient.getResultNumber());
        contract.push_back(RelationAttr::get(context, name, name,
                                             RelationKind::Reduced,
                                             ReduceKind::Mean, axes, 0, 0));
        if (isReduced(gradient))
          continue;
        builder.setInsertionPointAfter(compute);
        auto reduced = builder.create<AllReduceOp>(
            gradient.getLoc(), gradient.getType(), mean, gradient,
            CodecAttrInterface(), UnitAttr(), axes, ArrayAttr(), StringAttr(),
            ArrayAttr());
        gradient.replaceAllUsesExcept(reduced.getResult(), reduced);
      }
  }

  /// Whether the step reduces the gradient by itself: then it is left alone.
  static bool isReduced(Value gradient) {
    return llvm::any_of(gradient.getUsers(), [](Operation *user) {
      auto stepOp = dyn_cast<StepOpInterface>(user);
      return stepOp && stepOp.getReduction();
    });
  }
};
} // namespace
