//===- Simulator.cpp - How long a step takes ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The event loop. At most a few tasks are active at a time, one a stream as a
// rule, so they are scanned rather than kept in a heap.
//
//===----------------------------------------------------------------------===//
#include "bagua/Scheduling/Prices/Simulator.h"

#include "bagua/Support/StepsInFlight.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <queue>
#include <string>
#include <tuple>

using namespace bagua;

namespace {

/// The number of steps whose state is kept: tasks up to kStepsInFlight steps
/// later wait for a task of a step in flight.
constexpr int kWindow = 2 * kStepsInFlight;

/// The state of one task in one step.
struct TaskState {
  /// Dependencies that have not ended, plus one while the step may not begin.
  int32_t missing;
  /// The dependency that ended last, and the time.
  int32_t lastDependency = -1;
  int32_t lastStepsBack = 0;
  double readyNs = 0;
};

struct StepState {
  std::vector<TaskState> tasks;
  std::vector<TaskTimes> times;
  int32_t unfinished = 0;
};

struct ActiveTask {
  int32_t task;
  int64_t step;
  /// The task's stream wakes up; the task has not begun.
  bool wakes;
  bool flows;
  /// The remaining time at speed 1. Speed 1 of a flow is its speed alone.
  double remainingNs;
  double speed;
  double finishNs;
};

/// (priority, step, task), the smallest first.
using ReadyTask = std::tuple<int32_t, int64_t, int32_t>;
using ReadyQueue = std::priority_queue<ReadyTask, std::vector<ReadyTask>,
                                       std::greater<ReadyTask>>;

struct StreamState {
  std::vector<int32_t> tasks;
  /// In issue order: the place in `tasks` of the next task, and its step.
  size_t next = 0;
  int64_t step = 0;
  ReadyQueue ready;
  int32_t inFlight = 0;
  int64_t bytesInFlight = 0;
  /// The task that ended last.
  int32_t last = -1;
  int64_t lastStep = 0;
  double freeNs = 0;
  /// The busy time until the stream was last idle, and the start of the current
  /// busy time.
  double busyNs = 0, busySinceNs = 0;
  /// One of its tasks may be able to start.
  bool isChanged = true;

  double busyUntil(double now) const {
    return inFlight > 0 ? busyNs + now - busySinceNs : busyNs;
  }
};

class Simulator {
public:
  explicit Simulator(const TaskGraph &taskGraph);

  Simulation run();

private:
  void openStep(int64_t step);
  void closeStep(int64_t step);
  void release(int64_t step, int32_t task, int32_t by, int32_t stepsBack);
  void dispatch(StreamState &stream, const StreamModel &model);
  void start(StreamState &stream, int64_t step, int32_t task);
  void begin(ActiveTask &task);
  void beginFlow(ActiveTask &active);
  void finish(size_t index);
  void shareLinks();
  void findCapacities();
  bool isOnDevice(int32_t task) const {
    return graph.streams[graph[task].stream].isCompute ||
           graph[task].usesDevice;
  }
  void countOnDevice(int32_t task, int32_t change);
  void paceDevice(ActiveTask &task);
  void findGrowing();
  double growFlows(double speed);
  bool fits(const StreamState &stream, const StreamModel &model,
            int32_t task) const;
  void compare(int64_t step);
  Simulation report(int64_t step);

  StepState &stateOf(int64_t step) { return window[step % kWindow]; }

  void findQueues();
  bool mayFlow(const ActiveTask &flow);
  void mergeLinks();
  const LinkUse *usesBegin(int32_t task) const {
    return uses.data() + firstUse[task];
  }
  const LinkUse *usesEnd(int32_t task) const {
    return uses.data() + firstUse[task + 1];
  }

