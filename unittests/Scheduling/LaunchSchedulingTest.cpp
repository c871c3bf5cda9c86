//===- LaunchSchedulingTest.cpp - Streams and launch order of a step ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every policy gives every op its place, operands first, also where the program
// and the runtime touch the same states.
//
//===----------------------------------------------------------------------===//
#include "bagua/Scheduling/Prices/LaunchScheduling.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace bagua;

namespace {
constexpr SchedulePolicy kAll[] = {SchedulePolicy::Bsp, SchedulePolicy::Wfbp,
                                   SchedulePolicy::Priority,
                                   SchedulePolicy::Decoupled};

/// Two ranks, one byte a ns.
ClusterModel makeCluster() {
  ClusterModel cluster;
  cluster.axes.push_back({"node", 2, 0, 1000000000, 1, {}});
  return cluster;
}

/// A backward op, the all_reduce of its gradient, an update of state 0 by the
/// runtime with the rate of state 1; and what the caller adds.
class LaunchSchedulingTest : public testing::Test {
protected:
  LaunchSchedulingTest() {
    GraphOp op;
    op.ns = 1000;
    forward = graph.add(op, {OpGraph::state(0)});
    op.makesGradient = true;
    backward = graph.add(op, {forward});
    GraphOp reduce;
    reduce.kind = GraphOpKind::Collective;
    reduce.call = {Collective::AllReduce, 1, 1000};
    reduced = graph.add(reduce, {backward});
    GraphOp step;
    step.kind = GraphOpKind::Update;
    step.writtenOperand = 1;
    update = graph.add(step, {OpGraph::state(0), reduced, OpGraph::state(1)});
    graph.yields = {update, -1};
  }

  int32_t addCompute(const std::vector<int32_t> &operands) {
    GraphOp op;
    op.ns = 1000;
    return graph.add(op, operands);
  }

  /// By op, its place in the order; every op has one, after its operands.
  std::vector<int32_t> schedule(SchedulePolicy policy) {
    ClusterModel cluster = makeCluster();
    CollectivePrices prices(cluster);
    LaunchSchedule result = scheduleStep(graph, {policy, 4096}, prices);
    EXPECT_EQ(result.order.size(), static_cast<size_t>(graph.size()));
    std::vector<int32_t> places(graph.size(), -1);
    for (size_t place = 0; place < result.order.size(); ++place)
      places[result.order[place]] = static_cast<int32_t>(place);
    for (int32_t op = 0; op < graph.size(); ++op) {
      EXPECT_GE(places[op], 0) << "op " << op << " has no place";
      for (int32_t from : graph.operandsOf(op))
        if (!OpGraph::isState(from)) {
          EXPECT_LT(places[from], places[op]);
        }
    }
    return places;
  }

  OpGraph graph;
  int32_t forward, backward, reduced, update;
};
/// Every fault of a schedule that `verify` is to find is made in a sound one.
TEST_F(LaunchSchedulingTest, FaultsAreFound) {
  ClusterModel cluster = makeCluster();
  CollectivePrices prices(cluster);
  LaunchSchedule sound = scheduleStep(graph, {SchedulePolicy::Wfbp, 0}, prices);
  ASSERT_EQ(sound.verify(graph), std::nullopt);
  auto expect = [&](const char *message, auto &&change) {
    LaunchSchedule changed = sound;
    change(changed);
    std::optional<std::string> wrong = changed.verify(graph);
    ASSERT_TRUE(wrong) << message;
    EXPECT_NE(wrong->find(message), std::string::npos) << *wrong;
  };
  expect("expected a place, a stream and a time for each",
         [](LaunchSchedule &s) { s.order.pop_back(); });
  expect("expected a place, a stream and a time for each",
         [](LaunchSchedule &s) { s.streamOf.pop_back(); });
  expect("expected every op once",
         [](LaunchSchedule &s) { s.order[1] = s.order[0]; });
  expect("expected every op once", [](LaunchSchedule &s) { s.order[0] = -1; });
  expect("streams, found 99", [](LaunchSchedule &s) { s.streamOf[0] = 99; });
  expect("expected a stream of the runtime's", [&](LaunchSchedule &s) {
    s.streamOf[reduced] = s.streamOf[backward];
  });
  expect("which it uses, found it before",
         [](LaunchSchedule &s) { std::swap(s.order[0], s.order[1]); });
  expect("which it waits for, found it before", [&](LaunchSchedule &s) {
    s.delays.push_back({reduced, {s.order.back()}});
  });
  int32_t last = sound.order.back(), first = sound.order.front();
  for (const LaunchSchedule::Delay &wrong :
       {LaunchSchedule::Delay{99, {first}}, LaunchSchedule::Delay{last, {-1}},
        LaunchSchedule::Delay{forward, {reduced}},
        LaunchSchedule::Delay{forward, {OpGraph::state(2)}}})
    expect("expected delays of an op there is",
           [&](LaunchSchedule &s) { s.delays = {wrong}; });
  expect("once each", [&](LaunchSchedule &s) {
    s.delays = {{last, {first}}, {last, {first}}};
  });
}

} // namespace

