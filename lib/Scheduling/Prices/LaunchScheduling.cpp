//===- LaunchScheduling.cpp - Streams and launch order of a step ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One order for all policies, by when operands are ready. Priority keeps the
// order in which the simulator plays the queue of messages.
//
//===----------------------------------------------------------------------===//
#include "bagua/Scheduling/Prices/LaunchScheduling.h"

#include "StepParts.h"

#include "bagua/Scheduling/Prices/LateOps.h"
#include "bagua/Scheduling/Prices/Simulator.h"

#include <algorithm>
#include <array>
#include <list>
#include <numeric>

using namespace bagua;

namespace {
using Part = StepPart;

/// Calls `visit(op, state)` for every state that an op overwrites, as the
/// state's next value in the yield or as an update.
template <typename Visit> void forEachWrite(const OpGraph &step, Visit visit) {
  for (size_t state = 0; state < step.yields.size(); ++state)
    if (step.yields[state] >= 0)
      visit(step.yields[state], static_cast<int32_t>(state));
  for (int32_t op = 0; op < step.size(); ++op)
    if (step[op].kind == GraphOpKind::Update)
      for (int32_t i = 0; i < step[op].writtenOperand; ++i)
        if (int32_t operand = step.operandsOf(op)[i]; OpGraph::isState(operand))
          visit(op, OpGraph::stateOf(operand));
}

/// Streams, as indices into kStreams.
enum Stream : uint8_t { Compute, Comm, Push, Pull, Update, Activation, Late };
constexpr std::array<const char *, 7> kStreams = {
    "compute", "comm", "push", "pull", "update", "activation", "late"};

/// The most streams for what one queue has in flight. Further small messages
/// wait for each other.
constexpr size_t kMaxLanes = 4;

class LaunchScheduler {
public:
  LaunchScheduler(const OpGraph &step, CollectivePrices &prices)
      : step(step), prices(prices), size(step.size()), parts(classifyOps(step)),
        readsOver(size, -1), seenBy(size, -1) {
    result.lateBefore = findLateOps(step);
  }

  LaunchSchedule run(const SchedulingOptions &options);

private:
  void findUsers();
  void findReads();
  void findUrgency();
  std::vector<bool> findSecondHalf() const;
  std::vector<int32_t> orderComm(bool isDecoupled) const;
  void orderAll(const std::vector<int32_t> &comm, bool isBsp);
  std::vector<int32_t> orderLate() const;
  void findStreams();
  void nameStreams();
  void delay(int32_t op, const std::vector<int32_t> &after);
  void delayWrite(int32_t writer);
  bool isGift(int32_t op) const;
  void delayGifts();
  std::vector<int32_t> findAwaited() const;
  void delayFirst(int32_t comm);
  void orderByPriority(int64_t creditBytes);
  /// A stream on which one message at a time is in flight.
  struct Lane {
    int32_t stream;
    double freeNs;
  };
  Lane &laneFor(int32_t stream, double startNs, std::vector<Lane> &lanes);

  OpGraph::Range usersOf(int32_t op) const {
    return {users.data() + firstUser[op], users.data() + firstUser[op + 1]};
  }
  bool is(int32_t op, GraphOpKind kind) const { return step[op].kind == kind; }
  bool isPutOff(int32_t op) const { return result.lateBefore[op] >= 0; }
  bool isCollective(int32_t op, Collective collective) const {
    return is(op, GraphOpKind::Collective) &&
           step[op].call.collective == collective;
  }

  const OpGraph &step;
  CollectivePrices &prices;
  const int32_t size;
  std::vector<int32_t> users, firstUser;
  std::vector<Part> parts;
  /// By op of the runtime that overwrites states: the op after which the
  /// program no longer reads them; -1 for none.
  std::vector<int32_t> readsOver;
  /// By op: the last writer for which delayWrite looked at the op.
  std::vector<int32_t> seenBy;
  /// The op at which the program first needs a result of this op, as its
  /// number; `size` for never.
  std::vector<int32_t> urgency;
  std::vector<uint8_t> streams;
  LaunchSchedule result;
};
} // namespace

