//===- LowerHierarchy.cpp - bagua-lower-hierarchy -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks Scheduling for each all_reduce's form and writes its collectives.
//
//===----------------------------------------------------------------------===//
#include "bagua/Dialect/Bagua/Layouts.h"
#include "bagua/Transforms/Passes.h"
#include "bagua/Transforms/Utils/ClusterReader.h"
#include "bagua/Transforms/Utils/MessageWriter.h"
#include "bagua/Transforms/Utils/Report.h"

namespace bagua {
#define GEN_PASS_DEF_LOWERHIERARCHYPASS
#include "bagua/Transforms/Passes.h.inc"
} // namespace bagua

using namespace mlir;
using namespace bagua;

/// Whether the op is a whole tensor's.
static bool canLower(AllReduceOp reduce) {
  return reduce.whyNot(Rewriting::Hierarchy).empty() &&
         !getLayout(logicalTensor(reduce.getInput().getType()));
}

namespace {
struct LowerHierarchyPass
    : public bagua::impl::LowerHierarchyPassBase<LowerHierarchyPass> {
  using LowerHierarchyPassBase::LowerHierarchyPassBase;

  void runOnOperation() override {
    StepOp step = getOperation();
    FailureOr<ClusterModel> model = readClusterModel(step.lookupCluster());
    if (failed(model))
      return signalPassFailure();
    llvm::json::Array decided;
    bool isChanged = false;
    auto reduces = step.getBody().front().getOps<AllReduceOp>();
    for (AllReduceOp reduce : llvm::make_early_inc_range(reduces)) {
      if (!canLower(reduce))
        continue;
      FailureOr<FormChoice> choice =
          readChoice(reduce, kFormAttr, "form", form.getValue());
      if (failed(choice))
        return signalPassFailure();
      FormSet allowed = formsOf(*choice);
      if (allowed & kServerForms && failed(expectServed(reduce, *model)))
        return signalPassFailure();
      isChanged |= reduce->removeAttr(kFormAttr) != nullptr;
      Message message = messageOf(reduce);
      PricedForm best = cheapestForm(*model, message, allowed);
      decided.push_back(
          llvm::json::Object{{"bytes", message.bytes()},
                             {"form", std::string(wordOf(best.form.kind))},
                             {"ns", best.ns}});
      if (best.form.kind == FormKind::Flat && message.wire.isNone())
        continue;
      OpBuilder builder(reduce);
      Value result = writeMessage(builder, reduce,
                                  expandMessage(*model, message, best.form));
      reduce.getOutput().replaceAllUsesWith(result);
      reduce.erase();
      isChanged = true;
    }
    if (!isChanged)
      markAllAnalysesPreserved();
    if (Report *report = getReport(&getContext()))
      report->add(step, getArgument(),
                  llvm::json::Object{{"all_reduces", std::move(decided)}});
  }
};
} // namespace
