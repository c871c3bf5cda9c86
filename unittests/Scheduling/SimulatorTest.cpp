//===- SimulatorTest.cpp - Cases worked out by hand, and properties -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Small graphs whose times anyone can add up; that more bandwidth never hurts;
// and random graphs against an event loop written another way.
//
//===----------------------------------------------------------------------===//
#include "bagua/Scheduling/Prices/Simulator.h"
#include "bagua/Support/StepsInFlight.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

using namespace bagua;
using testing::DoubleEq;
using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Optional;

namespace {

constexpr int kCompute = 0, kComm = 1, kSecond = 2;

/// A graph with a compute stream, two communication streams and `links` links.
TaskGraph makeGraph(int links = 1) {
  TaskGraph graph;
  graph.streams = {{"compute", true}, {"comm"}, {"second"}};
  graph.links.resize(links);
  return graph;
}

int32_t compute(TaskGraph &graph, double ns,
                const std::vector<TaskDependency> &dependencies = {}) {
  return graph.add({kCompute, ns}, {}, dependencies);
}

int32_t send(TaskGraph &graph, int stream, double latencyNs,
             const std::vector<LinkUse> &uses,
             const std::vector<TaskDependency> &dependencies = {}) {
  return graph.add({stream, latencyNs}, uses, dependencies);
}

TEST(SimulatorTest, ComputeAlone) {
  TaskGraph graph = makeGraph();
  compute(graph, 30);
  compute(graph, 70);
  Simulation result = simulate(graph);
  EXPECT_EQ(result.stepNs, 100);
  EXPECT_EQ(result.exposedNs, 0);
  EXPECT_EQ(result.tasks[1].startNs, 30);
  EXPECT_EQ(result.tasks[1].endNs, 100);
  EXPECT_THAT(result.criticalPath, ElementsAre(0, 1));
}

// Backward 60, a message of latency 5 and 20 ns of bytes, which the next
// forward waits for: 40 + 60 + 25.
TEST(SimulatorTest, CommunicationThatTheNextStepWaitsFor) {
  TaskGraph graph = makeGraph();
  compute(graph, 40, {{2, 1}});
  int32_t backward = compute(graph, 60);
  send(graph, kComm, 5, {{0, 20}}, {{backward, 0}});
  Simulation result = simulate(graph);
  EXPECT_EQ(result.stepNs, 125);
  EXPECT_EQ(result.exposedNs, 25);
  EXPECT_THAT(result.linkBusyNs, ElementsAre(20));
  EXPECT_EQ(result.streamBusyNs[kComm], 25);
  EXPECT_THAT(result.criticalPath, ElementsAre(0, 1, 2));
}

// The first layer's gradient comes last and is needed first; the second's has
// its own forward of time. Backward 30 + 30, forward 20 + 20, messages of 35:
// g2 ready at 70 runs to 105, g1 ready at 100 runs to 140, so the period is
// 140.
TEST(SimulatorTest, OverlapsWithBackwardAndForward) {
  TaskGraph graph = makeGraph();
  compute(graph, 20, {{5, 1}});                // forward 1
  compute(graph, 20, {{4, 1}});                // forward 2
  int32_t b2 = compute(graph, 30);             // ends at 70
  int32_t b1 = compute(graph, 30);             // ends at 100
  send(graph, kComm, 0, {{0, 35}}, {{b2, 0}}); // 70..105
  send(graph, kComm, 0, {{0, 35}}, {{b1, 0}}); // 105..140
  Simulation result = simulate(graph);
  EXPECT_EQ(result.stepNs, 140);
  EXPECT_EQ(result.exposedNs, 40);
  EXPECT_EQ(result.tasks[5].startNs, 105);
}

/// Begins with a task after everything of the step before, and ends.
class OneStep {
public:
  explicit OneStep(int links = 1) : graph(makeGraph(links)) {}

  int32_t send(int stream, const std::vector<LinkUse> &uses) {
    return add({stream}, uses);
  }
  int32_t add(const Task &task, const std::vector<LinkUse> &uses) {
    parts.push_back({task, uses});
    return static_cast<int32_t>(parts.size());
  }
  Simulation run() {
    std::vector<TaskDependency> all;
    for (size_t i = 0; i < parts.size(); ++i)
      all.push_back({static_cast<int32_t>(i + 1), 1});
    compute(graph, 0, all);
    for (auto &[task, uses] : parts)
      graph.add(task, uses, {{0, 0}});
    return simulate(graph);
  }

