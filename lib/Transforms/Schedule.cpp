//===- Schedule.cpp - bagua-schedule --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Takes a step from graph level to scheduled level: gives the program its
// updates, asks Scheduling for streams and launch order, and writes both.
//
//===----------------------------------------------------------------------===//
#include "bagua/Scheduling/Prices/LaunchScheduling.h"
#include "bagua/Transforms/Bridge/ClusterReader.h"
#include "bagua/Transforms/Bridge/ProgramUpdates.h"
#include "bagua/Transforms/Passes.h"
#include "bagua/Transforms/Utils/BlockOrder.h"
#include "bagua/Transforms/Utils/Report.h"
#include "bagua/Transforms/Utils/StepQueries.h"

#include "mlir/IR/Builders.h"

namespace bagua {
#define GEN_PASS_DEF_SCHEDULEPASS
#include "bagua/Transforms/Passes.h.inc"
} // namespace bagua

using namespace mlir;
using namespace bagua;

//===----------------------------------------------------------------------===//
// Writing the schedule
//===----------------------------------------------------------------------===//

/// The value that shows that an op has run: a gradient that it makes, else its
/// first result; null if it has no result.
static Value signOf(Operation *op) {
  auto made = llvm::find_if(op->getResults(), getGradientParam);
  if (made != op->result_end())
    return *made;
  return op->getNumResults() ? op->getResult(0) : Value();
}

/// Writes streams, launch order and waits.
static void applySchedule(StepOp step, const OpGraph &graph,
                          const LaunchSchedule &schedule) {
  MLIRContext *context = step.getContext();
  BlockOrder block(step);
  SmallVector<Attribute> streams;
  for (const LaunchSchedule::Stream &stream : schedule.streams)
    streams.push_back(StringAttr::get(context, stream.name));
  step.setStreamsAttr(ArrayAttr::get(context, streams));
  SmallVector<Operation *> order;
  for (int32_t op : schedule.order) {
    order.push_back(block[op]);
    cast<StepOpInterface>(block[op]).setStreamAttr(
        cast<StringAttr>(streams[schedule.streamOf[op]]));
    if (schedule.lateBefore[op] >= 0)
      cast<ComputeOp>(block[op]).setLate(true);
  }
  applyOrder(step, order);
  for (const LaunchSchedule::Delay &delay : schedule.delays) {
    Operation *op = block[delay.op];
    if (auto compute = dyn_cast<ComputeOp>(op)) {
      for (int32_t state : delay.after)
        compute.getInputsMutable().append(
            step.getBody().getArgument(OpGraph::stateOf(state)));
      continue;
    }
    OpOperand &delayed = op->getOpOperand(graph[delay.op].writtenOperand);
    SmallVector<Value> signs;
    for (int32_t after : delay.after)
      if (Value sign = signOf(block[after]); sign && sign != delayed.get())
        signs.push_back(sign);
    if (signs.empty())
      continue;
    OpBuilder builder(op);
    delayed.set(
        builder.create<AfterOp>(op->getLoc(), delayed.get(), signs,
                                cast<StepOpInterface>(op).getStreamAttr()));
  }
}

static llvm::json::Object countByStream(StepOp step) {
  llvm::json::Object counts;
  for (auto stream : step.getStreamsAttr().getAsRange<StringAttr>())
    counts[stream.getValue()] = llvm::count_if(
        step.getBody().front().without_terminator(), [&](Operation &op) {
          return cast<StepOpInterface>(op).getStreamAttr() == stream;
        });
  return counts;
}

namespace {
struct SchedulePass : public bagua::impl::SchedulePassBase<SchedulePass> {
  using SchedulePassBase::SchedulePassBase;

  void runOnOperation() override {
    StepOp step = getOperation();
    if (step.isScheduled()) {
      step.emitError("expected a step at graph level, found one with streams");
      return signalPassFailure();
    }
    if (creditBytes < 0) {
      step.emitError() << "expected credit-bytes of at least 0, found "
                       << creditBytes.getValue();
      return signalPassFailure();
    }
    int64_t given =
        updates == UpdatesBy::Runtime ? 0 : giveUpdatesToProgram(step);
    FailureOr<ClusterModel> cluster = readClusterModel(step.lookupCluster());
    if (failed(cluster))
      return signalPassFailure();
    FailureOr<SharedStep> shared = giveProgramsOwn(step, *cluster);
    if (failed(shared))
      return signalPassFailure();
    given += shared->given;
    for (auto &[location, reason] : shared->reasons)
      emitRemark(location) << reason;
    if (updates == UpdatesBy::Late)
      offerLate(step, shared->graph);
    const OpGraph &graph = shared->graph;
    CollectivePrices prices(*cluster);
    LaunchSchedule schedule =
        scheduleStep(graph, {policy, creditBytes}, prices);
    if (failed(expectSound(step, schedule.verify(graph))))
      return signalPassFailure();
    applySchedule(step, graph, schedule);
    if (Report *report = getReport(&getContext()))
      report->add(
          step, getArgument(),
          llvm::json::Object{
              {"policy", std::string(wordOf(policy.getValue()))},
              {"given_to_program", given},
              {"run_late", llvm::count_if(schedule.lateBefore,
                                          [](int32_t op) { return op >= 0; })},
              {"ops_of_streams", countByStream(step)}});
  }
};
} // namespace