  const TaskGraph &graph;
  /// Links that every task uses equally (those of servers that share a tensor
  /// evenly) are merged into one. By link: its class. `uses` are the uses of
  /// these classes, each divided by the task's duration alone.
  std::vector<int32_t> classOf;
  std::vector<LinkModel> links;
  /// The available rate of each link class, from 0 to 1; less beside compute.
  std::vector<double> capacities;
  /// The number of messages in flight on each link class.
  std::vector<int32_t> inFlight;
  bool hasOverlappedRates = false, hasConcurrentRates = false;
  /// The start of the program's current op, and the next time at which compute
  /// takes less of a link.
  double computeStartNs = 0;
  double capacityChangeNs = std::numeric_limits<double>::infinity();
  /// Whether the runtime works on the program's device.
  bool isDeviceShared = false;
  std::vector<LinkUse> uses;
  std::vector<int32_t> firstUse;
  std::vector<StreamState> streams;
  /// The queue of each stream. The lanes of a queue are `x`, `x.1`, `x.2`, ...
  std::vector<int32_t> queueOf;
  StepState window[kWindow];
  /// For each task, the tasks that wait for it, with the distance in steps.
  std::vector<int32_t> firstSuccessor;
  std::vector<TaskDependency> successors;
  /// The task whose start is its step's start.
  int32_t opening = 0;

  double now = 0;
  int64_t oldestStep = 0;
  std::vector<ActiveTask> active;
  int32_t flowCount = 0;
  /// Tasks in flight that take time: tasks of compute, and all tasks on the
  /// device.
  int32_t computing = 0, onDevice = 0;
  bool flowsChanged = false;

  /// The times of the step that ended last, since its begin.
  std::vector<TaskTimes> previous;
  int sameSteps = 0;
  bool isSteady = false;
  std::vector<double> beginNs;
  std::vector<double> linkBusyNs;
  /// The busy times at each step's begin.
  std::vector<std::vector<double>> linkSnapshots, streamSnapshots;
  // Scratch of shareLinks.
  std::vector<double> load, used;
  /// By queue and link: whether a message of the queue has its bytes on the
  /// link.
  std::vector<char> isTaken;
  std::vector<ActiveTask *> growing;
  /// The duration of each flow alone: its longest use.
  std::vector<double> aloneNs;
};
} // namespace

Simulator::Simulator(const TaskGraph &taskGraph)
    : graph(taskGraph), streams(taskGraph.streams.size()),
      firstSuccessor(taskGraph.size() + 1, 0), previous(taskGraph.size()),
      aloneNs(taskGraph.size()) {
  mergeLinks();
  findQueues();
  linkBusyNs.assign(links.size(), 0);
  load.assign(links.size(), 0);
  used.assign(links.size(), 0);
  capacities.assign(links.size(), 1);
  inFlight.assign(links.size(), 0);
  for (const LinkModel &link : links) {
    hasOverlappedRates |= link.overlappedRate < 1;
    hasConcurrentRates |= link.concurrentRate < 1;
  }
  bool hasCompute = false;
  for (int32_t task = 0; task < graph.size(); ++task) {
    streams[graph[task].stream].tasks.push_back(task);
    isDeviceShared |= graph[task].usesDevice;
    bool isCompute = graph.streams[graph[task].stream].isCompute;
    if (isCompute && !hasCompute) {
      hasCompute = true;
      opening = task;
    }
    for (auto *on = graph.dependenciesBegin(task);
         on != graph.dependenciesEnd(task); ++on)
      ++firstSuccessor[on->task + 1];
    for (int32_t i = firstUse[task]; i < firstUse[task + 1]; ++i)
      aloneNs[task] = std::max(aloneNs[task], uses[i].ns);
    for (int32_t i = firstUse[task]; i < firstUse[task + 1]; ++i)
      uses[i].ns /= aloneNs[task];
  }
  for (int32_t task = 0; task < graph.size(); ++task)
    firstSuccessor[task + 1] += firstSuccessor[task];
  successors.resize(firstSuccessor.back());
  std::vector<int32_t> filled(firstSuccessor.begin(), firstSuccessor.end() - 1);
  for (int32_t task = 0; task < graph.size(); ++task)
    for (auto *on = graph.dependenciesBegin(task);
         on != graph.dependenciesEnd(task); ++on)
      successors[filled[on->task]++] = {task, on->stepsBack};
}

