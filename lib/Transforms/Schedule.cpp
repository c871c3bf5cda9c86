//===- Schedule.cpp - bagua-schedule --------------------------------------===//
//
// From graph level to scheduled level: streams and launch order. What the
// program runs, what communication its own compute waits for, and what travels
// beside it are told apart by data flow alone.
//
//===----------------------------------------------------------------------===//
#include "bagua/Scheduling/Roofline.h"
#include "bagua/Transforms/BlockOrder.h"
#include "bagua/Transforms/Passes.h"

#include "mlir/IR/Builders.h"

namespace bagua {
#define GEN_PASS_DEF_SCHEDULEPASS
#include "bagua/Transforms/Passes.h.inc"
} // namespace bagua

using namespace mlir;
using namespace bagua;

//===----------------------------------------------------------------------===//
// The program's optimizer
//===----------------------------------------------------------------------===//

/// Replaces a structured update of whole tensors by compute of the program's.
static void giveToProgram(StepOp step, Operation *update, StringRef optimizer,
                          DeviceAttr device) {
  auto type = cast<RankedTensorType>(update->getResult(0).getType());
  int64_t tensors = update->getNumOperands() + update->getNumResults();
  int64_t bytes = getElementCount(type) * getElementBytes(type.getElementType());
  OpBuilder builder(update);
  IntegerAttr cost;
  CostSourceAttr source;
  if (device) {
    cost = builder.getI64IntegerAttr(rooflineNs(
        0, tensors * bytes,
        {device.getFlopPerS(), device.getBytesPerS(), device.getLaunchNs()}));
    source = CostSourceAttr::get(builder.getContext(), CostSource::Roofline);
  }
  std::string name = optimizer.str();
  if (auto param = dyn_cast<BlockArgument>(update->getOperand(0)))
    name += (" " + step.getArgument(param.getArgNumber()).getName().getValue())
                .str();
  auto compute = builder.create<ComputeOp>(
      update->getLoc(), update->getResultTypes(), update->getOperands(),
      PhaseKindAttr::get(builder.getContext(), PhaseKind::Update),
      builder.getStringAttr(name), IntegerAttr(),
      builder.getI64IntegerAttr(tensors * bytes), cost, source, ArrayAttr(),
      StringAttr(), ArrayAttr());
  update->replaceAllUsesWith(compute);
  update->erase();
}