void LaunchScheduler::findUsers() {
  firstUser.assign(size + 1, 0);
  for (int32_t op = 0; op < size; ++op)
    for (int32_t operand : step.operandsOf(op))
      if (!OpGraph::isState(operand))
        ++firstUser[operand + 1];
  std::partial_sum(firstUser.begin(), firstUser.end(), firstUser.begin());
  users.resize(firstUser.back());
  std::vector<int32_t> next(firstUser.begin(), firstUser.end() - 1);
  for (int32_t op = 0; op < size; ++op)
    for (int32_t operand : step.operandsOf(op))
      if (!OpGraph::isState(operand))
        users[next[operand]++] = op;
}

/// Finds what an op of the runtime has to wait for besides its operands: the
/// program's last read of the state that it overwrites, which lies in the
/// program's own tensor. The program runs its ops one after the other, so the
/// next gradient that it makes shows that the read is over.
void LaunchScheduler::findReads() {
  std::vector<int32_t> nextGradient(size + 1, -1);
  for (int32_t op = size; op-- > 0;)
    nextGradient[op] = step[op].makesGradient ? op : nextGradient[op + 1];
  std::vector<int32_t> lastRead(step.yields.size(), -1);
  for (int32_t op = 0; op < size; ++op)
    if (is(op, GraphOpKind::Compute))
      for (int32_t operand : step.operandsOf(op))
        if (OpGraph::isState(operand))
          lastRead[OpGraph::stateOf(operand)] = op;
  auto overwrite = [&](int32_t op, int32_t state) {
    if (parts[op] != Part::Comm || lastRead[state] < 0)
      return;
    int32_t gradient = nextGradient[lastRead[state]];
    readsOver[op] =
        std::max(readsOver[op], gradient < 0 ? lastRead[state] : gradient);
  };
  forEachWrite(step, overwrite);
}

void LaunchScheduler::findUrgency() {
  std::vector<int32_t> firstUse(step.yields.size(), size);
  for (int32_t op = size; op-- > 0;)
    for (int32_t operand : step.operandsOf(op))
      if (OpGraph::isState(operand))
        firstUse[OpGraph::stateOf(operand)] = op;
  urgency.assign(size, size);
  for (size_t state = 0; state < step.yields.size(); ++state)
    if (step.yields[state] >= 0)
      urgency[step.yields[state]] =
          std::min(urgency[step.yields[state]], firstUse[state]);
  for (int32_t op = size; op-- > 0;)
    for (int32_t user : usersOf(op))
      urgency[op] = std::min(urgency[op], urgency[user]);
}

/// Finds the ops that the next forward waits for, rather than this step:
/// gathers and pulls, ops that follow them, and ops that lead from an update to
/// them.
std::vector<bool> LaunchScheduler::findSecondHalf() const {
  std::vector<bool> isSecond(size, false);
  for (int32_t op = 0; op < size; ++op) {
    if (parts[op] != Part::Comm)
      continue;
    isSecond[op] = isCollective(op, Collective::AllGather) ||
                   isCollective(op, Collective::Pull) ||
                   is(op, GraphOpKind::Update);
    for (int32_t from : step.operandsOf(op))
      if (!OpGraph::isState(from) && isSecond[from])
        isSecond[op] = true;
  }
  return isSecond;
}

/// Orders communication by when its operands are ready, then by number. If
/// second halves are told apart, they come last, by when they are needed.
std::vector<int32_t> LaunchScheduler::orderComm(bool isDecoupled) const {
  std::vector<bool> isSecond;
  if (isDecoupled)
    isSecond = findSecondHalf();
  std::vector<int32_t> readyAfter(size, 0), loose, order;
  for (int32_t op = 0; op < size; ++op) {
    if (parts[op] != Part::Comm) {
      readyAfter[op] = op + 1;
      continue;
    }
    bool isLoose = true;
    for (int32_t from : step.operandsOf(op))
      if (!OpGraph::isState(from)) {
        readyAfter[op] = std::max(readyAfter[op], readyAfter[from]);
        isLoose = false;
      }
    readyAfter[op] = std::max(readyAfter[op], readsOver[op] + 1);
    if (isDecoupled && isSecond[op])
      readyAfter[op] = size + urgency[op];
    if (isLoose)
      loose.push_back(op);
    order.push_back(op);
  }
  // An op whose operands are all states can wait for its user.
  for (int32_t op : loose)
    if (firstUser[op] < firstUser[op + 1])
      readyAfter[op] = readyAfter[*usersOf(op).begin()];
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    return readyAfter[a] < readyAfter[b];
  });
  return order;
}