void Simulator::mergeLinks() {
  using Column = std::vector<std::pair<int32_t, double>>;
  std::vector<Column> columns(graph.links.size());
  for (int32_t task = 0; task < graph.size(); ++task)
    for (auto *use = graph.usesBegin(task); use != graph.usesEnd(task); ++use)
      if (use->ns > 0)
        columns[use->link].emplace_back(task, use->ns);
  std::map<std::tuple<LinkSharing, double, double, double, Column>, int32_t>
      classes;
  std::vector<bool> isFirst;
  for (size_t link = 0; link < columns.size(); ++link) {
    const LinkModel &model = graph.links[link];
    auto [entry, isNew] = classes.try_emplace(
        {model.sharing, model.overlappedRate, model.overlappedNs,
         model.concurrentRate, std::move(columns[link])},
        static_cast<int32_t>(classes.size()));
    classOf.push_back(entry->second);
    isFirst.push_back(isNew);
    if (isNew)
      links.push_back(graph.links[link]);
  }
  firstUse.push_back(0);
  for (int32_t task = 0; task < graph.size(); ++task) {
    for (auto *use = graph.usesBegin(task); use != graph.usesEnd(task); ++use)
      if (use->ns > 0 && isFirst[use->link])
        uses.push_back({classOf[use->link], use->ns});
    firstUse.push_back(static_cast<int32_t>(uses.size()));
  }
}

void Simulator::findQueues() {
  std::map<std::string, int32_t> numbers;
  for (const StreamModel &stream : graph.streams) {
    std::string name = stream.name.substr(0, stream.name.find('.'));
    queueOf.push_back(
        numbers.try_emplace(name, static_cast<int32_t>(numbers.size()))
            .first->second);
  }
  isTaken.assign(numbers.size() * links.size(), 0);
}

/// Counts the dependencies of each task of a step. Steps before the first have
/// ended.
void Simulator::openStep(int64_t step) {
  StepState &state = stateOf(step);
  state.tasks.assign(graph.size(), TaskState());
  state.times.assign(graph.size(), TaskTimes());
  state.unfinished = graph.size();
  for (int32_t task = 0; task < graph.size(); ++task) {
    int32_t missing = step >= kStepsInFlight ? 1 : 0;
    for (auto *on = graph.dependenciesBegin(task);
         on != graph.dependenciesEnd(task); ++on)
      missing += on->stepsBack <= step;
    state.tasks[task].missing = missing;
    const Task &model = graph[task];
    if (missing == 0 && graph.streams[model.stream].byPriority)
      streams[model.stream].ready.push({model.priority, step, task});
  }
}

/// Notes that one dependency of a task has ended.
void Simulator::release(int64_t step, int32_t task, int32_t by,
                        int32_t stepsBack) {
  TaskState &state = stateOf(step).tasks[task];
  state.lastDependency = by;
  state.lastStepsBack = stepsBack;
  state.readyNs = now;
  assert(state.missing > 0);
  if (--state.missing > 0)
    return;
  StreamState &stream = streams[graph[task].stream];
  stream.isChanged = true;
  if (graph.streams[graph[task].stream].byPriority)
    stream.ready.push({graph[task].priority, step, task});
}

bool Simulator::fits(const StreamState &stream, const StreamModel &model,
                     int32_t task) const {
  return stream.inFlight == 0 ||
         (model.creditBytes > 0 &&
          (model.maxInFlight == 0 || stream.inFlight < model.maxInFlight) &&
          stream.bytesInFlight + graph[task].bytes <= model.creditBytes);
}

void Simulator::dispatch(StreamState &stream, const StreamModel &model) {
  if (model.byPriority) {
    while (!stream.ready.empty()) {
      auto [priority, step, task] = stream.ready.top();
      if (!fits(stream, model, task))
        return;
      stream.ready.pop();
      start(stream, step, task);
    }
    return;
  }
  while (!stream.tasks.empty()) {
    int32_t task = stream.tasks[stream.next];
    if (stateOf(stream.step).tasks[task].missing > 0 ||
        !fits(stream, model, task))
      return;
    start(stream, stream.step, task);
    if (++stream.next == stream.tasks.size()) {
      stream.next = 0;
      ++stream.step;
    }
  }
}