static void giveUpdatesToProgram(StepOp step) {
  DeviceAttr device = step.lookupCluster().getDeviceAttr();
  for (Operation &op :
       llvm::make_early_inc_range(step.getBody().front().without_terminator())) {
    if (!isa<SgdOp, AdamOp>(op))
      continue;
    if (!getLayout(cast<RankedTensorType>(op.getResult(0).getType())))
      giveToProgram(step, &op, op.getName().stripDialect(), device);
  }
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

namespace {
/// What an op is to the schedule.
enum class Part {
  /// Forward and backward compute.
  Main,
  /// Communication that main compute waits for.
  Activation,
  /// The runtime's work beside main compute.
  Comm,
  /// What comes after that: updates, outputs.
  Late,
};

class StepScheduler {
public:
  StepScheduler(StepOp step) : step(step), block(step), parts(block.size()) {}

  void run(bool isBsp);

private:
  void classify();
  SmallVector<size_t> orderComm();
  SmallVector<size_t> orderLate(ArrayRef<Operation *> before);
  void delayFirst(size_t comm);
  void setStreams();

  StepOp step;
  BlockOrder block;
  SmallVector<Part> parts;
};
} // namespace

void StepScheduler::classify() {
  // What a gradient is computed from must not be put off.
  SmallVector<bool> reachesGradient(block.size(), false);
  for (size_t index = block.size(); index-- > 0;) {
    Operation *op = block[index];
    if (auto compute = dyn_cast<ComputeOp>(op))
      for (unsigned i = 0; i < op->getNumResults(); ++i) {
        ResultAttr info = compute.getResultInfo(i);
        reachesGradient[index] |= info && info.getGrad();
      }
    for (Operation *user : op->getUsers())
      if (!isa<YieldOp>(user))
        reachesGradient[index] |= reachesGradient[block.indexOf(user)];
  }
  for (size_t index = 0; index < block.size(); ++index) {
    auto op = cast<StepOpInterface>(block[index]);
    bool isLate = llvm::any_of(op->getOperands(), [&](Value operand) {
      std::optional<size_t> from = block.definitionOf(operand);
      return from && (parts[*from] == Part::Late ||
                      (parts[*from] == Part::Comm && op.isRunByProgram()));
    });
    if (isLate && !reachesGradient[index])
      parts[index] = Part::Late;
    else if (op.isRunByProgram())
      parts[index] = Part::Main;
    else
      parts[index] = reachesGradient[index] ? Part::Activation : Part::Comm;
  }
}

/// Communication by when its operands are there, then by block order.
SmallVector<size_t> StepScheduler::orderComm() {
  SmallVector<size_t> readyAfter(block.size(), 0);
  SmallVector<size_t> order;
  for (size_t index = 0; index < block.size(); ++index) {
    if (parts[index] != Part::Comm) {
      readyAfter[index] = index + 1;
      continue;
    }
    for (Value operand : block[index]->getOperands())
      if (std::optional<size_t> from = block.definitionOf(operand))
        readyAfter[index] = std::max(readyAfter[index], readyAfter[*from]);
    order.push_back(index);
  }
  llvm::stable_sort(order, [&](size_t a, size_t b) {
    return readyAfter[a] < readyAfter[b];
  });
  return order;
}

/// The rest, by when the last of its operands arrives.
SmallVector<size_t>
StepScheduler::orderLate(ArrayRef<Operation *> before) {
  SmallVector<size_t> arrival(block.size(), 0);
  for (auto [place, op] : llvm::enumerate(before))
    arrival[block.indexOf(op)] = place;
  SmallVector<size_t> order;
  for (size_t index = 0; index < block.size(); ++index) {
    if (parts[index] != Part::Late)
      continue;
    for (Value operand : block[index]->getOperands())
      if (std::optional<size_t> from = block.definitionOf(operand))
        arrival[index] = std::max(arrival[index], arrival[*from]);
    order.push_back(index);
  }
  llvm::stable_sort(order,
                    [&](size_t a, size_t b) { return arrival[a] < arrival[b]; });
  return order;
}

/// Makes the first communication wait for all gradients: the stream's order does
/// the rest.
void StepScheduler::delayFirst(size_t comm) {
  Operation *first = block[comm];
  SmallVector<Value> gradients;
  for (Operation *op : block)
    if (auto compute = dyn_cast<ComputeOp>(op))
      for (OpResult result : op->getResults()) {
        ResultAttr info = compute.getResultInfo(result.getResultNumber());
        if (info && info.getGrad() && result != first->getOperand(0))
          gradients.push_back(result);
      }
  if (gradients.empty())
    return;
  OpBuilder builder(first);
  auto after = builder.create<AfterOp>(
      first->getLoc(), first->getOperand(0).getType(), first->getOperand(0),
      gradients, builder.getStringAttr("comm"), ArrayAttr());
  first->setOperand(0, after);
}

void StepScheduler::setStreams() {
  MLIRContext *context = step.getContext();
  auto compute = StringAttr::get(context, "compute");
  auto comm = StringAttr::get(context, "comm");
  auto activation = StringAttr::get(context, "activation");
  SmallVector<Attribute> streams{compute, comm};
  if (llvm::is_contained(parts, Part::Activation))
    streams.push_back(activation);
  for (auto [op, part] : llvm::zip_equal(block, parts)) {
    auto stepOp = cast<StepOpInterface>(op);
    stepOp.setStreamAttr(stepOp.isRunByProgram()     ? compute
                         : part == Part::Activation ? activation
                                                    : comm);
  }
  step.setStreamsAttr(ArrayAttr::get(context, streams));
}

void StepScheduler::run(bool isBsp) {
  classify();
  SmallVector<size_t> comm = orderComm();
  SmallVector<Operation *> order;
  size_t nextComm = 0;
  SmallVector<bool> isPlaced(block.size(), false);
  auto place = [&](size_t index) {
    order.push_back(block[index]);
    isPlaced[index] = true;
  };
  auto canStart = [&](size_t index) {
    return llvm::all_of(block[index]->getOperands(), [&](Value operand) {
      std::optional<size_t> from = block.definitionOf(operand);
      return !from || isPlaced[*from];
    });
  };
  for (size_t index = 0; index < block.size(); ++index) {
    if (parts[index] == Part::Main || parts[index] == Part::Activation)
      place(index);
    while (!isBsp && nextComm < comm.size() && canStart(comm[nextComm]))
      place(comm[nextComm++]);
  }
  while (nextComm < comm.size() && canStart(comm[nextComm]))
    place(comm[nextComm++]);
  for (size_t index : orderLate(order))
    place(index);
  setStreams();
  applyOrder(step, order);
  if (isBsp && !comm.empty())
    delayFirst(comm.front());
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
    if (policy != "bsp" && policy != "wfbp") {
      step.emitError() << "expected policy bsp or wfbp, found '" << policy
                       << "'";
      return signalPassFailure();
    }
    giveUpdatesToProgram(step);
    StepScheduler(step).run(policy == "bsp");
  }
};
} // namespace
