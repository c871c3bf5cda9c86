//===- SelectArchitecture.cpp - bagua-select-architecture -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Who sums gradients: the ranks themselves, or servers.
//
//===----------------------------------------------------------------------===//
#include "bagua/Dialect/Bagua/Layouts.h"
#include "bagua/Scheduling/ServerBalance.h"
#include "bagua/Transforms/Passes.h"
#include "bagua/Transforms/Utils/ClusterReader.h"
#include "bagua/Transforms/Utils/GradientReduces.h"
#include "bagua/Transforms/Utils/MessageWriter.h"
#include "bagua/Transforms/Utils/Report.h"
#include "bagua/Transforms/Utils/StepQueries.h"

#include "mlir/IR/Builders.h"

namespace bagua {
#define GEN_PASS_DEF_SELECTARCHITECTUREPASS
#include "bagua/Transforms/Passes.h.inc"
} // namespace bagua

using namespace mlir;
using namespace bagua;

/// All_reduces of gradients, buckets or parts of them. Those of shards must be
/// over all other axes: servers sum everything.
static SmallVector<AllReduceOp> collectReduces(StepOp step) {
  SmallVector<AllReduceOp> reduces;
  for (auto reduce : step.getBody().front().getOps<AllReduceOp>()) {
    if (isOnEveryRank(logicalTensor(reduce.getInput().getType())) &&
        isOfGradients(reduce.getInput()))
      reduces.push_back(reduce);
  }
  return reduces;
}

static void pushAndPull(AllReduceOp reduce, const ClusterModel &cluster,
                        int64_t server) {
  OpBuilder builder(reduce);
  std::vector<MessageStep> steps =
      expandMessage(cluster, messageOf(reduce), {FormKind::Servers, 0});
  for (MessageStep &step : steps)
    step.call.server = server;
  reduce.getOutput().replaceAllUsesWith(writeMessage(builder, reduce, steps));
  reduce.erase();
}

namespace {
struct SelectArchitecturePass
    : public bagua::impl::SelectArchitecturePassBase<SelectArchitecturePass> {
  using SelectArchitecturePassBase::SelectArchitecturePassBase;

  void runOnOperation() override {
    StepOp step = getOperation();
    if (servers == ServerUse::None)
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
    FailureOr<ClusterModel> model = readClusterModel(cluster);
    if (failed(model))
      return signalPassFailure();
    if (servers == ServerUse::Balanced)
      assigned = balanceServers(bytes, serverCapacities(*model));
    llvm::json::Array decided;
    for (auto [reduce, server, size] :
         llvm::zip_equal(reduces, assigned, bytes)) {
      if (failed(expectServed(reduce, *model)))
        return signalPassFailure();
      pushAndPull(reduce, *model, server);
      decided.push_back(
          llvm::json::Object{{"bytes", size}, {"server", server}});
    }
    if (Report *report = getReport(&getContext()))
      report->add(step, getArgument(),
                  llvm::json::Object{
                      {"servers", std::string(wordOf(servers.getValue()))},
                      {"pushes", std::move(decided)}});
  }
};
} // namespace
