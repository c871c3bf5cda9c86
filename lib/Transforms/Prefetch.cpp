//===- Prefetch.cpp - bagua-prefetch --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Describes a step whose program communicates by itself, asks Scheduling for an
// order, and puts the ops in it.
//
//===----------------------------------------------------------------------===//
#include "bagua/Scheduling/Search/Prefetching.h"

#include "bagua/Transforms/Algorithms/MicroBatches.h"
#include "bagua/Transforms/Algorithms/ProgramOps.h"
#include "bagua/Transforms/Bridge/ClusterReader.h"
#include "bagua/Transforms/Bridge/OpGraphReader.h"
#include "bagua/Transforms/Passes.h"
#include "bagua/Transforms/Utils/BlockOrder.h"
#include "bagua/Transforms/Utils/Report.h"

namespace bagua {
#define GEN_PASS_DEF_PREFETCHPASS
#include "bagua/Transforms/Passes.h.inc"
} // namespace bagua

using namespace mlir;
using namespace bagua;

/// Which ops make a gradient of a param that lies whole on several ranks of the
/// data axes, and so will be reduced.
static std::vector<bool> findAwaited(StepOp step, const BlockOrder &block) {
  auto arguments = step.numberArguments();
  auto isWhole = [&](Value gradient) {
    StringAttr param = getGradientParam(gradient);
    if (!param)
      return false;
    AxesAttr varies = step.getArgument(arguments.at(param)).getVaries();
    return llvm::any_of(step.getDataAxes().getNames(), [&](StringAttr axis) {
      return !varies || !varies.contains(axis);
    });
  };
  std::vector<bool> awaited;
  for (Operation *op : block)
    awaited.push_back(llvm::any_of(op->getResults(), isWhole));
  return awaited;
}

/// Sets the durations of ops that have none yet.
static void estimate(StepOp step, const BlockOrder &block, OpGraph &graph) {
  std::optional<DeviceRates> device = ratesOf(step);
  if (!device)
    return;
  for (auto [index, op] : llvm::enumerate(block))
    if (auto compute = dyn_cast<ComputeOp>(op); compute && !compute.getCostNs())
      graph.setNs(static_cast<int32_t>(index),
                  static_cast<double>(kernelNsOf(compute, *device)));
}

namespace {
struct PrefetchPass : public bagua::impl::PrefetchPassBase<PrefetchPass> {
  void runOnOperation() override {
    StepOp step = getOperation();
    auto ops = step.getBody().front().without_terminator();
    // Micro-batches have an order of their own.
    if (llvm::none_of(ops,
                      [](Operation &op) {
                        return !isa<ComputeOp>(op) &&
                               cast<StepOpInterface>(op).getCollective();
                      }) ||
        llvm::any_of(ops, [](Operation &op) { return microBatchOf(&op); }))
      return markAllAnalysesPreserved();
    BlockOrder block(step);
    FailureOr<ClusterModel> cluster = readClusterModel(step.lookupCluster());
    if (failed(cluster))
      return signalPassFailure();
    FailureOr<OpGraph> graph = readGraph(step, *cluster);
    if (failed(graph))
      return signalPassFailure();
    estimate(step, block, *graph);
    PrefetchProblem problem{*graph, {}, findAwaited(step, block)};
    for (BlockArgument argument : step.getBody().getArguments())
      problem.isBatch.push_back(
          step.getArgument(argument.getArgNumber()).getRole() == Role::Batch);
    CollectivePrices prices(*cluster);
    std::optional<Prefetch> found = prefetch(problem, prices);
    if (!found)
      return markAllAnalysesPreserved();
    applyOrder(step, llvm::map_to_vector(
                         found->order, [&](int32_t op) { return block[op]; }));
    if (Report *report = getReport(&getContext()))
      report->add(step, getArgument(),
                  llvm::json::Object{{"ahead_bytes", found->aheadBytes},
                                     {"before_ns", found->beforeNs},
                                     {"after_ns", found->afterNs}});
  }
};
} // namespace