/// Orders late ops by when the last of their operands arrives.
std::vector<int32_t> LaunchScheduler::orderLate() const {
  std::vector<size_t> arrival(size, 0);
  for (size_t place = 0; place < result.order.size(); ++place)
    arrival[result.order[place]] = place;
  std::vector<int32_t> late;
  for (int32_t op = 0; op < size; ++op) {
    if (parts[op] != Part::Late || isPutOff(op))
      continue;
    for (int32_t from : step.operandsOf(op))
      if (!OpGraph::isState(from))
        arrival[op] = std::max(arrival[op], arrival[from]);
    late.push_back(op);
  }
  std::stable_sort(late.begin(), late.end(), [&](int32_t a, int32_t b) {
    return arrival[a] < arrival[b];
  });
  return late;
}

void LaunchScheduler::orderAll(const std::vector<int32_t> &comm, bool isBsp) {
  std::vector<bool> isPlaced(size, false);
  auto place = [&](int32_t op) {
    // If the program reads a state too late, the write does not wait for it.
    if (readsOver[op] >= 0 && !isPlaced[readsOver[op]])
      readsOver[op] = -1;
    result.order.push_back(op);
    isPlaced[op] = true;
  };
  // How many of an op's first operands are known to be placed: a bucket of many
  // tensors is looked at after each op.
  std::vector<ptrdiff_t> known(size, 0);
  auto hasOperands = [&](int32_t op) {
    OpGraph::Range operands = step.operandsOf(op);
    auto isMissing = [&](int32_t from) {
      return !OpGraph::isState(from) && !isPlaced[from];
    };
    const auto *missing =
        std::find_if(operands.begin() + known[op], operands.end(), isMissing);
    known[op] = missing - operands.begin();
    return missing == operands.end();
  };
  auto canStart = [&](int32_t op) {
    return (readsOver[op] < 0 || isPlaced[readsOver[op]]) && hasOperands(op);
  };
  size_t next = 0;
  auto placeComm = [&] {
    while (next < comm.size() && canStart(comm[next]))
      place(comm[next++]);
  };
  for (int32_t op = 0; op < size; ++op) {
    if (parts[op] == Part::Main || parts[op] == Part::Activation)
      place(op);
    if (!isBsp)
      placeComm();
  }
  placeComm();
  std::list<int32_t> left;
  for (int32_t op : orderLate()) {
    if (canStart(op))
      place(op);
    else
      left.push_back(op);
    placeComm();
  }
  // A late read may hold up a write, which may hold up other late ops. If a
  // step reads a state's old value after its new one, no order is right, and
  // the proof of the schedule says so.
  left.insert(left.end(), comm.begin() + static_cast<ptrdiff_t>(next),
              comm.end());
  while (!left.empty()) {
    auto found = std::find_if(left.begin(), left.end(), canStart);
    if (found == left.end())
      found = std::find_if(left.begin(), left.end(), hasOperands);
    place(*found);
    left.erase(found);
  }
  for (int32_t op : orderLateOps(result.lateBefore))
    place(op);
}

/// Streams of communication ops: ops that lead to a push, ops that follow a
/// pull, updates with the local ops before and after them, and all other ops.
void LaunchScheduler::findStreams() {
  streams.assign(size, Stream::Comm);
  auto hasUser = [&](int32_t op, Stream stream) {
    return std::any_of(
        usersOf(op).begin(), usersOf(op).end(), [&](int32_t user) {
          return parts[user] == Part::Comm && streams[user] == stream;
        });
  };
  auto leadsToUpdates = [&](int32_t op) {
    return firstUser[op] < firstUser[op + 1] &&
           std::all_of(
               usersOf(op).begin(), usersOf(op).end(),
               [&](int32_t user) {
                 return parts[user] == Part::Comm &&
                        streams[user] == Stream::Update;
               });
  };
  auto isFrom = [&](int32_t op, Stream stream) {
    return std::any_of(step.operandsOf(op).begin(), step.operandsOf(op).end(),
                       [&](int32_t from) {
                         return !OpGraph::isState(from) &&
                                parts[from] == Part::Comm &&
                                streams[from] == stream;
                       });
  };
  for (int32_t op = size; op-- > 0;) {
    if (parts[op] != Part::Comm)
      continue;
    if (is(op, GraphOpKind::Update) ||
        (is(op, GraphOpKind::Local) && leadsToUpdates(op)))
      streams[op] = Stream::Update;
    else if (isCollective(op, Collective::Push) || hasUser(op, Stream::Push))
      streams[op] = Stream::Push;
  }
  for (int32_t op = 0; op < size; ++op) {
    if (is(op, GraphOpKind::Compute))
      streams[op] = isPutOff(op) ? Stream::Late : Stream::Compute;
    else if (parts[op] == Part::Activation)
      streams[op] = Stream::Activation;
    if (parts[op] != Part::Comm || streams[op] == Stream::Update)
      continue;
    if (is(op, GraphOpKind::Local) && isFrom(op, Stream::Update))
      streams[op] = Stream::Update;
    else if (isCollective(op, Collective::Pull) || isFrom(op, Stream::Pull))
      streams[op] = Stream::Pull;
  }
}

