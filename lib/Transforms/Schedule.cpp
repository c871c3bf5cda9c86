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
#include "bagua/Transforms/Report.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/StringSet.h"

namespace bagua {
#define GEN_PASS_DEF_SCHEDULEPASS
#include "bagua/Transforms/Passes.h.inc"
} // namespace bagua

using namespace mlir;
using namespace bagua;

//===----------------------------------------------------------------------===//
// The program's optimizer
//===----------------------------------------------------------------------===//

/// Bytes that an op reads and writes.
static int64_t trafficOf(Operation *op) {
  int64_t bytes = 0;
  for (TypeRange types :
       {TypeRange(op->getOperandTypes()), TypeRange(op->getResultTypes())})
    for (Type type : types) {
      auto tensor = cast<RankedTensorType>(type);
      bytes +=
          getElementCount(tensor) * getElementBytes(tensor.getElementType());
    }
  return bytes;
}

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
  SmallVector<StringRef> commStreams();
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
    reachesGradient[index] = llvm::any_of(op->getResults(), getGradientParam);
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
  llvm::stable_sort(
      order, [&](size_t a, size_t b) { return readyAfter[a] < readyAfter[b]; });
  return order;
}

/// The rest, by when the last of its operands arrives.
SmallVector<size_t> StepScheduler::orderLate(ArrayRef<Operation *> before) {
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
  llvm::stable_sort(
      order, [&](size_t a, size_t b) { return arrival[a] < arrival[b]; });
  return order;
}

/// Makes the first communication of a stream wait for all gradients, unless it
/// waits for other communication anyway: the stream's order does the rest.
void StepScheduler::delayFirst(size_t comm) {
  Operation *first = block[comm];
  for (Value operand : first->getOperands())
    if (std::optional<size_t> from = block.definitionOf(operand);
        from && parts[*from] == Part::Comm)
      return;
  SmallVector<Value> gradients;
  for (Operation *op : block)
    for (OpResult result : op->getResults())
      if (getGradientParam(result) && result != first->getOperand(0))
        gradients.push_back(result);
  if (gradients.empty())
    return;
  OpBuilder builder(first);
  auto after = builder.create<AfterOp>(
      first->getLoc(), first->getOperand(0).getType(), first->getOperand(0),
      gradients, cast<StepOpInterface>(first).getStreamAttr(), ArrayAttr());
  first->setOperand(0, after);
}

/// The streams of communication: what leads to a push, what follows a pull, and
/// the rest.
SmallVector<StringRef> StepScheduler::commStreams() {
  SmallVector<StringRef> streams(block.size(), "comm");
  for (size_t index = block.size(); index-- > 0;)
    if (parts[index] == Part::Comm &&
        (isa<PushOp>(block[index]) ||
         llvm::any_of(block[index]->getUsers(), [&](Operation *user) {
           return !isa<YieldOp>(user) &&
                  parts[block.indexOf(user)] == Part::Comm &&
                  streams[block.indexOf(user)] == "push";
         })))
      streams[index] = "push";
  for (size_t index = 0; index < block.size(); ++index)
    if (parts[index] == Part::Comm &&
        (isa<PullOp>(block[index]) ||
         llvm::any_of(block[index]->getOperands(), [&](Value operand) {
           std::optional<size_t> from = block.definitionOf(operand);
           return from && streams[*from] == "pull";
         })))
      streams[index] = "pull";
  return streams;
}

void StepScheduler::setStreams() {
  MLIRContext *context = step.getContext();
  SmallVector<StringRef> comm = commStreams();
  llvm::StringSet<> used;
  for (auto [op, part, name] : llvm::zip_equal(block, parts, comm)) {
    auto stepOp = cast<StepOpInterface>(op);
    StringRef stream = stepOp.isRunByProgram()    ? "compute"
                       : part == Part::Activation ? "activation"
                                                  : name;
    stepOp.setStreamAttr(StringAttr::get(context, stream));
    used.insert(stream);
  }
  // A step without communication has the stream, too.
  if (!used.contains("push"))
    used.insert("comm");
  used.insert("compute");
  SmallVector<Attribute> streams;
  for (StringRef name : {"compute", "comm", "push", "pull", "activation"})
    if (used.contains(name))
      streams.push_back(StringAttr::get(context, name));
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
  if (!isBsp)
    return;
  llvm::StringSet<> delayed;
  for (size_t index : comm) {
    StringAttr stream = cast<StepOpInterface>(block[index]).getStreamAttr();
    if (delayed.insert(stream).second)
      delayFirst(index);
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
    if (policy != "bsp" && policy != "wfbp") {
      step.emitError() << "expected policy bsp or wfbp, found '" << policy
                       << "'";
      return signalPassFailure();
    }
    int64_t given = giveUpdatesToProgram(step);
    StepScheduler(step).run(policy == "bsp");
    if (Report *report = getReport(&getContext()))
      report->add(step, getArgument(),
                  llvm::json::Object{{"policy", policy.getValue()},
                                     {"given_to_program", given},
                                     {"ops_of_streams", countByStream(step)}});
  }
};
} // namespace
