//===- Schedule.cpp - bagua-schedule --------------------------------------===//
//
// From graph level to scheduled level: streams and launch order. What the
// program runs, what communication its own compute waits for, and what travels
// beside it are told apart by data flow alone.
//
//===----------------------------------------------------------------------===//
#include "bagua/Scheduling/Roofline.h"
#include "bagua/Scheduling/Simulator.h"
#include "bagua/Transforms/BlockOrder.h"
#include "bagua/Transforms/Passes.h"
#include "bagua/Transforms/Report.h"
#include "bagua/Transforms/StepModel.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/StringSwitch.h"

#include <numeric>

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
// Order
//===----------------------------------------------------------------------===//

/// For each op of the runtime's, when the program first needs what it leads to:
/// the place of that op in the step; the block's size for never.
static SmallVector<int32_t> findUrgency(StepOp step, const BlockOrder &block) {
  auto never = static_cast<int32_t>(block.size());
  SmallVector<int32_t> urgency(block.size(), never);
  llvm::DenseMap<Value, int32_t> firstUse;
  for (auto [index, op] : llvm::enumerate(block))
    for (Value operand : op->getOperands())
      if (isa<BlockArgument>(operand))
        firstUse.try_emplace(operand, static_cast<int32_t>(index));
  auto neededBy = [&](Value value) {
    int32_t first = never;
    for (OpOperand &use : value.getUses()) {
      Operation *user = use.getOwner();
      if (auto yield = dyn_cast<YieldOp>(user)) {
        unsigned state = step.getStateArguments()[use.getOperandNumber()];
        auto found = firstUse.find(step.getBody().getArgument(state));
        if (found != firstUse.end())
          first = std::min(first, found->second);
      } else {
        first = std::min(first, urgency[block.indexOf(user)]);
      }
    }
    return first;
  };
  for (size_t index = block.size(); index-- > 0;)
    for (Value result : block[index]->getResults())
      urgency[index] = std::min(urgency[index], neededBy(result));
  return urgency;
}

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

enum class SchedulePolicy { Bsp, Wfbp, Priority, Decoupled };

class StepScheduler {
public:
  StepScheduler(StepOp step)
      : step(step), block(step), parts(block.size()), readsOver(block.size()) {}

  void run(SchedulePolicy policy);

private:
  void classify();
  bool isUpdate(size_t index) {
    return isa<SgdOp, AdamOp, AdamApplyOp>(block[index]);
  }
  SmallVector<bool> findSecondHalf();
  SmallVector<size_t> orderComm(bool isDecoupled);
  SmallVector<size_t> orderLate(ArrayRef<Operation *> before);
  void findReads();
  SmallVector<BlockArgument> overwrittenBy(size_t index);
  void delayWrite(size_t writer);
  void delayFirst(size_t comm);
  SmallVector<StringRef> commStreams();
  void setStreams();

