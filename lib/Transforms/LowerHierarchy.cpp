//===- LowerHierarchy.cpp - bagua-lower-hierarchy -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks Scheduling for each all_reduce's form and, where servers sum, for their
// shares, and writes the collectives.
//
//===----------------------------------------------------------------------===//
#include "bagua/Dialect/Bagua/Layouts.h"
#include "bagua/Scheduling/ServerBalance.h"
#include "bagua/Transforms/Passes.h"
#include "bagua/Transforms/Utils/ClusterReader.h"
#include "bagua/Transforms/Utils/GradientReduces.h"
#include "bagua/Transforms/Utils/MessageWriter.h"
#include "bagua/Transforms/Utils/Report.h"

namespace bagua {
#define GEN_PASS_DEF_LOWERHIERARCHYPASS
#include "bagua/Transforms/Passes.h.inc"
} // namespace bagua

using namespace mlir;
using namespace bagua;

namespace {
/// An all_reduce and the form that it takes.
struct FormedReduce {
  AllReduceOp op;
  Message message;
  PricedForm priced;
  /// The server that sums, or all of them.
  int64_t server = LayoutEntry::kAllServers;

  bool isServed() const {
    return shapeOf(priced.form.kind).summedBy == SummedBy::Servers;
  }
};

struct LowerHierarchyPass
    : public bagua::impl::LowerHierarchyPassBase<LowerHierarchyPass> {
  using LowerHierarchyPassBase::LowerHierarchyPassBase;

  void runOnOperation() override {
    StepOp step = getOperation();
    FailureOr<ClusterModel> model = readClusterModel(step.lookupCluster());
    if (failed(model) || failed(expectServers()))
      return signalPassFailure();
    SmallVector<FormedReduce> reduces;
    for (auto reduce : step.getBody().front().getOps<AllReduceOp>())
      if (failed(choose(reduce, *model, reduces)))
        return signalPassFailure();
    if (servers == ServerUse::Balanced)
      assignServers(reduces, *model);
    bool isChanged = false;
    llvm::json::Array decided;
    for (FormedReduce &reduce : reduces) {
      decided.push_back(describe(reduce));
      isChanged |= write(reduce, *model);
    }
    if (!isChanged)
      markAllAnalysesPreserved();
    if (Report *report = getReport(&getContext()))
      report->add(step, getArgument(),
                  llvm::json::Object{{"all_reduces", std::move(decided)}});
  }

private:
  LogicalResult expectServers() {
    StepOp step = getOperation();
    ClusterOp cluster = step.lookupCluster();
    if (servers == ServerUse::None || cluster.getServerCount() > 0)
      return success();
    return step.emitError()
           << "expected a cluster with servers, found none in '"
           << cluster.getSymName() << "'";
  }

  /// Appends the all_reduce with its form, unless it stays as it is: a part of
  /// a tensor is no level of a hierarchy, but servers can sum it.
  LogicalResult choose(AllReduceOp reduce, const ClusterModel &model,
                       SmallVectorImpl<FormedReduce> &reduces) {
    if (!canTakeForm(reduce))
      return success();
    RankedTensorType type = logicalTensor(reduce.getInput().getType());
    bool isGradient = isOfGradients(reduce.getInput());
    bool isServed = servers != ServerUse::None && isGradient;
    if (getLayout(type) && !isServed)
      return success();
    // What a pass before this one has chosen is the form itself.
    bool isChosen = reduce->hasAttr(kFormAttr);
    FailureOr<FormChoice> choice =
        readChoice(reduce, kFormAttr, "form", form.getValue());
    if (failed(choice))
      return failure();
    AllowedForms allowed = formsOf(*choice);
    if (getLayout(type))
      allowed = servedForms(FormChoice(FormKind::Flat));
    else if (!isChosen && isServed)
      allowed = servedForms(*choice);
    else if (!isChosen && !isGradient)
      allowed = hierarchiesOf(allowed.forms);
    bool needsServers =
        allowed.forms & kServerForms || allowed.otherwise == FormKind::Servers;
    if (needsServers && failed(expectServed(reduce, model)))
      return failure();
    FormedReduce &formed = reduces.emplace_back();
    formed.op = reduce;
    formed.message = messageOf(reduce);
    formed.priced = cheapestForm(model, formed.message, allowed);
    return success();
  }

  /// One server for each of those that servers sum.
  static void assignServers(MutableArrayRef<FormedReduce> reduces,
                            const ClusterModel &model) {
    SmallVector<FormedReduce *> served;
    std::vector<int64_t> bytes;
    for (FormedReduce &reduce : reduces)
      if (reduce.isServed()) {
        served.push_back(&reduce);
        bytes.push_back(servedBytes(model, reduce.message, reduce.priced.form));
      }
    std::vector<int64_t> assigned =
        balanceServers(bytes, serverCapacities(model));
    for (auto [reduce, server] : llvm::zip_equal(served, assigned))
      reduce->server = server;
  }

  static llvm::json::Object describe(const FormedReduce &reduce) {
    llvm::json::Object decided{
        {"bytes", reduce.message.bytes()},
        {"form", std::string(wordOf(reduce.priced.form.kind))},
        {"ns", reduce.priced.ns}};
    if (reduce.server != LayoutEntry::kAllServers)
      decided["server"] = reduce.server;
    return decided;
  }

  /// Whether the step is another behind that.
  static bool write(FormedReduce &reduce, const ClusterModel &model) {
    AllReduceOp op = reduce.op;
    if (reduce.priced.form.kind == FormKind::Flat &&
        reduce.message.wire.isNone())
      return op->removeAttr(kFormAttr) != nullptr;
    OpBuilder builder(op);
    op.getOutput().replaceAllUsesWith(
        writeMessage(builder, op,
                     expandMessage(model, reduce.message, reduce.priced.form,
                                   reduce.server)));
    op.erase();
    return true;
  }
};
} // namespace