void LaunchScheduler::nameStreams() {
  std::array<bool, kStreams.size()> isUsed = {};
  for (uint8_t stream : streams)
    isUsed[stream] = true;
  isUsed[Stream::Compute] = true;
  // `comm` exists even in a step without communication.
  if (!isUsed[Stream::Push])
    isUsed[Stream::Comm] = true;
  std::array<int32_t, kStreams.size()> numbers = {};
  for (size_t stream = 0; stream < kStreams.size(); ++stream)
    if (isUsed[stream]) {
      numbers[stream] = static_cast<int32_t>(result.streams.size());
      result.streams.push_back({kStreams[stream], stream == Stream::Compute ||
                                                      stream == Stream::Late});
    }
  result.streamOf.resize(size);
  for (int32_t op = 0; op < size; ++op)
    result.streamOf[op] = numbers[streams[op]];
}

/// Adds a delay; each op has one entry.
void LaunchScheduler::delay(int32_t op, const std::vector<int32_t> &after) {
  auto known = std::find_if(
      result.delays.begin(), result.delays.end(),
      [&](const LaunchSchedule::Delay &entry) { return entry.op == op; });
  if (known == result.delays.end())
    result.delays.push_back({op, after});
  else
    known->after.insert(known->after.end(), after.begin(), after.end());
}

/// Makes a write wait for the last read, unless its written operand implies
/// that.
void LaunchScheduler::delayWrite(int32_t writer) {
  int32_t over = readsOver[writer];
  if (over < 0)
    return;
  std::vector<int32_t> work{
      step.operandsOf(writer)[step[writer].writtenOperand]};
  while (!work.empty()) {
    int32_t from = work.back();
    work.pop_back();
    if (OpGraph::isState(from) || seenBy[from] == writer)
      continue;
    seenBy[from] = writer;
    if (!is(from, GraphOpKind::Compute))
      work.insert(work.end(), step.operandsOf(from).begin(),
                  step.operandsOf(from).end());
    else if (from >= over)
      return;
  }
  delay(writer, {over});
}

/// By op of the runtime: the first op of the program in the next step that
/// waits for it, by reading a state that the op leads to; -1 if the program
/// waits within the step, `size` if it never waits.
std::vector<int32_t> LaunchScheduler::findAwaited() const {
  std::vector<int32_t> awaited(size, size), firstRead(step.yields.size(), size);
  // Late reads come after all gradients, whatever their numbers.
  for (int32_t op = size; op-- > 0;)
    if (parts[op] == Part::Main)
      for (int32_t operand : step.operandsOf(op))
        if (OpGraph::isState(operand))
          firstRead[OpGraph::stateOf(operand)] = op;
  for (size_t state = 0; state < step.yields.size(); ++state)
    if (int32_t writer = step.yields[state]; writer >= 0)
      awaited[writer] = std::min(awaited[writer], firstRead[state]);
  for (int32_t op = size; op-- > 0;)
    for (int32_t user : usersOf(op))
      awaited[op] = std::min(
          awaited[op], is(user, GraphOpKind::Compute) ? -1 : awaited[user]);
  return awaited;
}

