//===- SelectArchitecture.cpp - bagua-select-architecture -----------------===//
//
// Who sums gradients: the ranks themselves, or servers.
//
//===----------------------------------------------------------------------===//
#include "bagua/Dialect/Bagua/Layouts.h"
#include "bagua/Scheduling/ServerBalance.h"
#include "bagua/Transforms/Gradients.h"
#include "bagua/Transforms/Passes.h"
#include "bagua/Transforms/Report.h"

#include "mlir/IR/Builders.h"

namespace bagua {
#define GEN_PASS_DEF_SELECTARCHITECTUREPASS
#include "bagua/Transforms/Passes.h.inc"
} // namespace bagua

using namespace mlir;
using namespace bagua;

/// All_reduces of whole gradients, buckets or parts of them.
static SmallVector<AllReduceOp> collectReduces(StepOp step) {
  SmallVector<AllReduceOp> reduces;
  for (auto reduce : step.getBody().front().getOps<AllReduceOp>()) {
    auto type = dyn_cast<RankedTensorType>(reduce.getInput().getType());
    if (type && !getLayout(type) && !reduce.getCodecAttr() &&
        isOfGradients(reduce.getInput()))
      reduces.push_back(reduce);
  }
  return reduces;
}

static void pushAndPull(AllReduceOp reduce, int64_t server) {
  OpBuilder builder(reduce);
  auto type = cast<RankedTensorType>(reduce.getInput().getType());
  auto push = builder.create<PushOp>(
      reduce.getLoc(), pushEntry(type, LayoutEntry::onServer(server)),
      reduce.getKindAttr(), reduce.getInput(), reduce.getOverAttr(),
      ArrayAttr(), StringAttr(), ArrayAttr());
  auto pull = builder.create<PullOp>(
      reduce.getLoc(), type, push.getOutput(), reduce.getOverAttr(),
      reduce.getNamesAttr(), StringAttr(), ArrayAttr());
  reduce.getOutput().replaceAllUsesWith(pull.getOutput());
  reduce.erase();
}

namespace {
struct SelectArchitecturePass
    : public bagua::impl::SelectArchitecturePassBase<SelectArchitecturePass> {
  using SelectArchitecturePassBase::SelectArchitecturePassBase;

  void runOnOperation() override {
    StepOp step = getOperation();
    if (servers != "none" && servers != "spread" && servers != "balanced") {
      step.emitError() << "expected servers none, spread or balanced, found '"
                       << servers << "'";
      return signalPassFailure();
    }
    if (servers == "none")
      return;
    ClusterOp cluster = step.lookupCluster();
    if (cluster.getServerCount() == 0) {
      step.emitError() << "expected a cluster with servers, found none in '"
                       << cluster.getSymName() << "'";
      return signalPassFailure();
    }
    SmallVector<AllReduceOp> reduces = collectReduces(step);
    std::vector<int64_t> bytes;
    for (AllReduceOp reduce : reduces)
      bytes.push_back(maxLocalBytes(
          cast<RankedTensorType>(reduce.getInput().getType()), cluster));
    std::vector<int64_t> assigned(reduces.size(), LayoutEntry::kAllServers);
    if (servers == "balanced")
      assigned = balanceServers(bytes, cluster.getServerCount());
    llvm::json::Array decided;
    for (auto [reduce, server, size] :
         llvm::zip_equal(reduces, assigned, bytes)) {
      pushAndPull(reduce, server);
      decided.push_back(
          llvm::json::Object{{"bytes", size}, {"server", server}});
    }
    if (Report *report = getReport(&getContext()))
      report->add(step, getArgument(),
                  llvm::json::Object{{"servers", servers.getValue()},
                                     {"pushes", std::move(decided)}});
  }
};
} // namespace