void Simulator::start(StreamState &stream, int64_t step, int32_t task) {
  StepState &state = stateOf(step);
  const TaskState &wait = state.tasks[task];
  TaskTimes &times = state.times[task];
  times.startNs = now;
  // The cause is whichever ended last: a dependency, or the stream's last task.
  if (wait.lastDependency >= 0 &&
      (stream.last < 0 || wait.readyNs >= stream.freeNs)) {
    times.cause = wait.lastDependency;
    times.causeStepsBack = wait.lastStepsBack;
  } else if (stream.last >= 0) {
    times.cause = stream.last;
    times.causeStepsBack = static_cast<int32_t>(step - stream.lastStep);
  }
  bool stoodStill =
      stream.inFlight == 0 && (stream.last < 0 || stream.freeNs < now);
  double wakeNs = stoodStill ? graph.wakeNs : 0;
  if (stream.inFlight++ == 0)
    stream.busySinceNs = now + wakeNs;
  stream.bytesInFlight += graph[task].bytes;
  if (task == opening) {
    beginNs.push_back(now);
    linkSnapshots.push_back(linkBusyNs);
    streamSnapshots.emplace_back();
    for (const StreamState &other : streams)
      streamSnapshots.back().push_back(other.busyUntil(now));
  }
  active.push_back({task, step, wakeNs > 0, false, wakeNs, 1, now + wakeNs});
  if (wakeNs == 0)
    begin(active.back());
}

/// Begins a task whose stream is awake.
void Simulator::begin(ActiveTask &task) {
  double fixedNs = graph[task.task].fixedNs;
  task.wakes = false;
  task.remainingNs = fixedNs;
  task.speed = 1;
  task.finishNs = now + fixedNs;
  // While bytes flow, compute begins slower, and slows the flows.
  flowsChanged |= graph.communicationSlowdown > 1;
  countOnDevice(task.task, 1);
  if (fixedNs == 0)
    beginFlow(task);
}

/// Counts one task more or less.
void Simulator::countOnDevice(int32_t task, int32_t change) {
  if (!isOnDevice(task) || graph[task].fixedNs == 0)
    return;
  onDevice += change;
  flowsChanged |= isDeviceShared;
  if (graph.streams[graph[task].stream].isCompute) {
    computing += change;
    if (change > 0)
      computeStartNs = now;
    flowsChanged |= hasOverlappedRates;
  }
}

void Simulator::beginFlow(ActiveTask &flow) {
  if (aloneNs[flow.task] == 0)
    return;
  flow.flows = true;
  flow.remainingNs = aloneNs[flow.task];
  flow.speed = 0;
  flow.finishNs = std::numeric_limits<double>::infinity();
  ++flowCount;
  flowsChanged = true;
}

/// Computes the rate of each link that compute and other messages leave from
/// now on.
void Simulator::findCapacities() {
  std::fill(inFlight.begin(), inFlight.end(), 0);
  for (size_t i = 0; hasConcurrentRates && i < active.size(); ++i)
    if (active[i].flows)
      for (auto *use = usesBegin(active[i].task);
           use != usesEnd(active[i].task); ++use)
        ++inFlight[use->link];
  capacityChangeNs = std::numeric_limits<double>::infinity();
  for (size_t link = 0; link < links.size(); ++link) {
    double endNs = computeStartNs + links[link].overlappedNs;
    bool isBeside = computing > 0 && now < endNs;
    capacities[link] = isBeside ? links[link].overlappedRate : 1;
    if (inFlight[link] > 1)
      capacities[link] *= links[link].concurrentRate;
    if (isBeside && hasOverlappedRates)
      capacityChangeNs = std::min(capacityChangeNs, endNs);
  }
}

/// Max-min fairness: all flows speed up together until a link is full; the
/// flows on that link stay at their speed, the others go on. A flow must be the
/// first on each FIFO link that it needs.
void Simulator::shareLinks() {
  flowsChanged = false;
  findGrowing();
  std::fill(used.begin(), used.end(), 0.0);
  if (hasOverlappedRates || hasConcurrentRates)
    findCapacities();
  double speed = 0;
  while (!growing.empty())
    speed = growFlows(speed);
  for (ActiveTask &task : active)
    if (task.flows)
      task.finishNs = task.speed > 0 ? now + task.remainingNs / task.speed
                                     : std::numeric_limits<double>::infinity();
}

/// Sets the speed of a task that shares the device with others and runs beside
/// flows.
void Simulator::paceDevice(ActiveTask &task) {
  double speed = 1;
  if (isOnDevice(task.task) && !task.wakes) {
    speed = flowCount ? 1 / graph.communicationSlowdown : 1;
    if (isDeviceShared && onDevice > 1)
      speed /= onDevice;
  }
  if (speed == task.speed)
    return;
  task.speed = speed;
  task.finishNs = now + task.remainingNs / speed;
}