/// Whether the program gives the op's result to the runtime: a gradient, or a
/// statistic that is reduced.
bool LaunchScheduler::isGift(int32_t op) const {
  return is(op, GraphOpKind::Compute) &&
         std::any_of(usersOf(op).begin(), usersOf(op).end(), [&](int32_t user) {
           return !is(user, GraphOpKind::Compute);
         });
}

/// The next step's gradient overwrites the memory of this step's, which the
/// runtime reads. The program waits for the runtime when it reads the state
/// that the gradient led to. If it computes the gradient before that read, or
/// never reads the state (for the zeros of a frozen param, say), the gradient
/// itself has to wait. The same holds for all other tensors that the program
/// gives.
void LaunchScheduler::delayGifts() {
  std::vector<int32_t> awaited = findAwaited();
  // By op of the runtime: the first given tensor on which its result depends. A
  // bucket doesn't tell which of its members led to a state; the program makes
  // the other members later.
  std::vector<int32_t> firstGift(size, size);
  for (int32_t op = 0; op < size; ++op) {
    if (isGift(op))
      firstGift[op] = op;
    else if (!is(op, GraphOpKind::Compute))
      for (int32_t operand : step.operandsOf(op))
        if (!OpGraph::isState(operand))
          firstGift[op] = std::min(firstGift[op], firstGift[operand]);
  }
  // One of the states that an op makes is enough to tell that the op is done.
  std::vector<bool> isSeen(size, false);
  for (size_t state = 0; state < step.yields.size(); ++state)
    if (int32_t writer = step.yields[state];
        writer >= 0 && !is(writer, GraphOpKind::Compute) && !isSeen[writer] &&
        firstGift[writer] < awaited[writer]) {
      isSeen[writer] = true;
      delay(firstGift[writer], {OpGraph::state(static_cast<int32_t>(state))});
    }
}

/// Makes the first communication of a stream wait for all gradients, unless it
/// waits for other communication anyway. The stream's order holds back the
/// rest.
void LaunchScheduler::delayFirst(int32_t comm) {
  for (int32_t from : step.operandsOf(comm))
    if (!OpGraph::isState(from) && parts[from] == Part::Comm)
      return;
  std::vector<int32_t> gradients;
  for (int32_t op = 0; op < size; ++op)
    if (step[op].makesGradient)
      gradients.push_back(op);
  if (!gradients.empty())
    delay(comm, gradients);
}

/// Plays the queue against the predicted times, and keeps the order in which
/// messages started. Messages that were in flight at once go on streams of
/// their own.
void LaunchScheduler::orderByPriority(int64_t creditBytes) {
  PricedTasks tasks = tasksOf(step, result, prices);
  TaskGraph &graph = tasks.graph;
  std::vector<bool> isQueue(graph.streams.size(), false);
  for (size_t i = 0; i < graph.streams.size(); ++i) {
    StreamModel &stream = graph.streams[i];
    if (stream.isCompute || stream.name == kStreams[Stream::Activation])
      continue;
    stream.byPriority = true;
    if (stream.name == kStreams[Stream::Update])
      continue;
    stream.creditBytes = creditBytes;
    stream.maxInFlight = kMaxLanes;
    isQueue[i] = true;
  }
  for (int32_t task = 0; task < size; ++task)
    graph.setPriority(task, urgency[tasks.ops[task]]);
  Simulation played = simulate(graph);

  // A dependency ends before its user starts, so the order of starts is a valid
  // order of the block. Of two ops that start together, the one that takes no
  // time goes first.
  std::vector<int32_t> byStart(size);
  std::iota(byStart.begin(), byStart.end(), 0);
  std::stable_sort(byStart.begin(), byStart.end(), [&](int32_t a, int32_t b) {
    const TaskTimes &first = played.tasks[a], &second = played.tasks[b];
    return std::tie(first.startNs, first.endNs) <
           std::tie(second.startNs, second.endNs);
  });
  std::vector<int32_t> order;
  std::vector<std::vector<Lane>> lanesOf(graph.streams.size());
  for (int32_t task : byStart) {
    int32_t op = tasks.ops[task], stream = result.streamOf[op];
    if (isPutOff(op))
      continue;
    order.push_back(op);
    if (!isQueue[stream])
      continue;
    const TaskTimes &times = played.tasks[task];
    Lane &lane = laneFor(stream, times.startNs, lanesOf[stream]);
    lane.freeNs = times.endNs;
    result.streamOf[op] = lane.stream;
  }
  std::copy_if(result.order.begin(), result.order.end(),
               std::back_inserter(order),
               [&](int32_t op) { return isPutOff(op); });
  result.order = std::move(order);
}

