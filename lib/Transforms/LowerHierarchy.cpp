//===- LowerHierarchy.cpp - bagua-lower-hierarchy -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks Scheduling for each all_reduce's form and, if servers sum, for the
// server of each message, and writes the collectives.
//
//===----------------------------------------------------------------------===//
#include "bagua/Dialect/Bagua/Layouts.h"
#include "bagua/Scheduling/Search/ServerBalance.h"
#include "bagua/Transforms/Algorithms/GradientReduces.h"
#include "bagua/Transforms/Bridge/ClusterReader.h"
#include "bagua/Transforms/Bridge/MessageWriter.h"
#include "bagua/Transforms/Passes.h"
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
  /// The server that sums the message, or all servers.
  int64_t server = LayoutEntry::kAllServers;

  bool isServed() const { return bagua::isServed(priced.form.kind); }
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
    if (servers == ServerUse::Balanced) {
      assign(reduces, *model);
      if (llvm::none_of(reduces, [](const FormedReduce &reduce) {
            return reduce.isServed();
          }))
        step.emitRemark("servers=balanced changes nothing: expected a message "
                        "that servers sum, found none");
    }
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

  /// Appends the all_reduce with its form, unless it stays unchanged. A part of
  /// a tensor is never reduced in levels, but servers can sum it.
  LogicalResult choose(AllReduceOp reduce, const ClusterModel &model,
                       SmallVectorImpl<FormedReduce> &reduces) {
    if (!canTakeForm(reduce))
      return success();
    RankedTensorType type = logicalTensor(reduce.getInput().getType());
    bool isGradient = isOfGradients(reduce.getInput());
    bool isServed = servers != ServerUse::None && isGradient;
    // A form that a pass before this one has chosen is the form itself.
    bool isChosen = reduce->hasAttr(kFormAttr);
    bool isPart = getLayout(type) != nullptr;
    if (isPart && !isServed && !isChosen)
      return success();
    FailureOr<FormChoice> choice =
        readChoice(reduce, kFormAttr, "form", form.getValue());
    if (failed(choice))
      return failure();
    bool isOfParts = *choice == FormChoice(FormKind::Flat) ||
                     *choice == FormChoice(FormKind::Servers);
    if (isPart && isChosen && !isOfParts)
      return reduce.emitOpError()
             << "expected flat or servers in '" << kFormAttr
             << "' for a part of a tensor, found "
             << reduce->getAttr(kFormAttr);
    AllowedForms allowed = isChosen
                               ? AllowedForms(formsOf(*choice))
                               : formsFor(*choice, servers != ServerUse::None,
                                          {isGradient, !isPart});
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

  /// Assigns one server to each all_reduce that servers sum.
  static void assign(MutableArrayRef<FormedReduce> reduces,
                     const ClusterModel &model) {
    std::vector<PlacedMessage> messages;
    for (const FormedReduce &reduce : reduces)
      messages.push_back({static_cast<int32_t>(messages.size()), reduce.message,
                          reduce.priced.form});
    for (auto [reduce, server] :
         llvm::zip_equal(reduces, assignServers(model, messages)))
      reduce.server = server;
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

  /// Writes the collectives of one all_reduce; returns whether that changed the
  /// step.
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
