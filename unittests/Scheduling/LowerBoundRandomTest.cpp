//===- LowerBoundRandomTest.cpp - No schedule is below the bound ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random steps on random clusters under random schedules, none of which the
// simulator may find faster than the bound. What is drawn says which fault of
// the bound, the prices or the simulator it would show.
//
//===----------------------------------------------------------------------===//
#include "bagua/Scheduling/Prices/CollectiveCost.h"
#include "bagua/Scheduling/Prices/LowerBound.h"
#include "bagua/Scheduling/Prices/Message.h"
#include "bagua/Scheduling/Prices/Simulator.h"
#include "bagua/Support/StepsInFlight.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <map>
#include <random>
#include <string>
#include <vector>

using namespace bagua;

namespace {

class Draws {
public:
  explicit Draws(unsigned seed) : random(seed) {}

  int below(int limit) { return static_cast<int>(random() % limit); }
  bool isOneIn(int count) { return below(count) == 0; }
  template <typename T> void shuffle(std::vector<T> &values) {
    std::shuffle(values.begin(), values.end(), random);
  }

private:
  std::mt19937 random;
};

//===----------------------------------------------------------------------===//
// Clusters
//===----------------------------------------------------------------------===//

/// Next to nothing; as long as an op or a message, where it matters which
/// latencies others hide; up to a thousandth of a second, in which a message is
/// nothing.
int64_t drawLatency(Draws &draw) {
  if (draw.isOneIn(8))
    return 1000 << draw.below(11);
  return draw.below(draw.isOneIn(2) ? 300 : 30);
}

/// Any number that nests: whole axes from the inside out, and a part of the
/// next. A link that is counted once too often or too seldom shows.
int64_t drawSharers(const ClusterModel &cluster, int axis, Draws &draw) {
  std::vector<int64_t> allowed{1};
  int64_t inside = 1;
  for (int inner = cluster.axisCount() - 1; inner >= axis; --inner) {
    int64_t size = cluster.axes[inner].size;
    for (int64_t part = 2; part <= size; ++part)
      if (size % part == 0)
        allowed.push_back(inside * part);
    inside *= size;
  }
  return allowed[draw.below(static_cast<int>(allowed.size()))];
}

/// Cuts an axis in two, if there is one that can be: links that two axes have
/// together.
void cut(ClusterModel &cluster, Draws &draw) {
  for (int axis = 0; axis < cluster.axisCount(); ++axis) {
    AxisModel inner = cluster.axes[axis];
    if (inner.size <= 2 || inner.size % 2 != 0 || draw.isOneIn(2))
      continue;
    inner.name += ".1";
    inner.size = 2;
    inner.linksOf = axis;
    ClusterModel inTwo = cluster;
    inTwo.axes[axis].size /= 2;
    inTwo.axes.insert(inTwo.axes.begin() + axis + 1, inner);
    // Those who share a link may stand on both sides of the cut.
    if (inTwo.check())
      continue;
    cluster = inTwo;
    return;
  }
}

/// Measured times, slower than latency and rate by anything: what of them is
/// latency, which others hide, and what flows. None faster, which the bound
/// could not know. Messages may have more bytes than the largest, and lie where
/// the last two times are closer than the links' rate says.
void addTables(ClusterModel &cluster, Draws &draw) {
  ClusterModel priced = cluster;
  priced.launchNs = priced.messageNs = 0;
  // The gap may be more than a message takes.
  if (draw.isOneIn(2))
    for (AxisModel &axis : priced.axes)
      axis.gapNs = 0;
  for (int axis = 0; axis < cluster.axisCount(); ++axis) {
    bool isCut = false;
    for (int other = 0; other < cluster.axisCount(); ++other)
      isCut |= other != axis && cluster.linkOwner(other) == axis;
    if (isCut || cluster.axes[axis].linksOf >= 0 || !draw.isOneIn(3))
      continue;
    for (Collective collective :
         {Collective::AllReduce, Collective::ReduceScatter,
          Collective::AllGather, Collective::Reduce, Collective::Broadcast}) {
      if (draw.isOneIn(3))
        continue;
      int64_t slowerNs = draw.isOneIn(2) ? draw.below(400) : 0;
      TimeTable &table =
          cluster.axes[axis].tables[std::string(collectiveName(collective))];
      for (int64_t bytes :
           {1 + draw.below(50), 60 + draw.below(240),
            draw.isOneIn(2) ? 1 << 20 : 300 + draw.below(300)}) {
        SizedCollective call{collective, AxisSet(1) << axis, bytes};
        double times = 1 + 0.25 * draw.below(5);
        table.emplace_back(
            bytes, slowerNs + std::llround(std::ceil(
                                  times * cheapestCost(priced, call).ns())));
      }
    }
  }
}

/// Whatever the links are shared with, and who else is on them.
void addSurcharges(ClusterModel &cluster, Draws &draw) {
  for (int axis = 0; axis < cluster.axisCount(); ++axis)
    cluster.axes[axis].sharers = drawSharers(cluster, axis, draw);
  // A bus that is slower beside compute; threads that take turns.
  for (AxisModel &axis : cluster.axes) {
    if (draw.isOneIn(4)) {
      axis.overlappedRate = 0.25 * (1 + draw.below(4));
      axis.overlappedNs = draw.isOneIn(2) ? draw.below(60) : 0;
    }
    if (draw.isOneIn(6))
      axis.concurrentRate = 0.25 * (1 + draw.below(4));
    if (draw.isOneIn(6))
      axis.gapNs = draw.below(200);
  }
  if (draw.isOneIn(3))
    cut(cluster, draw);
  if (draw.isOneIn(3))
    cluster.dedicatedServers = 1 + draw.below(4);
  if (draw.isOneIn(2))
    cluster.serversOn = draw.below(1 << cluster.axisCount());
  cluster.launchNs = draw.below(draw.isOneIn(4) ? 100 : 3);
  cluster.messageNs = draw.isOneIn(3) ? draw.below(50) : 0;
  cluster.wakeNs = draw.isOneIn(3) ? draw.below(30) : 0;
  // Only that there is one counts here.
  if (draw.isOneIn(6))
    cluster.host[kOtherWork] = TimeTable{{1, 1}};
  addTables(cluster, draw);
}

ClusterModel drawCluster(bool isPlain, Draws &draw) {
  static constexpr std::array<const char *, 3> kNames = {"rack", "node", "gpu"};
  ClusterModel cluster;
  int axes = isPlain ? 2 : 1 + draw.below(3);
  // Inner links are faster and sooner as a rule, but no limit may rest on that.
  bool areInnerFaster = draw.isOneIn(2);
  int faster = draw.isOneIn(3) ? 4 : 0;
  for (int axis = 0; axis < axes; ++axis) {
    int64_t least = isPlain ? 2 : 1,
            size = least + draw.below(axes == 1 ? 8 : 5 - least);
    int64_t latencyNs = drawLatency(draw) >> (areInnerFaster ? 3 * axis : 0);
    int doublings = areInnerFaster ? 2 * axis : draw.below(5);
    cluster.axes.push_back({kNames[3 - axes + axis], size, latencyNs,
                            int64_t(1000000000) << (faster + doublings)});
  }
  if (!isPlain)
    addSurcharges(cluster, draw);
  return cluster;
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

/// A step of layers: forward, then backward. Its gradient `i` is of layer `i`.
struct RandomStep {
  BoundProblem problem;
  int layers = 0;
  /// Of gradients.
  AxisSet over = 0;
  /// Of each layer, on whole tensors.
  std::vector<int64_t> updateNs;
  /// Layers whose gradients are clipped by their common norm, and what that
  /// takes; the norm is there when all of their means are.
  std::vector<bool> isClipped;
  int64_t normNs = 0;

  bool isNeeded(int layer) const {
    return problem.gradients[layer].neededBy >= 0;
  }
};

/// Updates that take no time, or as long as ops of compute: they may be hidden
/// behind messages, share the device, or be the servers'. On a host's cores the
/// bound takes them for free.
void addUpdates(RandomStep &step, bool areFree, Draws &draw) {
  int longest = areFree ? 1 : draw.isOneIn(2) ? 100 : 400;
  int counted = step.problem.cluster.host.empty() ? 1 : 0;
  for (int layer = 0; layer < step.layers; ++layer) {
    step.updateNs.push_back(draw.below(longest));
    step.problem.gradients[layer].updateNs = counted * step.updateNs[layer];
    step.problem.updatesNs += counted * step.updateNs[layer];
  }
  // Some or all layers have a barrier: whoever of them is needed first needs
  // all of their gradients, and of their updates its own.
  step.isClipped.assign(step.layers, false);
  if (!draw.isOneIn(4))
    return;
  bool areAll = draw.isOneIn(2);
  int first = -1, last = -1;
  for (int layer = 0; layer < step.layers; ++layer)
    if (step.isNeeded(layer) && (areAll || draw.isOneIn(2))) {
      step.isClipped[layer] = true;
      first = first < 0 ? layer : first;
      last = layer;
    }
  if (first < 0)
    return;
  for (int layer = first; layer <= last; ++layer)
    if (step.isClipped[layer]) {
      step.problem.gradients[layer].neededBy = first;
      if (layer > first)
        step.problem.gradients[layer].updateNs = 0;
    }
  // The norm counts with the first of its gradients.
  step.normNs = draw.below(longest);
  step.problem.gradients[last].updateNs += counted * step.normNs;
  step.problem.updatesNs += counted * step.normNs;
}

RandomStep drawStep(Draws &draw) {
  RandomStep step;
  BoundProblem &problem = step.problem;
  // What slows messages down hides what makes them too fast: some steps have
  // none of that.
  bool isPlain = draw.isOneIn(3);
  problem.cluster = drawCluster(isPlain, draw);
  // Parts of a model along the other axes, which no servers know.
  AxisSet all = problem.cluster.allAxes();
  step.over = all;
  if (!isPlain && problem.cluster.servers() == 0 && draw.isOneIn(2))
    step.over = 1 + draw.below(static_cast<int>(all));
  step.layers = 1 + draw.below(isPlain ? 2 : 6);
  int ops = 2 * step.layers;
  for (int op = 0; op < ops; ++op)
    problem.computeNs.push_back(draw.below(100));
  // Messages as long as ops, or longer.
  int largest = draw.isOneIn(3) ? 2000 : 200;
  // Of some no later step needs what they lead to, so links alone bind.
  bool areSomeUnneeded = draw.isOneIn(4);
  for (int layer = 0; layer < step.layers; ++layer)
    problem.gradients.push_back(
        {draw.below(largest), step.over, ops - 1 - layer,
         areSomeUnneeded && !draw.isOneIn(3) ? -1 : layer, 0});
  addUpdates(step, isPlain && draw.isOneIn(2), draw);
  problem.anyTimeNs = draw.isOneIn(3) ? draw.below(100) : 0;
  AxisSet others = all & ~step.over;
  for (int op = 1; others && op < ops; ++op)
    if (draw.isOneIn(2))
      problem.waits.push_back({op, draw.below(op), draw.below(200), others});
  // They load the links as well.
  for (const BoundWait &wait : problem.waits)
    problem.gradients.push_back({wait.bytes, others, wait.after, -1, 0});
  return step;
}

//===----------------------------------------------------------------------===//
// Schedules
//===----------------------------------------------------------------------===//

/// Streams of the program, of what parts of a model exchange, of updates by
/// ranks and by servers; then the lanes of gradients' messages.
enum Stream : int32_t { kProgram, kExchange, kUpdate, kServers, kFirstLane };

/// Some buckets, parts, forms, lanes and order, and somebody who updates.
class RandomSchedule {
public:
  RandomSchedule(const RandomStep &step, Draws &draw);

  TaskGraph graph;

private:
  struct Entry {
    Task task;
    std::vector<LinkUse> uses;
    std::vector<TaskDependency> on;
  };
  /// A part of some layers' gradients.
  struct Message {
    std::vector<int> layers;
    int64_t bytes = 0;
    /// The runtime updates what it has of them where that is reduced; this is
    /// what it takes on whole tensors.
    bool isUpdated = false;
    double updateNs = 0;
  };
  /// A late one runs in the next step.
  struct WholeUpdate {
    int32_t task;
    bool isLate;
  };

  int32_t add(const Task &task, const std::vector<TaskDependency> &on,
              const std::vector<LinkUse> &uses = {}) {
    entries.push_back({task, uses, on});
    return static_cast<int32_t>(entries.size()) - 1;
  }
  int32_t addCall(const SizedCollective &call, Task task, int32_t after) {
    CollectiveCost cost = cheapestCost(cluster, call);
    task.fixedNs = cost.latencyNs;
    task.bytes = call.bytes;
    return add(task, {{after, 0}}, cost.uses);
  }
  void addStreams();
  std::vector<SizedCollective> drawCalls(int64_t bytes, AxisSet along);
  void exchange();
  std::vector<Message> drawMessages();
  void send(const Message &message);
  int32_t updateOnRank(double ns, const std::vector<TaskDependency> &on);
  int32_t updateParts(const std::vector<SizedCollective> &reductions,
                      double wholeNs, int32_t after);
  WholeUpdate updateWhole(double ns, const std::vector<int> &layers,
                          const WholeUpdate *norm);
  void update();
  void write();

  const RandomStep &step;
  const ClusterModel &cluster;
  Draws &draw;
  /// First those of the program's ops.
  std::vector<Entry> entries;
  /// By op: what is issued right before it.
  std::vector<std::vector<int32_t>> before;
  /// By layer: the last tasks of its gradient's messages, and whether these
  /// have its updates.
  std::vector<std::vector<int32_t>> ends;
  std::vector<bool> isUpdated;
  /// Many small messages of one form: the stages of one go on beside those of
  /// the others.
  bool isPipeline;
  int lanes = 0;
  /// The calls of a message take turns at lanes, or all of them have one.
  bool hasLaneForEachCall = false;
  /// On lanes with credit, what reduces goes before what gathers.
  bool areReductionsFirst = false;
  bool areOfOneForm;
  FormKind form;
};
} // namespace

RandomSchedule::RandomSchedule(const RandomStep &randomStep, Draws &draws)
    : step(randomStep), cluster(step.problem.cluster), draw(draws),
      before(step.problem.computeNs.size()), ends(step.layers),
      isUpdated(step.layers, false), isPipeline(draw.isOneIn(4)),
      areOfOneForm(isPipeline || draw.isOneIn(2)),
      form(static_cast<FormKind>(draw.below(kFormKindCount))) {
  addStreams();
  for (int64_t ns : step.problem.computeNs)
    add({kProgram, double(ns)}, {});
  exchange();
  std::vector<Message> messages = drawMessages();
  draw.shuffle(messages);
  for (const Message &message : messages)
    send(message);
  update();
  if (step.problem.anyTimeNs > 0)
    before[draw.below(2 * step.layers)].push_back(
        add({kProgram, double(step.problem.anyTimeNs)}, {}));
  write();
}

/// Lanes of one queue, or queues that share links; one message at a time, or
/// several within a credit: what is in flight hides latencies.
void RandomSchedule::addStreams() {
  lanes = isPipeline ? 2 : 1 + draw.below(5);
  hasLaneForEachCall = isPipeline || draw.isOneIn(2);
  areReductionsFirst = isPipeline || draw.isOneIn(4);
  bool areOneQueue = draw.isOneIn(2),
       haveCredit = isPipeline || draw.isOneIn(3);
  graph.streams = {{"program", true}, {"exchange"}, {"update"}, {"servers"}};
  for (int lane = 0; lane < lanes; ++lane)
    graph.streams.push_back(
        {(areOneQueue ? "lane." : "lane") + std::to_string(lane), false,
         haveCredit,
         !haveCredit       ? 0
         : draw.isOneIn(2) ? 1 << 20
                           : draw.below(2000)});
  graph.wakeNs = double(cluster.wakeNs);
  graph.links.resize(linkCount(cluster));
  for (int axis = 0; axis < cluster.axisCount(); ++axis)
    for (int32_t link : {egressLink(axis), ingressLink(axis)}) {
      LinkModel &model = graph.links[link];
      model.overlappedRate = cluster.axes[axis].overlappedRate;
      if (cluster.axes[axis].overlappedNs > 0)
        model.overlappedNs = double(cluster.axes[axis].overlappedNs);
      model.concurrentRate = cluster.axes[axis].concurrentRate;
    }
}

std::vector<SizedCollective> RandomSchedule::drawCalls(int64_t bytes,
                                                       AxisSet along) {
  if (cluster.servers() > 0 && !areOfOneForm && draw.isOneIn(2)) {
    int64_t server =
        draw.isOneIn(2) ? -1 : draw.below(static_cast<int>(cluster.servers()));
    SizedCollective push{Collective::Push, cluster.allAxes(), bytes, 0, server};
    SizedCollective pull = push;
    pull.collective = Collective::Pull;
    return {push, pull};
  }
  FormKind kind =
      areOfOneForm ? form : static_cast<FormKind>(draw.below(kFormKindCount));
  std::vector<SizedCollective> calls;
  for (const MessageStage &stage : expandMessage(
           cluster, {along, bytes}, formOfKind(cluster, bytes, along, kind)))
    calls.push_back(stage.call);
  return calls;
}

void RandomSchedule::exchange() {
  for (const BoundWait &wait : step.problem.waits) {
    int32_t last = wait.after;
    for (const SizedCollective &call : drawCalls(wait.bytes, wait.over)) {
      last = addCall(call, {kExchange}, last);
      before[wait.op].push_back(last);
    }
    entries[wait.op].on.push_back({last, 0});
  }
}

std::vector<RandomSchedule::Message> RandomSchedule::drawMessages() {
  std::vector<Message> messages;
  int mostLayers = 1 + draw.below(3), leastParts = isPipeline ? 8 : 1,
      moreParts = isPipeline || draw.isOneIn(4) ? 16 : 2;
  for (int layer = step.layers; layer > 0;) {
    Message bucket;
    bucket.isUpdated = draw.isOneIn(2);
    for (int left = 1 + draw.below(mostLayers); layer > 0 && left > 0; --left) {
      bucket.layers.push_back(--layer);
      bucket.bytes += step.problem.gradients[layer].bytes;
      bucket.updateNs += double(step.updateNs[layer]);
      // Who clips needs the whole mean.
      bucket.isUpdated &= !step.isClipped[layer];
    }
    for (int member : bucket.layers)
      isUpdated[member] = bucket.isUpdated;
    int parts = leastParts + draw.below(moreParts);
    for (int part = 0; part < parts; ++part) {
      Message message = bucket;
      message.bytes =
          bucket.bytes * (part + 1) / parts - bucket.bytes * part / parts;
      message.updateNs = bucket.updateNs / parts;
      messages.push_back(message);
    }
  }
  return messages;
}

void RandomSchedule::send(const Message &message) {
  std::vector<SizedCollective> calls = drawCalls(message.bytes, step.over);
  size_t reduced = 0;
  for (size_t call = 0; call < calls.size(); ++call)
    if (isReduction(calls[call].collective))
      reduced = call + 1;
  int priority = draw.below(step.layers);
  int lane = draw.below(lanes);
  int32_t last = step.problem.gradients[message.layers.back()].readyAfter;
  for (size_t call = 0; call < calls.size(); ++call) {
    int place = hasLaneForEachCall ? static_cast<int>(call) % lanes : lane;
    Task task{kFirstLane + place};
    task.priority = priority;
    if (areReductionsFirst && call >= reduced)
      task.priority += step.layers;
    last = addCall(calls[call], task, last);
    if (message.isUpdated && call + 1 == reduced)
      last = updateParts({calls.begin(), calls.begin() + reduced},
                         message.updateNs, last);
  }
  for (int layer : message.layers)
    ends[layer].push_back(last);
}

/// By the runtime: on the device, which compute shares, or on the cores that
/// carry messages.
int32_t RandomSchedule::updateOnRank(double ns,
                                     const std::vector<TaskDependency> &on) {
  if (!cluster.host.empty()) {
    int inner = cluster.linkOwner(cluster.axisCount() - 1);
    return add({kUpdate}, on,
               {{egressLink(inner), ns}, {ingressLink(inner), ns}});
  }
  Task task{kUpdate, ns};
  task.usesDevice = true;
  return add(task, on);
}

/// A part of it by each rank, or by each server, where each has a part.
/// Messages of other gradients go on beside it.
int32_t
RandomSchedule::updateParts(const std::vector<SizedCollective> &reductions,
                            double wholeNs, int32_t after) {
  double parts = 1;
  for (const SizedCollective &call : reductions)
    if (call.collective == Collective::ReduceScatter)
      parts *= double(cluster.groupSize(call.over));
  if (reductions.back().collective != Collective::Push)
    return updateOnRank(wholeNs / parts, {{after, 0}});
  parts = reductions.back().server < 0 ? double(cluster.servers()) : 1;
  return add({kServers, wholeNs / parts}, {{after, 0}});
}

/// By the program, in time or right before the first of its layers' forward op,
/// or by the runtime. It reads the means of these layers, and may need a norm.
RandomSchedule::WholeUpdate
RandomSchedule::updateWhole(double ns, const std::vector<int> &layers,
                            const WholeUpdate *norm) {
  bool isLate = (norm && norm->isLate) || draw.isOneIn(3);
  bool isPrograms = isLate || draw.isOneIn(2);
  std::vector<TaskDependency> on;
  for (int layer : layers)
    for (int32_t end : ends[layer])
      on.push_back({end, isLate ? 1 : 0});
  if (norm)
    on.push_back({norm->task, isLate && !norm->isLate ? 1 : 0});
  int32_t added = isPrograms ? add({kProgram, ns}, on) : updateOnRank(ns, on);
  if (isLate)
    before[layers.front()].push_back(added);
  return {added, isLate};
}

void RandomSchedule::update() {
  std::vector<int> clipped;
  for (int layer = 0; layer < step.layers; ++layer)
    if (step.isClipped[layer])
      clipped.push_back(layer);
  WholeUpdate norm{};
  if (!clipped.empty())
    norm = updateWhole(double(step.normNs), clipped, nullptr);
  for (int layer = 0; layer < step.layers; ++layer) {
    std::vector<TaskDependency> waits;
    if (isUpdated[layer]) {
      for (int32_t end : ends[layer])
        waits.push_back({end, 1});
    } else {
      WholeUpdate own = updateWhole(double(step.updateNs[layer]), {layer},
                                    step.isClipped[layer] ? &norm : nullptr);
      waits.push_back({own.task, own.isLate ? 0 : 1});
    }
    if (step.isNeeded(layer))
      entries[layer].on.insert(entries[layer].on.end(), waits.begin(),
                               waits.end());
  }
}

/// In the order of issue: the program's ops with what goes right before them,
/// then the rest as it came.
void RandomSchedule::write() {
  std::vector<int32_t> order, numberOf(entries.size(), -1);
  auto issue = [&](int32_t entry) {
    numberOf[entry] = static_cast<int32_t>(order.size());
    order.push_back(entry);
  };
  for (size_t op = 0; op < before.size(); ++op) {
    for (int32_t entry : before[op])
      issue(entry);
    issue(static_cast<int32_t>(op));
  }
  for (size_t entry = before.size(); entry < entries.size(); ++entry)
    if (numberOf[entry] < 0)
      issue(static_cast<int32_t>(entry));
  for (int32_t entry : order) {
    std::vector<TaskDependency> on = entries[entry].on;
    for (TaskDependency &dependency : on)
      dependency.task = numberOf[dependency.task];
    graph.add(entries[entry].task, entries[entry].uses, on);
  }
}

TEST(LowerBoundTest, NoScheduleIsFaster) {
  // The short sweep is of seeds that show each fault that the long one has
  // found.
  const bool isFull = std::getenv("BAGUA_FULL_TESTS");
  const unsigned first = isFull ? 0 : 10000, end = isFull ? 200000 : 17000;
  // How near to the bound what each of its limits binds came.
  std::map<LowerBound::Binding, double> closest;
  for (unsigned seed = first; seed < end; ++seed) {
    Draws draw(seed);
    RandomStep step = drawStep(draw);
    ASSERT_EQ(step.problem.check(), std::nullopt);
    LowerBound bound = lowerBound(step.problem);
    for (int i = 0; i < 3; ++i) {
      TaskGraph graph = RandomSchedule(step, draw).graph;
      ASSERT_EQ(graph.check(), std::nullopt);
      Simulation result = simulate(graph);
      // The mean of half of the steps may be off by those in flight.
      double ns = result.stepNs;
      if (result.steps == kMaxSimulatedSteps)
        ns *= 1 + 2.0 * kStepsInFlight / kMaxSimulatedSteps;
      ASSERT_GE(ns, bound.ns * (1 - 1e-9) - 1e-6)
          << "seed " << seed << ", schedule " << i << ", compute "
          << bound.computeNs << ", links " << bound.linksNs << ", cycle "
          << bound.cycleNs;
      double &least = closest.try_emplace(bound.binding, 1e9).first->second;
      least = std::min(least, ns / bound.ns);
    }
  }
  // Each limit is reached.
  EXPECT_EQ(closest.size(), 3U);
  for (auto [binding, least] : closest)
    EXPECT_LT(least, 1.001) << static_cast<int>(binding);
}