  StepOp step;
  BlockOrder block;
  SmallVector<Part> parts;
  /// For updates of the runtime's.
  SmallVector<std::optional<size_t>> readsOver;
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

/// The arguments whose memory an op of the runtime's takes for its results:
/// what an update updates, and what the step leaves behind for the next.
SmallVector<BlockArgument> StepScheduler::overwrittenBy(size_t index) {
  SmallVector<BlockArgument> overwritten;
  for (OpResult result : block[index]->getResults()) {
    if (isUpdate(index))
      if (auto state = dyn_cast<BlockArgument>(
              block[index]->getOperand(result.getResultNumber())))
        overwritten.push_back(state);
    for (OpOperand &use : result.getUses())
      if (isa<YieldOp>(use.getOwner()))
        overwritten.push_back(step.getBody().getArgument(
            step.getStateArguments()[use.getOperandNumber()]));
  }
  return overwritten;
}

/// What an op of the runtime's has to wait for besides its operands: the
/// program's last read of the state that it overwrites, which lies in the
/// program's own tensor. The program runs its ops one after the other, so the
/// next gradient made then says that the read is over.
void StepScheduler::findReads() {
  SmallVector<std::optional<size_t>> nextGradient(block.size() + 1);
  for (size_t index = block.size(); index-- > 0;)
    nextGradient[index] =
        llvm::any_of(block[index]->getResults(), getGradientParam)
            ? std::optional(index)
            : nextGradient[index + 1];
  for (size_t index = 0; index < block.size(); ++index) {
    if (parts[index] != Part::Comm)
      continue;
    for (BlockArgument state : overwrittenBy(index))
      for (Operation *user : state.getUsers())
        if (isa<ComputeOp>(user)) {
          size_t reader = block.indexOf(user);
          readsOver[index] = std::max(readsOver[index].value_or(0),
                                      nextGradient[reader].value_or(reader));
        }
  }
}

/// Writes that wait, unless what is written implies it.
void StepScheduler::delayWrite(size_t writer) {
  std::optional<size_t> over = readsOver[writer];
  if (!over || block[*over]->getNumResults() == 0)
    return;
  Operation *op = block[writer];
  unsigned operandNumber = isUpdate(writer) ? op->getNumResults() : 0;
  SmallVector<Value> work{op->getOperand(operandNumber)};
  llvm::DenseSet<Value> seen;
  while (!work.empty()) {
    Value value = work.pop_back_val();
    std::optional<size_t> from = block.definitionOf(value);
    if (!from || !seen.insert(value).second)
      continue;
    if (!isa<ComputeOp>(block[*from]))
      llvm::append_range(work, block[*from]->getOperands());
    else if (*from >= *over)
      return;
  }
  auto results = block[*over]->getResults();
  auto made = llvm::find_if(results, getGradientParam);
  Value last = made == results.end() ? results.front() : *made;
  OpBuilder builder(op);
  Value operand = op->getOperand(operandNumber);
  auto after = builder.create<AfterOp>(
      op->getLoc(), operand.getType(), operand, last,
      cast<StepOpInterface>(op).getStreamAttr(), ArrayAttr());
  op->setOperand(operandNumber, after);
}

/// What the next forward waits for rather than this step: gathers and pulls,
/// and what follows them or leads from an update to them.
SmallVector<bool> StepScheduler::findSecondHalf() {
  SmallVector<bool> isSecond(block.size(), false);
  for (size_t index = 0; index < block.size(); ++index) {
    if (parts[index] != Part::Comm)
      continue;
    isSecond[index] =
        isa<AllGatherOp, PullOp>(block[index]) || isUpdate(index) ||
        llvm::any_of(block[index]->getOperands(), [&](Value operand) {
          std::optional<size_t> from = block.definitionOf(operand);
          return from && isSecond[*from];
        });
  }
  return isSecond;
}

/// Communication by when its operands are there, then by block order; second
/// halves, if they are told apart, come last, by when they are needed.
SmallVector<size_t> StepScheduler::orderComm(bool isDecoupled) {
  SmallVector<size_t> readyAfter(block.size(), 0);
  SmallVector<bool> isSecond(block.size(), false), isLoose(block.size(), false);
  SmallVector<int32_t> urgency;
  if (isDecoupled) {
    isSecond = findSecondHalf();
    urgency = findUrgency(step, block);
  }
  for (size_t index = 0; index < block.size(); ++index) {
    if (parts[index] != Part::Comm) {
      readyAfter[index] = index + 1;
      continue;
    }
    isLoose[index] = true;
    for (Value operand : block[index]->getOperands())
      if (std::optional<size_t> from = block.definitionOf(operand)) {
        readyAfter[index] = std::max(readyAfter[index], readyAfter[*from]);
        isLoose[index] = false;
      }
    if (readsOver[index])
      readyAfter[index] = std::max(readyAfter[index], *readsOver[index] + 1);
    if (isSecond[index])
      readyAfter[index] = block.size() + urgency[index];
  }
  SmallVector<size_t> order;
  for (size_t index = 0; index < block.size(); ++index) {
    if (parts[index] != Part::Comm)
      continue;
    // What depends on arguments alone has time until its user.
    if (isLoose[index] && !block[index]->use_empty())
      readyAfter[index] =
          readyAfter[block.indexOf(*block[index]->getUsers().begin())];
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

/// The streams of communication: what leads to a push, what follows a pull,
/// updates with what leads to and from them locally, and the rest.
SmallVector<StringRef> StepScheduler::commStreams() {
  SmallVector<StringRef> streams(block.size(), "comm");
  auto isOn = [&](StringRef stream) {
    return [&, stream](Operation *user) {
      return !isa<YieldOp>(user) && parts[block.indexOf(user)] == Part::Comm &&
             streams[block.indexOf(user)] == stream;
    };
  };
  auto isFrom = [&](StringRef stream) {
    return [&, stream](Value operand) {
      std::optional<size_t> from = block.definitionOf(operand);
      return from && parts[*from] == Part::Comm && streams[*from] == stream;
    };
  };
  for (size_t index = block.size(); index-- > 0;) {
    Operation *op = block[index];
    if (parts[index] != Part::Comm)
      continue;
    bool isLocal = !cast<StepOpInterface>(op).getGroupAxes();
    if (isUpdate(index) || (isLocal && !op->use_empty() &&
                            llvm::all_of(op->getUsers(), isOn("update"))))
      streams[index] = "update";
    else if (isa<PushOp>(op) || llvm::any_of(op->getUsers(), isOn("push")))
      streams[index] = "push";
  }
  for (size_t index = 0; index < block.size(); ++index) {
    Operation *op = block[index];
    if (parts[index] != Part::Comm || streams[index] == "update")
      continue;
    bool isLocal = !cast<StepOpInterface>(op).getGroupAxes();
    if (isLocal && llvm::any_of(op->getOperands(), isFrom("update")))
      streams[index] = "update";
    else if (isa<PullOp>(op) || llvm::any_of(op->getOperands(), isFrom("pull")))
      streams[index] = "pull";
  }
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
  for (StringRef name :
       {"compute", "comm", "push", "pull", "update", "activation"})
    if (used.contains(name))
      streams.push_back(StringAttr::get(context, name));
  step.setStreamsAttr(ArrayAttr::get(context, streams));
}

void StepScheduler::run(SchedulePolicy policy) {
  bool isBsp = policy == SchedulePolicy::Bsp;
  classify();
  findReads();
  SmallVector<size_t> comm = orderComm(policy == SchedulePolicy::Decoupled);
  SmallVector<Operation *> order;
  size_t nextComm = 0;
  SmallVector<bool> isPlaced(block.size(), false);
  auto place = [&](size_t index) {
    order.push_back(block[index]);
    isPlaced[index] = true;
  };
  auto canStart = [&](size_t index) {
    if (readsOver[index] && !isPlaced[*readsOver[index]])
      return false;
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
  for (size_t index : comm)
    delayWrite(index);
  if (!isBsp)
    return;
  llvm::StringSet<> delayed;
  for (size_t index : comm) {
    StringAttr stream = cast<StepOpInterface>(block[index]).getStreamAttr();
    if (delayed.insert(stream).second)
      delayFirst(index);
  }
}

//===----------------------------------------------------------------------===//
// Priority
//===----------------------------------------------------------------------===//

/// Streams for what one queue has in flight. More small messages than that wait
/// for each other.
static constexpr size_t kMaxLanes = 4;

/// Plays the queue against the predicted times, and keeps the order in which
/// messages started. What was in flight at once goes on streams of its own.
static LogicalResult orderByPriority(StepOp step, int64_t creditBytes) {
  FailureOr<StepTasks> tasks = readTasks(step);
  if (failed(tasks))
    return failure();
  BlockOrder block(step);
  TaskGraph &graph = tasks->graph;
  llvm::StringSet<> queues;
  for (StreamModel &stream : graph.streams) {
    if (stream.isCompute || stream.name == "activation")
      continue;
    stream.byPriority = true;
    if (stream.name == "update")
      continue;
    stream.creditBytes = creditBytes;
    queues.insert(stream.name);
  }
  for (auto [index, urgency] : llvm::enumerate(findUrgency(step, block)))
    graph.setPriority(static_cast<int32_t>(index), urgency);
  Simulation played = simulate(graph);

  // Dependencies end before what waits for them starts, so this is an order of
  // the block; what takes no time goes before what starts with it.
  SmallVector<size_t> byStart(block.size());
  std::iota(byStart.begin(), byStart.end(), 0);
  llvm::stable_sort(byStart, [&](size_t a, size_t b) {
    const TaskTimes &first = played.tasks[a], &second = played.tasks[b];
    return std::tie(first.startNs, first.endNs) <
           std::tie(second.startNs, second.endNs);
  });
  SmallVector<Operation *> order;
  llvm::StringMap<SmallVector<double>> freeNs;
  SmallVector<Attribute> streams(step.getStreamsAttr().getValue());
  for (size_t index : byStart) {
    order.push_back(block[index]);
    auto op = cast<StepOpInterface>(block[index]);
    StringRef name = op.getStreamAttr();
    if (op.isRunByProgram() || !queues.contains(name))
      continue;
    SmallVector<double> &lanes = freeNs[name];
    const TaskTimes &times = played.tasks[index];
    auto *lane = llvm::find_if(
        lanes, [&](double free) { return free <= times.startNs; });
    if (lane == lanes.end() && lanes.size() == kMaxLanes)
      lane = llvm::min_element(lanes);
    size_t number = lane - lanes.begin();
    if (lane == lanes.end()) {
      lanes.push_back(0);
      if (number > 0)
        streams.push_back(StringAttr::get(step.getContext(),
                                          name + Twine(".") + Twine(number)));
    }
    lanes[number] = times.endNs;
    if (number > 0)
      op.setStreamAttr(StringAttr::get(step.getContext(),
                                       name + Twine(".") + Twine(number)));
  }
  step.setStreamsAttr(ArrayAttr::get(step.getContext(), streams));
  applyOrder(step, order);
  return success();
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
    auto chosen =
        llvm::StringSwitch<std::optional<SchedulePolicy>>(policy.getValue())
            .Case("bsp", SchedulePolicy::Bsp)
            .Case("wfbp", SchedulePolicy::Wfbp)
            .Case("priority", SchedulePolicy::Priority)
            .Case("decoupled", SchedulePolicy::Decoupled)
            .Default(std::nullopt);
    if (!chosen) {
      step.emitError() << "expected policy bsp, wfbp, priority or decoupled, "
                          "found '"
                       << policy << "'";
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
    StepScheduler(step).run(*chosen);
    if (*chosen == SchedulePolicy::Priority &&
        failed(orderByPriority(step, creditBytes)))
      return signalPassFailure();
    if (Report *report = getReport(&getContext()))
      report->add(step, getArgument(),
                  llvm::json::Object{{"policy", policy.getValue()},
                                     {"given_to_program", given},
                                     {"ops_of_streams", countByStream(step)}});
  }
};
} // namespace