  TaskGraph graph;

private:
  std::vector<std::pair<Task, std::vector<LinkUse>>> parts;
};

TEST(SimulatorTest, TwoFlowsShareALink) {
  OneStep step;
  int32_t a = step.send(kComm, {{0, 10}});
  int32_t b = step.send(kSecond, {{0, 30}});
  Simulation result = step.run();
  // Half speed each until the short one ends; then the other's 20 alone.
  EXPECT_EQ(result.tasks[a].endNs, 20);
  EXPECT_EQ(result.tasks[b].endNs, 40);
}

TEST(SimulatorTest, FirstComeFirstServed) {
  OneStep step;
  step.graph.links[0].sharing = LinkSharing::Fifo;
  int32_t a = step.send(kComm, {{0, 10}});
  int32_t b = step.send(kSecond, {{0, 30}});
  Simulation result = step.run();
  EXPECT_EQ(result.tasks[a].endNs, 10);
  EXPECT_EQ(result.tasks[b].endNs, 40);
}

// One flow on both links, one on each: the first gets half of the busier link,
// and on the other link its neighbour gets what that leaves.
TEST(SimulatorTest, AFlowOverTwoLinksLeavesTheRestToOthers) {
  OneStep step(2);
  step.graph.streams.push_back({"third"});
  int32_t both = step.send(kComm, {{0, 40}, {1, 10}});
  int32_t first = step.send(kSecond, {{0, 20}});
  int32_t second = step.send(3, {{1, 35}});
  Simulation result = step.run();
  // Link 0: half each until first ends at 40; then all for the other.
  EXPECT_EQ(result.tasks[first].endNs, 40);
  EXPECT_EQ(result.tasks[both].endNs, 60);
  // Link 1: an eighth goes to the one at half speed, the rest is 35 in 40.
  EXPECT_EQ(result.tasks[second].endNs, 40);
}

TEST(SimulatorTest, ComputeSlowsDownBesideCommunication) {
  OneStep step;
  step.graph.communicationSlowdown = 1.25;
  step.send(kComm, {{0, 25}});
  int32_t work = step.add({kCompute, 40}, {});
  // 25 ns do 20 of the 40, the other 20 take 20.
  EXPECT_THAT(step.run().tasks[work].endNs, DoubleNear(45, 1e-9));
}

// 40 ns of the program's and 10 of the runtime's, at half speed for 20 ns.
TEST(SimulatorTest, TheRuntimesWorkSharesTheDevice) {
  Task update{kComm, 10};
  update.usesDevice = true;
  OneStep step;
  int32_t own = step.add(update, {});
  int32_t work = step.add({kCompute, 40}, {});
  Simulation result = step.run();
  EXPECT_EQ(result.tasks[own].endNs, 20);
  EXPECT_EQ(result.tasks[work].endNs, 50);
  // It slows down beside bytes as compute does: both together do 32 of their
  // 50 ns in the 40 that these take.
  OneStep beside;
  beside.graph.communicationSlowdown = 1.25;
  beside.add(update, {});
  work = beside.add({kCompute, 40}, {});
  beside.send(kSecond, {{0, 40}});
  EXPECT_THAT(beside.run().tasks[work].endNs, DoubleNear(40 + 18, 1e-9));
}

TEST(SimulatorTest, BytesSlowDownBesideCompute) {
  OneStep step(2);
  step.graph.links[0].overlappedRate = 0.5;
  int32_t bus = step.send(kComm, {{0, 25}});
  int32_t network = step.send(kSecond, {{1, 25}});
  step.add({kCompute, 40}, {});
  Simulation result = step.run();
  // 40 ns do 20 of the 25, the other 5 take 5; the other link is its own.
  EXPECT_EQ(result.tasks[bus].endNs, 45);
  EXPECT_EQ(result.tasks[network].endNs, 25);
  EXPECT_EQ(result.linkBusyNs[0], 25);
}

TEST(SimulatorTest, BytesSlowDownAfterTheStartOfAnOp) {
  OneStep step;
  step.graph.links[0].overlappedRate = 0.5;
  step.graph.links[0].overlappedNs = 8;
  int32_t message = step.send(kComm, {{0, 30}});
  step.add({kCompute, 20}, {});
  step.add({kCompute, 6}, {});
  Simulation result = step.run();
  // It loses 4 of the first op's 20 ns and 3 of the second's 6.
  EXPECT_EQ(result.tasks[message].endNs, 37);
  EXPECT_EQ(result.linkBusyNs[0], 30);
}

TEST(SimulatorTest, MessagesInFlightTakeTurns) {
  OneStep step;
  step.graph.links[0].concurrentRate = 0.8;
  int32_t first = step.send(kComm, {{0, 40}}),
          second = step.send(kSecond, {{0, 60}});
  Simulation result = step.run();
  // 0.4 each for 100 ns, then the other 20 of the second alone.
  EXPECT_EQ(result.tasks[first].endNs, 100);
  EXPECT_EQ(result.tasks[second].endNs, 120);
}

// Who waited for another stream takes time to go on, who came to the next task
// doesn't.
TEST(SimulatorTest, StreamsThatStoodStillWakeUp) {
  TaskGraph graph = makeGraph();
  graph.wakeNs = 3;
  int32_t work = compute(graph, 10, {{3, 1}});
  int32_t first = send(graph, kComm, 0, {{0, 20}}, {{work, 0}});
  int32_t second = send(graph, kComm, 0, {{0, 20}}, {{work, 0}});
  int32_t last = send(graph, kSecond, 0, {{0, 5}}, {{second, 0}});
  Simulation result = simulate(graph);
  EXPECT_EQ(result.tasks[work].endNs, 3 + 10);
  EXPECT_EQ(result.tasks[first].endNs, 13 + 3 + 20);
  EXPECT_EQ(result.tasks[second].endNs, 36 + 20);
  EXPECT_EQ(result.tasks[last].endNs, 56 + 3 + 5);
  EXPECT_EQ(result.stepNs, 64);
  EXPECT_EQ(result.exposedNs, 54);
}

// It computes nothing meanwhile: bytes beside it don't make that longer.
TEST(SimulatorTest, WakingUpIsNoCompute) {
  TaskGraph graph = makeGraph(2);
  graph.wakeNs = 20;
  graph.communicationSlowdown = 10;
  int32_t open = compute(graph, 0, {{1, 1}, {3, 1}});
  send(graph, kComm, 0, {{0, 100}}, {{open, 0}});                 // 20..120
  int32_t first = send(graph, kSecond, 0, {{1, 5}}, {{open, 0}}); // 20..25
  int32_t work = compute(graph, 10, {{first, 0}});                // from 45 on
  Simulation result = simulate(graph);
  // At a tenth of its speed for 75 ns.
  EXPECT_DOUBLE_EQ(result.tasks[work].endNs, 122.5);
}

TEST(SimulatorTest, PriorityWithCredit) {
  OneStep step;
  step.graph.streams[kComm] = {"comm", false, /*byPriority=*/true,
                               /*creditBytes=*/10};
  auto part = [&](int64_t bytes, int32_t priority) {
    return step.add({kComm, 0, bytes, priority}, {{0, double(bytes)}});
  };
  int32_t late = part(5, 2), next = part(5, 1), first = part(5, 0),
          large = part(20, 3);
  Simulation result = step.run();
  // Two of 5 bytes in flight, one behind the other; a third when the first is
  // there; the large one alone.
  EXPECT_EQ(result.tasks[first].endNs, 5);
  EXPECT_EQ(result.tasks[next].startNs, 0);
  EXPECT_EQ(result.tasks[next].endNs, 10);
  EXPECT_EQ(result.tasks[late].startNs, 5);
  EXPECT_EQ(result.tasks[large].startNs, 15);
  EXPECT_EQ(result.tasks[large].endNs, 35);
}

TEST(SimulatorTest, PriorityWithAtMostSoMany) {
  OneStep step;
  step.graph.streams[kComm] = {"comm", false, /*byPriority=*/true,
                               /*creditBytes=*/100, /*maxInFlight=*/2};
  std::vector<int32_t> parts;
  for (int32_t i = 0; i < 3; ++i)
    parts.push_back(step.add({kComm, 0, 5, i}, {{0, 5}}));
  Simulation result = step.run();
  // The credit would let all three begin.
  EXPECT_EQ(result.tasks[parts[0]].endNs, 5);
  EXPECT_EQ(result.tasks[parts[1]].endNs, 10);
  EXPECT_EQ(result.tasks[parts[2]].startNs, 5);
  EXPECT_EQ(result.tasks[parts[2]].endNs, 15);
}

// Messages that are alike don't run in lockstep, all of them waiting and then
// all sending: while one sends, the next one's latency passes. 4 messages of 10
// ns latency and 10 bytes, two in flight: 10 + 4 * 10, as one queue and as the
// two lanes that it becomes.
TEST(SimulatorTest, MessagesInFlightHideTheirLatencies) {
  OneStep queue;
  queue.graph.streams[kComm] = {"comm", false, /*byPriority=*/true,
                                /*creditBytes=*/20};
  OneStep lanes;
  lanes.graph.streams[kComm].name = "comm";
  lanes.graph.streams[kSecond].name = "comm.1";
  std::vector<int32_t> queued, laid;
  for (int32_t i = 0; i < 4; ++i) {
    queued.push_back(queue.add({kComm, 10, 10, i}, {{0, 10}}));
    laid.push_back(
        lanes.add({i % 2 == 0 ? kComm : kSecond, 10, 10}, {{0, 10}}));
  }
  Simulation ofQueue = queue.run(), ofLanes = lanes.run();
  EXPECT_EQ(ofQueue.tasks[queued.back()].endNs, 50);
  EXPECT_EQ(ofLanes.tasks[laid.back()].endNs, 50);
}

// A message that waits for one link leaves others to those behind it.
TEST(SimulatorTest, WhatWaitsInAQueueBlocksNoOtherLink) {
  OneStep step(2);
  step.graph.streams[kComm] = {"comm", false, /*byPriority=*/true,
                               /*creditBytes=*/100};
  int32_t first = step.add({kComm, 0, 10, 0}, {{0, 10}});
  int32_t both = step.add({kComm, 0, 10, 1}, {{0, 10}, {1, 10}});
  int32_t other = step.add({kComm, 0, 10, 2}, {{1, 10}});
  Simulation result = step.run();
  EXPECT_EQ(result.tasks[first].endNs, 10);
  EXPECT_EQ(result.tasks[other].endNs, 10);
  EXPECT_EQ(result.tasks[both].endNs, 20);
}

TEST(SimulatorTest, AtMostTwoStepsAreInFlight) {
  TaskGraph graph = makeGraph();
  int32_t a = compute(graph, 10);
  send(graph, kComm, 0, {{0, 50}}, {{a, 0}});
  // Nobody waits for the message, yet the link can't take more.
  EXPECT_EQ(simulate(graph).stepNs, 50);
}

// Two begin within 10 ns, the next two when these have ended: at 0, 10, 40, 50,
// 80 and so on.
TEST(SimulatorTest, StepsInFlightMayBeginInPairs) {
  TaskGraph graph = makeGraph();
  graph.streams[kComm] = {"comm", false, /*byPriority=*/true,
                          /*creditBytes=*/100};
  int32_t work = compute(graph, 10);
  graph.add({kComm, 30, 10}, {}, {{work, 0}});
  EXPECT_EQ(simulate(graph).stepNs, 20);
}

TEST(SimulatorTest, WhatNothingOrdersStartsAtOnce) {
  TaskGraph graph = makeGraph();
  send(graph, kComm, 3, {});
  Simulation result = simulate(graph);
  EXPECT_EQ(result.stepNs, 3);
  EXPECT_EQ(result.exposedNs, 3);
}

TEST(SimulatorTest, ChecksItsInput) {
  TaskGraph graph = makeGraph();
  EXPECT_THAT(graph.check(), Optional(HasSubstr("found none")));
  graph.add({5, 1}, {}, {});
  EXPECT_THAT(graph.check(),
              Optional(HasSubstr("expected one of 3 streams, found 5")));
  graph = makeGraph();
  graph.add({kComm, -1}, {}, {});
  EXPECT_THAT(graph.check(), Optional(HasSubstr("expected a duration")));
  graph = makeGraph();
  send(graph, kComm, 0, {{7, 1}});
  EXPECT_THAT(graph.check(), Optional(HasSubstr("found link 7")));
  graph = makeGraph();
  compute(graph, 1, {{0, 0}});
  EXPECT_THAT(graph.check(),
              Optional(HasSubstr("expected dependencies on earlier tasks")));
  graph = makeGraph();
  compute(graph, 1, {{0, 3}});
  EXPECT_THAT(graph.check(), Optional(HasSubstr("3 steps back")));
  graph = makeGraph();
  compute(graph, 1);
  graph.communicationSlowdown = 0.5;
  EXPECT_THAT(graph.check(), Optional(HasSubstr("slowdown")));
  graph.communicationSlowdown = 1;
  graph.links[0].overlappedRate = 0;
  EXPECT_THAT(graph.check(), Optional(HasSubstr("rate over 0 and at most 1")));
  graph.links[0].overlappedRate = 1;
  graph.links[0].concurrentRate = 1.5;
  EXPECT_THAT(graph.check(), Optional(HasSubstr("found 1.5")));
  graph.links[0].concurrentRate = 1;
  graph.wakeNs = -7;
  EXPECT_THAT(graph.check(), Optional(HasSubstr("found -7")));
  graph.wakeNs = 0;
  graph.links[0].overlappedNs = -2;
  EXPECT_THAT(graph.check(), Optional(HasSubstr("found -2")));
}

//===----------------------------------------------------------------------===//
// Random graphs
//===----------------------------------------------------------------------===//

/// Streams in issue order, one task at a time; each communication stream has a
/// link of its own, so that nothing is shared.
TaskGraph randomGraph(std::mt19937 &random, int tasks) {
  TaskGraph graph = makeGraph(2);
  auto below = [&](int limit) { return static_cast<int>(random() % limit); };
  for (int task = 0; task < tasks; ++task) {
    int stream = below(3);
    std::vector<TaskDependency> dependencies;
    for (int i = below(3); i-- > 0;) {
      int back = below(3) == 0 ? 1 : 0;
      if (back == 1)
        dependencies.push_back({below(tasks), 1});
      else if (task > 0)
        dependencies.push_back({below(task), 0});
    }
    std::vector<LinkUse> uses;
    if (stream != kCompute)
      uses.push_back({stream - 1, double(below(50))});
    graph.add({stream, double(below(20))}, uses, dependencies);
  }
  return graph;
}

/// The same by recurrence: an unrolled sequence of starts and ends, each task
/// after its stream's previous one and its dependencies.
double stepByRecurrence(const TaskGraph &graph, int steps) {
  int32_t count = graph.size();
  std::vector<double> end(static_cast<size_t>(count) * steps, 0);
  std::map<int, double> free;
  std::vector<double> begin(steps, -1), done(steps, 0);
  bool hasCompute = false;
  for (int32_t task = 0; task < count; ++task)
    hasCompute |= graph[task].stream == kCompute;
  for (int step = 0; step < steps; ++step) {
    // A task may depend on a later one of the previous step only, so tasks in
    // issue order see all they need.
    for (int32_t task = 0; task < count; ++task) {
      double start = free[graph[task].stream];
      if (step >= kStepsInFlight)
        start = std::max(start, done[step - kStepsInFlight]);
      for (auto *on = graph.dependenciesBegin(task);
           on != graph.dependenciesEnd(task); ++on)
        if (on->stepsBack <= step)
          start = std::max(
              start, end[static_cast<size_t>(step - on->stepsBack) * count +
                         on->task]);
      double ns = graph[task].fixedNs;
      for (auto *use = graph.usesBegin(task); use != graph.usesEnd(task); ++use)
        ns += use->ns;
      if (begin[step] < 0 && (graph[task].stream == kCompute || !hasCompute))
        begin[step] = start;
      end[static_cast<size_t>(step) * count + task] = start + ns;
      free[graph[task].stream] = start + ns;
      done[step] = std::max(done[step], start + ns);
    }
  }
  return (begin[steps - 1] - begin[steps - 1 - kStepsInFlight]) /
         kStepsInFlight;
}

TEST(SimulatorTest, RandomGraphsAgreeWithARecurrence) {
  std::mt19937 random(1);
  int compared = 0;
  for (int i = 0; i < 3000; ++i) {
    TaskGraph graph = randomGraph(random, 1 + static_cast<int>(random() % 12));
    ASSERT_FALSE(graph.check());
    Simulation result = simulate(graph);
    if (result.steps == kMaxSimulatedSteps)
      continue;
    ++compared;
    EXPECT_THAT(stepByRecurrence(graph, 200), DoubleNear(result.stepNs, 1e-6))
        << "graph " << i;
  }
  EXPECT_GT(compared, 2500);
}

TaskGraph faster(const TaskGraph &graph, double latency, double bytes) {
  TaskGraph result;
  result.streams = graph.streams;
  result.links = graph.links;
  for (int32_t task = 0; task < graph.size(); ++task) {
    std::vector<LinkUse> uses(graph.usesBegin(task), graph.usesEnd(task));
    for (LinkUse &use : uses)
      use.ns *= bytes;
    Task copy = graph[task];
    if (copy.stream != kCompute)
      copy.fixedNs *= latency;
    result.add(copy, uses,
               {graph.dependenciesBegin(task), graph.dependenciesEnd(task)});
  }
  return result;
}

TEST(SimulatorTest, AFasterNetworkNeverHurtsAFixedSchedule) {
  std::mt19937 random(2);
  for (int i = 0; i < 1000; ++i) {
    TaskGraph graph = randomGraph(random, 10);
    Simulation slow = simulate(graph);
    if (slow.steps == kMaxSimulatedSteps)
      continue;
    for (auto [latency, bytes] : {std::pair(0.5, 1.0), std::pair(1.0, 0.5)}) {
      Simulation fast = simulate(faster(graph, latency, bytes));
      if (fast.steps == kMaxSimulatedSteps)
        continue;
      EXPECT_LE(fast.stepNs, slow.stepNs + 1e-6) << "graph " << i;
    }
  }
}

} // namespace
