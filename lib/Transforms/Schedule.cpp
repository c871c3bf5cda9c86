//===- Schedule.cpp - bagua-schedule --------------------------------------===//
//
// From graph level to scheduled level: gives the program its optimizer, asks
// Scheduling for streams and launch order, and writes them.
//
//===----------------------------------------------------------------------===//
#include "bagua/Scheduling/Roofline.h"
#include "bagua/Scheduling/StepScheduling.h"
#include "bagua/Transforms/BlockOrder.h"
#include "bagua/Transforms/Passes.h"
#include "bagua/Transforms/Report.h"
#include "bagua/Transforms/StepModel.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/TypeUtilities.h"

namespace bagua {
#define GEN_PASS_DEF_SCHEDULEPASS
#include "bagua/Transforms/Passes.h.inc"
} // namespace bagua

using namespace mlir;
using namespace bagua;

//===----------------------------------------------------------------------===//
// The program's optimizer
//===----------------------------------------------------------------------===//

/// Replaces arithmetic on whole tensors by compute of the program's.
static void giveToProgram(StepOp step, Operation *op, DeviceAttr device) {
  OpBuilder builder(op);
  int64_t bytes = trafficOf(op);
  IntegerAttr cost;
  CostSourceAttr source;
  if (device) {
    cost = builder.getI64IntegerAttr(rooflineNs(
        0, bytes,
        {device.getFlopPerS(), device.getBytesPerS(), device.getLaunchNs()}));
    source = CostSourceAttr::get(builder.getContext(), CostSource::Roofline);
  }
  std::string name = op->getName().stripDialect().str();
  if (auto param = dyn_cast<BlockArgument>(op->getOperand(0)))
    name += (" " + step.getArgument(param.getArgNumber()).getName().getValue())
                .str();
  auto compute = builder.create<ComputeOp>(
      op->getLoc(), op->getResultTypes(), op->getOperands(),
      PhaseKindAttr::get(builder.getContext(), PhaseKind::Update),
      builder.getStringAttr(name), IntegerAttr(),
      builder.getI64IntegerAttr(bytes), cost, source, ArrayAttr(), StringAttr(),
      ArrayAttr());
  op->replaceAllUsesWith(compute);
  op->erase();
}

/// Whether a cast undoes one that was made for the wire: on the way between
/// them the value was only sent.
static bool isBackFromWire(Operation *op) {
  if (!isa<CastOp>(op))
    return false;
  Type element = getElementTypeOrSelf(op->getResult(0).getType());
  for (Operation *maker = op->getOperand(0).getDefiningOp(); maker;
       maker = maker->getOperand(0).getDefiningOp()) {
    if (isa<CastOp>(maker))
      return getElementTypeOrSelf(maker->getOperand(0).getType()) == element;
    if (!cast<StepOpInterface>(maker).getGroupAxes())
      return false;
  }
  return false;
}

/// Arithmetic on whole tensors that only the program uses is the program's:
/// updates, and the casts and sums that lead to them, but for casts of the
/// wire. From the last op to the first, so that users are decided before what
/// they use. Returns how many.
static int64_t giveUpdatesToProgram(StepOp step) {
  int64_t given = 0;
  DeviceAttr device = step.lookupCluster().getDeviceAttr();
  auto isWhole = [](Type type) {
    return !getLayout(cast<RankedTensorType>(type));
  };
  auto isProgram = [](Operation *user) {
    return isa<ComputeOp, YieldOp>(user);
  };
  BlockOrder block(step);
  for (size_t index = block.size(); index-- > 0;) {
    Operation *op = block[index];
    if (isa<SgdOp, AdamOp, AdamApplyOp, CastOp, LinearOp>(op) &&
        !isBackFromWire(op) && llvm::all_of(op->getResultTypes(), isWhole) &&
        llvm::all_of(op->getUsers(), isProgram)) {
      giveToProgram(step, op, device);
      ++given;
    }
  }
  return given;
}

//===----------------------------------------------------------------------===//
// What was decided
//===----------------------------------------------------------------------===//

/// The value that says that an op has run: a gradient that it makes, else its
/// first result; null for none.
static Value signOf(Operation *op) {
  auto made = llvm::find_if(op->getResults(), getGradientParam);
  if (made != op->result_end())
    return *made;
  return op->getNumResults() ? op->getResult(0) : Value();
}

/// Writes streams, launch order and waits.
static void applySchedule(StepOp step, const StepGraph &graph,
                          const StepSchedule &schedule) {
  MLIRContext *context = step.getContext();
  BlockOrder block(step);
  SmallVector<Attribute> streams;
  for (const StepSchedule::Stream &stream : schedule.streams)
    streams.push_back(StringAttr::get(context, stream.name));
  step.setStreamsAttr(ArrayAttr::get(context, streams));
  SmallVector<Operation *> order;
  for (int32_t op : schedule.order) {
    order.push_back(block[op]);
    cast<StepOpInterface>(block[op]).setStreamAttr(
        cast<StringAttr>(streams[schedule.streamOf[op]]));
  }
  applyOrder(step, order);
  for (const StepSchedule::Delay &delay : schedule.delays) {
    Operation *op = block[delay.op];
    OpOperand &delayed = op->getOpOperand(graph[delay.op].writtenOperand);
    SmallVector<Value> signs;
    for (int32_t after : delay.after)
      if (Value sign = signOf(block[after]); sign && sign != delayed.get())
        signs.push_back(sign);
    if (signs.empty())
      continue;
    OpBuilder builder(op);
    delayed.set(builder.create<AfterOp>(
        op->getLoc(), delayed.get().getType(), delayed.get(), signs,
        cast<StepOpInterface>(op).getStreamAttr(), ArrayAttr()));
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
    std::optional<SchedulePolicy> chosen = parsePolicy(policy.getValue());
    if (!chosen) {
      step.emitError() << "expected policy " << std::string(policyNames())
                       << ", found '" << policy << "'";
      return signalPassFailure();
    }
    if (creditBytes < 0) {
      step.emitError() << "expected credit-bytes of at least 0, found "
                       << creditBytes.getValue();
      return signalPassFailure();
    }
    if (updates != "program" && updates != "runtime") {
      step.emitError() << "expected updates program or runtime, found '"
                       << updates << "'";
      return signalPassFailure();
    }
    int64_t given = updates == "program" ? giveUpdatesToProgram(step) : 0;
    FailureOr<ClusterModel> cluster = readClusterModel(step.lookupCluster());
    if (failed(cluster))
      return signalPassFailure();
    FailureOr<StepGraph> graph = readGraph(step, *cluster);
    if (failed(graph))
      return signalPassFailure();
    CollectivePrices prices(*cluster);
    applySchedule(step, *graph,
                  scheduleStep(*graph, {*chosen, creditBytes}, prices));
    if (Report *report = getReport(&getContext()))
      report->add(step, getArgument(),
                  llvm::json::Object{{"policy", policy.getValue()},
                                     {"given_to_program", given},
                                     {"ops_of_streams", countByStream(step)}});
  }
};
} // namespace