/// The first free lane of a queue. If none is free, a new lane, up to
/// kMaxLanes; then the lane that is free first.
LaunchScheduler::Lane &LaunchScheduler::laneFor(int32_t stream, double startNs,
                                                std::vector<Lane> &lanes) {
  auto free = std::find_if(lanes.begin(), lanes.end(), [&](const Lane &lane) {
    return lane.freeNs <= startNs;
  });
  if (free != lanes.end())
    return *free;
  if (lanes.size() == kMaxLanes)
    return *std::min_element(
        lanes.begin(), lanes.end(),
        [](const Lane &a, const Lane &b) { return a.freeNs < b.freeNs; });
  if (lanes.empty()) {
    lanes.push_back({stream, 0});
    return lanes.back();
  }
  result.streams.push_back(
      {result.streams[stream].name + "." + std::to_string(lanes.size()),
       /*isProgram=*/false});
  lanes.push_back({static_cast<int32_t>(result.streams.size()) - 1, 0});
  return lanes.back();
}

LaunchSchedule LaunchScheduler::run(const SchedulingOptions &options) {
  bool isBsp = options.policy == SchedulePolicy::Bsp;
  findUsers();
  findReads();
  findUrgency();
  std::vector<int32_t> comm =
      orderComm(options.policy == SchedulePolicy::Decoupled);
  orderAll(comm, isBsp);
  findStreams();
  nameStreams();
  for (int32_t op : comm)
    delayWrite(op);
  delayGifts();
  if (isBsp) {
    std::vector<bool> isDelayed(result.streams.size(), false);
    for (int32_t op : comm)
      if (!isDelayed[result.streamOf[op]]) {
        isDelayed[result.streamOf[op]] = true;
        delayFirst(op);
      }
  }
  if (options.policy == SchedulePolicy::Priority)
    orderByPriority(options.creditBytes);
  return std::move(result);
}

LaunchSchedule bagua::scheduleStep(const OpGraph &step,
                                   const SchedulingOptions &options,
                                   CollectivePrices &prices) {
  return LaunchScheduler(step, prices).run(options);
}

/// Whether `op` uses the result of `source`, directly or through other ops.
static bool uses(const OpGraph &step, int32_t op, int32_t source) {
  std::vector<bool> seen(step.size(), false);
  std::vector<int32_t> open{op};
  while (!open.empty()) {
    int32_t next = open.back();
    open.pop_back();
    if (next == source)
      return true;
    for (int32_t from : step.operandsOf(next))
      if (!OpGraph::isState(from) && from >= source && !seen[from]) {
        seen[from] = true;
        open.push_back(from);
      }
  }
  return false;
}

static void findUnorderedWrites(const OpGraph &step,
                                const std::vector<Part> &parts,
                                std::vector<int32_t> &found) {
  std::vector<std::vector<int32_t>> lateReads(step.yields.size());
  for (int32_t op = 0; op < step.size(); ++op)
    if (parts[op] == Part::Late && step[op].kind == GraphOpKind::Compute)
      for (int32_t from : step.operandsOf(op))
        if (OpGraph::isState(from))
          lateReads[OpGraph::stateOf(from)].push_back(op);
  forEachWrite(step, [&](int32_t op, int32_t state) {
    if (parts[op] != Part::Late || step[op].kind == GraphOpKind::Compute)
      return;
    auto isUnordered = [&](int32_t read) { return !uses(step, op, read); };
    if (std::any_of(lateReads[state].begin(), lateReads[state].end(),
                    isUnordered))
      found.push_back(op);
  });
}

std::vector<int32_t> bagua::findProgramsOwn(const OpGraph &step) {
  std::vector<Part> parts = classifyOps(step);
  std::vector<int32_t> found;
  findUnorderedWrites(step, parts, found);
  for (int32_t op = 0; op < step.size(); ++op)
    if (parts[op] == Part::Comm && step[op].kind != GraphOpKind::Collective)
      for (int32_t from : step.operandsOf(op))
        if (!OpGraph::isState(from) && parts[from] == Part::Activation)
          found.push_back(op);
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}
