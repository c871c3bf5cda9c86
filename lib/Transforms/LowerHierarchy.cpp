//===- LowerHierarchy.cpp - bagua-lower-hierarchy -------------------------===//
//
// Asks Scheduling for each all_reduce's form and writes its collectives.
//
//===----------------------------------------------------------------------===//
#include "bagua/Dialect/Bagua/Layouts.h"
#include "bagua/Scheduling/CollectiveCost.h"
#include "bagua/Transforms/Passes.h"
#include "bagua/Transforms/Report.h"
#include "bagua/Transforms/StepModel.h"

#include "mlir/IR/Builders.h"

namespace bagua {
#define GEN_PASS_DEF_LOWERHIERARCHYPASS
#include "bagua/Transforms/Passes.h.inc"
} // namespace bagua

using namespace mlir;
using namespace bagua;

/// Whether the op is a whole tensor's, over more than one axis, without a
/// codec.
static bool canLower(AllReduceOp reduce) {
  auto type = dyn_cast<RankedTensorType>(reduce.getInput().getType());
  return type && !getLayout(type) && !reduce.getCodecAttr() &&
         reduce.getOver().getNames().size() > 1;
}

/// Writes the collectives of a form, in order; the last has the all_reduce's
/// own name, if any.
static Value writeForm(OpBuilder &builder, AllReduceOp reduce,
                       ArrayRef<CollectiveCall> calls) {
  auto step = cast<StepOp>(reduce->getParentOp());
  ClusterOp cluster = step.lookupCluster();
  Location location = reduce.getLoc();
  Value value = reduce.getInput();
  for (auto [index, call] : llvm::enumerate(calls)) {
    AxesAttr over = writeAxes(cluster, call.over);
    auto type = cast<RankedTensorType>(value.getType());
    ArrayAttr names =
        index + 1 == calls.size() ? reduce.getNamesAttr() : ArrayAttr();
    switch (call.collective) {
    case Collective::ReduceScatter:
      value = builder.create<ReduceScatterOp>(
          location, pushEntry(type, LayoutEntry::shard(over)),
          reduce.getKindAttr(), value, over, names, StringAttr(), ArrayAttr());
      break;
    case Collective::Reduce:
      value = builder.create<ReduceOp>(
          location, pushEntry(type, LayoutEntry::root(over)),
          reduce.getKindAttr(), value, over, names, StringAttr(), ArrayAttr());
      break;
    case Collective::AllReduce:
      value = builder.create<AllReduceOp>(
          location, type, reduce.getKindAttr(), value, CodecAttrInterface(),
          UnitAttr(), over, names, StringAttr(), ArrayAttr());
      break;
    case Collective::AllGather:
      value = builder.create<AllGatherOp>(
          location, popEntry(type, LayoutEntry::shard(over)), value, over,
          names, StringAttr(), ArrayAttr());
      break;
    case Collective::Broadcast:
      value = builder.create<BroadcastOp>(
          location, popEntry(type, LayoutEntry::root(over)), value, over, names,
          StringAttr(), ArrayAttr());
      break;
    default:
      llvm_unreachable("not a part of any form");
    }
  }
  return value;
}

namespace {
struct LowerHierarchyPass
    : public bagua::impl::LowerHierarchyPassBase<LowerHierarchyPass> {
  using LowerHierarchyPassBase::LowerHierarchyPassBase;

  void runOnOperation() override {
    StepOp step = getOperation();
    std::optional<FormSet> forms = parseForms(form.getValue());
    if (!forms) {
      step.emitError() << "expected form flat, leader, rail, multilevel or "
                          "cheapest, found '"
                       << form << "'";
      return signalPassFailure();
    }
    ClusterOp cluster = step.lookupCluster();
    FailureOr<ClusterModel> model = readClusterModel(cluster);
    if (failed(model))
      return signalPassFailure();
    llvm::json::Array decided;
    auto reduces = step.getBody().front().getOps<AllReduceOp>();
    for (AllReduceOp reduce : llvm::make_early_inc_range(reduces)) {
      if (!canLower(reduce))
        continue;
      AxisSet over = readAxes(cluster, reduce.getOver());
      int64_t bytes = maxLocalBytes(
          cast<RankedTensorType>(reduce.getInput().getType()), cluster);
      PricedForm best = cheapestForm(*model, bytes, over, *forms);
      decided.push_back(
          llvm::json::Object{{"bytes", bytes},
                             {"form", std::string(formName(best.form.kind))},
                             {"ns", best.ns}});
      if (best.form.kind == FormKind::Flat)
        continue;
      OpBuilder builder(reduce);
      Value result = writeForm(builder, reduce,
                               expandForm(*model, best.form, over, bytes));
      reduce.getOutput().replaceAllUsesWith(result);
      reduce.erase();
    }
    if (Report *report = getReport(&getContext()))
      report->add(step, getArgument(),
                  llvm::json::Object{{"all_reduces", std::move(decided)}});
  }
};
} // namespace
