//===- FindUnused.cpp - bagua-find-unused ---------------------------------===//
//
// Gradients that a rank may not have, and who is to know that none had one.
//
//===----------------------------------------------------------------------===//
#include "bagua/Transforms/Names.h"
#include "bagua/Transforms/Passes.h"
#include "bagua/Transforms/Report.h"
#include "bagua/Transforms/Updates.h"

#include "mlir/IR/Builders.h"
#include "llvm/Support/Regex.h"

namespace bagua {
#define GEN_PASS_DEF_FINDUNUSEDPASS
#include "bagua/Transforms/Passes.h.inc"
} // namespace bagua

using namespace mlir;
using namespace bagua;

/// What says of each of `params` whether any rank has used it: a byte each,
/// reduced. Forward has run before the first gradient is made.
static Value reduceUsed(StepOp step, ComputeOp first, int64_t params) {
  OpBuilder builder(first);
  MLIRContext *context = step.getContext();
  auto type = RankedTensorType::get({params}, builder.getIntegerType(8));
  auto used = builder.create<ComputeOp>(
      first.getLoc(), TypeRange(type), first.getOperands(),
      PhaseKindAttr::get(context, PhaseKind::Backward),
      builder.getStringAttr("find unused"), IntegerAttr(),
      builder.getI64IntegerAttr(params), IntegerAttr(), CostSourceAttr(),
      ArrayAttr(), StringAttr(), ArrayAttr());
  used.setResultInfo(0, ResultAttr::get(context, nullptr,
                                        StepNames(step).claim("used"), false));
  return builder.create<AllReduceOp>(
      first.getLoc(), type, ReduceKindAttr::get(context, ReduceKind::Max),
      used->getResult(0), CodecAttrInterface(), UnitAttr(),
      step.getDataAxesAttr(), ArrayAttr(), StringAttr(), ArrayAttr());
}

/// Has the op that makes a param's next value look at who used it.
static LogicalResult showToUpdate(StepOp step, Value next, StringRef param,
                                  Value used) {
  Operation *update = next.getDefiningOp();
  if (!update)
    return success(); // nobody changes it
  if (isa<SgdOp, AdamOp>(update))
    update = giveToProgram(step, update);
  if (!isa<ComputeOp>(update))
    return update->emitError()
           << "expected sgd, adam or compute to update param '" << param
           << "', which may be unused, found " << update->getName();
  update->insertOperands(update->getNumOperands(), used);
  return success();
}

namespace {
struct FindUnusedPass : public bagua::impl::FindUnusedPassBase<FindUnusedPass> {
  using FindUnusedPassBase::FindUnusedPassBase;

  void runOnOperation() override {
    StepOp step = getOperation();
    llvm::Regex pattern("^(" + params.getValue() + ")$");
    if (std::string why; !pattern.isValid(why)) {
      step.emitError() << "expected a regular expression, found '"
                       << params.getValue() << "': " << why;
      return signalPassFailure();
    }
    if (step->hasAttr("bagua.contract")) {
      step.emitError("expected a step before bagua-relax, found one with a "
                     "contract");
      return signalPassFailure();
    }
    ComputeOp first;
    llvm::StringSet<> matched;
    for (auto op : step.getBody().front().getOps<ComputeOp>())
      for (OpResult result : op->getResults()) {
        StringAttr param = getGradientParam(result);
        if (!param)
          continue;
        first = first ? first : op;
        if (!pattern.match(param.getValue()))
          continue;
        matched.insert(param.getValue());
        op.setResultInfo(
            result.getResultNumber(),
            ResultAttr::get(&getContext(), param, nullptr, /*optional=*/true));
      }
    if (matched.empty()) {
      step.emitError() << "expected a param with a gradient whose name matches "
                          "'"
                       << params.getValue() << "', found none";
      return signalPassFailure();
    }
    auto count = static_cast<int64_t>(matched.size());
    Value used = reduceUsed(step, first, count);
    for (auto [position, index] : llvm::enumerate(step.getStateArguments())) {
      StringRef name = step.getArgument(index).getName().getValue();
      if (matched.contains(name) &&
          failed(showToUpdate(step, step.getYield().getValues()[position], name,
                              used)))
        return signalPassFailure();
    }
    if (Report *report = getReport(&getContext()))
      report->add(step, getArgument(), llvm::json::Object{{"optional", count}});
  }
};
} // namespace