/// Whether a flow is the first of all on each FIFO link that it uses, and the
/// first of its queue on other links. Flows must be asked in the order in which
/// they came.
bool Simulator::mayFlow(const ActiveTask &flow) {
  char *isTakenBy =
      isTaken.data() +
      static_cast<size_t>(queueOf[graph[flow.task].stream]) * links.size();
  bool isFirst = true;
  for (auto *use = usesBegin(flow.task); use != usesEnd(flow.task); ++use) {
    bool isFair = links[use->link].sharing == LinkSharing::Fair;
    isFirst &= isFair ? !isTakenBy[use->link] : used[use->link] == 0;
    used[use->link] = 1;
  }
  // A flow that waits leaves its other links to the flows behind it.
  for (auto *use = usesBegin(flow.task); isFirst && use != usesEnd(flow.task);
       ++use)
    isTakenBy[use->link] = 1;
  return isFirst;
}

/// Finds the flows that may have a share. Active tasks stand in the order in
/// which they came.
void Simulator::findGrowing() {
  growing.clear();
  std::fill(used.begin(), used.end(), 0.0);
  std::fill(isTaken.begin(), isTaken.end(), 0);
  for (ActiveTask &task : active) {
    if (!task.flows) {
      paceDevice(task);
      continue;
    }
    task.speed = 0;
    if (mayFlow(task))
      growing.push_back(&task);
  }
}

/// Speeds up the growing flows from `speed` until a link is full; the flows on
/// that link stop growing. Returns their speed.
double Simulator::growFlows(double speed) {
  std::fill(load.begin(), load.end(), 0.0);
  for (const ActiveTask *flow : growing)
    for (auto *use = usesBegin(flow->task); use != usesEnd(flow->task); ++use)
      load[use->link] += use->ns;
  double step = std::numeric_limits<double>::infinity();
  for (size_t link = 0; link < load.size(); ++link)
    if (load[link] > 0)
      step = std::min(step, (capacities[link] - used[link]) / load[link]);
  speed += step;
  // No link has too much: each flow is as fast as alone.
  bool areAllAlone = speed == 1;
  for (size_t link = 0; link < load.size(); ++link)
    used[link] =
        load[link] > 0 && (capacities[link] - used[link]) / load[link] <= step
            ? capacities[link]
            : used[link] + step * load[link];
  auto isDone = [&](ActiveTask *flow) {
    bool isFull = areAllAlone;
    for (auto *use = usesBegin(flow->task);
         !isFull && use != usesEnd(flow->task); ++use)
      isFull = used[use->link] == capacities[use->link];
    if (isFull)
      flow->speed = speed;
    return isFull;
  };
  growing.erase(std::remove_if(growing.begin(), growing.end(), isDone),
                growing.end());
  return speed;
}

void Simulator::finish(size_t index) {
  ActiveTask done = active[index];
  if (done.wakes) {
    begin(active[index]);
    return;
  }
  if (!done.flows && aloneNs[done.task] > 0) {
    beginFlow(active[index]);
    return;
  }
  active.erase(active.begin() + static_cast<ptrdiff_t>(index));
  if (done.flows) {
    --flowCount;
    flowsChanged = true;
  }
  StepState &state = stateOf(done.step);
  state.times[done.task].endNs = now;
  countOnDevice(done.task, -1);
  StreamState &stream = streams[graph[done.task].stream];
  if (--stream.inFlight == 0)
    stream.busyNs += now - stream.busySinceNs;
  stream.isChanged = true;
  stream.bytesInFlight -= graph[done.task].bytes;
  stream.last = done.task;
  stream.lastStep = done.step;
  stream.freeNs = now;
  for (int32_t i = firstSuccessor[done.task]; i < firstSuccessor[done.task + 1];
       ++i)
    release(done.step + successors[i].stepsBack, successors[i].task, done.task,
            successors[i].stepsBack);
  --state.unfinished;
}

/// Compares a step that has ended with the step before. A task's times follow
/// from the kStepsInFlight steps before it, so if they are the same in as many
/// steps, they stay the same. To compare periods alone would not do: a period
/// may stand still for a while, as a slow stream falls behind.
void Simulator::compare(int64_t step) {
  const std::vector<TaskTimes> &times = stateOf(step).times;
  double origin = beginNs[step];
  double tolerance = 1e-9 * (now - origin);
  bool isSame = step > 0;
  for (int32_t task = 0; task < graph.size(); ++task) {
    double start = times[task].startNs - origin,
           end = times[task].endNs - origin;
    isSame &= std::abs(start - previous[task].startNs) <= tolerance &&
              std::abs(end - previous[task].endNs) <= tolerance;
    previous[task] = {start, end};
  }
  sameSteps = isSame ? sameSteps + 1 : 0;
  isSteady = sameSteps >= kStepsInFlight;
}