TEST_F(LaunchSchedulingTest, AnUpdateOverwritesItsStatesAlone) {
  // The program's own update reads the rate, too, and takes its time.
  int32_t late = addCompute({OpGraph::state(1), reduced});
  for (SchedulePolicy policy : kAll) {
    std::vector<int32_t> places = schedule(policy);
    EXPECT_LT(places[update], places[late]) << wordOf(policy);
  }
}

TEST_F(LaunchSchedulingTest, AWriteWaitsForALateRead) {
  // The program reads the state once more when the gradient is back.
  int32_t late = addCompute({OpGraph::state(0), reduced});
  for (SchedulePolicy policy : kAll)
    EXPECT_GT(schedule(policy)[update], schedule(policy)[late])
        << wordOf(policy);
}

TEST_F(LaunchSchedulingTest, AReadOfTheOldAfterTheNewHasAPlaceToo) {
  // Nothing can satisfy it in place; the proof of the schedule refuses it.
  addCompute({OpGraph::state(0), update});
  for (SchedulePolicy policy : kAll)
    schedule(policy);
}

// The zeros of a frozen param, say: nothing that the program reads before them
// says that the runtime is done with those of the step before.
TEST_F(LaunchSchedulingTest, AGradientMadeBeforeItsStateIsReadWaitsForIt) {
  GraphOp op;
  op.ns = 1000;
  op.makesGradient = true;
  int32_t zeros = graph.add(op, {});
  GraphOp reduce = graph[reduced];
  int32_t sum = graph.add(reduce, {zeros});
  GraphOp step = graph[update];
  int32_t frozen = graph.add(step, {OpGraph::state(2), sum});
  graph.yields = {update, -1, frozen};
  ClusterModel cluster = makeCluster();
  CollectivePrices prices(cluster);
  for (SchedulePolicy policy : kAll) {
    LaunchSchedule result = scheduleStep(graph, {policy, 4096}, prices);
    EXPECT_EQ(result.verify(graph), std::nullopt);
    int64_t found = 0;
    for (const LaunchSchedule::Delay &delay : result.delays)
      if (graph[delay.op].kind == GraphOpKind::Compute) {
        EXPECT_EQ(delay.op, zeros);
        EXPECT_EQ(delay.after, std::vector<int32_t>{OpGraph::state(2)});
        ++found;
      }
    EXPECT_EQ(found, 1) << wordOf(policy);
  }
}

// The next step's statistic is made where the mean of this one's, which nobody
// in the step waits for, may still be computed from.
TEST_F(LaunchSchedulingTest, AStatisticThatIsKeptWaitsForTheLastOne) {
  int32_t statistic = addCompute({forward});
  int32_t mean = graph.add(graph[reduced], {statistic});
  graph.yields = {update, -1, mean};
  ClusterModel cluster = makeCluster();
  CollectivePrices prices(cluster);
  for (SchedulePolicy policy : kAll) {
    LaunchSchedule result = scheduleStep(graph, {policy, 4096}, prices);
    auto isOfStatistic = [&](const LaunchSchedule::Delay &delay) {
      return delay.op == statistic &&
             delay.after == std::vector<int32_t>{OpGraph::state(2)};
    };
    EXPECT_EQ(std::count_if(result.delays.begin(), result.delays.end(),
                            isOfStatistic),
              1)
        << wordOf(policy);
  }
}

// Lion: the step reads the moment that the runtime would write.
TEST_F(LaunchSchedulingTest, WritesBesideLateReadsAreThePrograms) {
  int32_t scaled = addCompute({reduced});
  int32_t reader = addCompute({OpGraph::state(2), scaled});
  GraphOp local;
  local.kind = GraphOpKind::Local;
  int32_t behind = graph.add(local, {OpGraph::state(2), scaled});
  graph.yields = {update, -1, behind};
  EXPECT_EQ(findProgramsOwn(graph), std::vector<int32_t>{behind});
  // What uses the reader's result is behind it.
  int32_t ordered = graph.add(local, {OpGraph::state(2), reader});
  graph.yields = {update, -1, ordered};
  EXPECT_EQ(findProgramsOwn(graph), std::vector<int32_t>{});
}

// A gradient of a gradient's mean: the program takes that mean back, so it
// waits for whoever reads it.
TEST_F(LaunchSchedulingTest, UpdatesOfMeansThatBackwardReadsAreThePrograms) {
  EXPECT_EQ(findProgramsOwn(graph), std::vector<int32_t>{});
  GraphOp second = graph[backward];
  int32_t secondMean =
      graph.add(graph[reduced], {graph.add(second, {reduced})});
  int32_t next = graph.add(graph[update], {OpGraph::state(2), secondMean});
  graph.yields = {update, -1, next};
  EXPECT_EQ(findProgramsOwn(graph), std::vector<int32_t>{update});
}