Simulation Simulator::report(int64_t step) {
  Simulation result;
  result.steps = static_cast<int>(step) + 1;
  size_t last = beginNs.size() - 1;
  // Steps in flight may begin close together, and the next ones when these have
  // ended; so the period is averaged. A period that never settled is averaged
  // over the second half.
  size_t from = isSteady ? last - kStepsInFlight : last / 2;
  auto count = static_cast<double>(last - from);
  result.stepNs = last > from ? (beginNs[last] - beginNs[from]) / count
                              : now - beginNs[last];
  auto perStep = [&](const std::vector<std::vector<double>> &snapshots) {
    std::vector<double> values = snapshots[last];
    for (size_t i = 0; i < values.size(); ++i)
      values[i] =
          last > from ? (values[i] - snapshots[from][i]) / count : values[i];
    return values;
  };
  std::vector<double> busyNs = perStep(linkSnapshots);
  for (int32_t linkClass : classOf)
    result.linkBusyNs.push_back(busyNs[linkClass]);
  result.streamBusyNs = perStep(streamSnapshots);
  result.exposedNs = result.stepNs;
  for (size_t i = 0; i < streams.size(); ++i)
    if (graph.streams[i].isCompute)
      result.exposedNs -= result.streamBusyNs[i];
  result.exposedNs = std::max(result.exposedNs, 0.0);

  result.tasks = stateOf(step).times;
  int32_t task = 0;
  for (int32_t i = 0; i < graph.size(); ++i)
    if (result.tasks[i].endNs > result.tasks[task].endNs)
      task = i;
  for (int32_t from = task; from >= 0;) {
    result.criticalPath.push_back(from);
    from =
        result.tasks[from].causeStepsBack == 0 ? result.tasks[from].cause : -1;
  }
  std::reverse(result.criticalPath.begin(), result.criticalPath.end());
  double origin = beginNs[step];
  for (TaskTimes &times : result.tasks) {
    times.startNs -= origin;
    times.endNs -= origin;
  }
  return result;
}

/// Lets the step after those in flight begin, and counts a new step.
void Simulator::closeStep(int64_t step) {
  // The next step waited for the task that ended last.
  int32_t last = 0;
  const std::vector<TaskTimes> &times = stateOf(step).times;
  for (int32_t task = 0; task < graph.size(); ++task)
    if (times[task].endNs > times[last].endNs)
      last = task;
  for (int32_t task = 0; task < graph.size(); ++task)
    release(step + kStepsInFlight, task, last, kStepsInFlight);
  ++oldestStep;
  openStep(step + kWindow);
}

Simulation Simulator::run() {
  for (int64_t step = 0; step < kWindow; ++step)
    openStep(step);
  while (true) {
    for (size_t i = 0; i < streams.size(); ++i)
      if (streams[i].isChanged) {
        streams[i].isChanged = false;
        dispatch(streams[i], graph.streams[i]);
      }
    if (flowsChanged)
      shareLinks();
    assert(!active.empty() && "a sound graph never stands still");
    double next = capacityChangeNs;
    for (const ActiveTask &task : active)
      next = std::min(next, task.finishNs);
    double passed = next - now;
    now = next;
    for (size_t link = 0; flowCount > 0 && link < used.size(); ++link)
      if (used[link] > 0)
        linkBusyNs[link] += passed * used[link];
    for (ActiveTask &task : active)
      task.remainingNs -= passed * task.speed;
    flowsChanged |= now == capacityChangeNs;
    for (size_t i = 0; i < active.size();) {
      if (active[i].finishNs > now) {
        ++i;
        continue;
      }
      size_t count = active.size();
      finish(i);
      i += active.size() == count;
    }
    while (stateOf(oldestStep).unfinished == 0) {
      compare(oldestStep);
      if (isSteady || oldestStep + 1 == kMaxSimulatedSteps)
        return report(oldestStep);
      closeStep(oldestStep);
    }
  }
}

Simulation bagua::simulate(const TaskGraph &graph) {
  assert(!graph.check());
  return Simulator(graph).run();
}
