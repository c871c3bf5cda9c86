//===- LateOpsTest.cpp - What the program puts off, and what that gains ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each rule on a step of one layer; then whole steps against a thread that runs
// the program op by op, step after step, and waits where it has to.
//
//===----------------------------------------------------------------------===//
#include "bagua/Scheduling/Prices/LateOps.h"
#include "bagua/Scheduling/Prices/LaunchScheduling.h"
#include "bagua/Scheduling/Prices/Simulator.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <random>

using namespace bagua;
using testing::ElementsAre;

namespace {
/// Two ranks whose messages take their latency and no time besides.
ClusterModel makeCluster(int64_t latencyNs) {
  ClusterModel cluster;
  cluster.axes.push_back({"node", 2, latencyNs, int64_t(1) << 50, 1, {}});
  return cluster;
}

GraphOp compute(double ns) {
  GraphOp op;
  op.ns = ns;
  return op;
}

GraphOp gradient(double ns) {
  GraphOp op = compute(ns);
  op.makesGradient = true;
  return op;
}

GraphOp allReduce() {
  GraphOp op;
  op.kind = GraphOpKind::Collective;
  op.call = {Collective::AllReduce, 1, 1};
  return op;
}

GraphOp late(double ns) {
  GraphOp op = compute(ns);
  op.mayBeLate = true;
  return op;
}

/// Forward reads state 0, backward makes its gradient; the update is late.
class LateOpsTest : public testing::Test {
protected:
  LateOpsTest() {
    forward = graph.add(compute(100), {OpGraph::state(0)});
    backward = graph.add(gradient(100), {forward});
    reduced = graph.add(allReduce(), {backward});
    update = graph.add(late(10), {OpGraph::state(0), reduced});
    graph.yields = {update, -1};
  }

  OpGraph graph;
  int32_t forward, backward, reduced, update;
};

TEST_F(LateOpsTest, AnUpdateRunsBeforeTheFirstReader) {
  EXPECT_THAT(findLateOps(graph), ElementsAre(-1, -1, -1, forward));
}

// The next gradient would overwrite what the update reads.
TEST_F(LateOpsTest, AnUpdateThatNobodyReadsRunsBeforeTheNextGradient) {
  OpGraph step;
  int32_t made = step.add(gradient(100), {OpGraph::state(1)});
  int32_t mean = step.add(allReduce(), {made});
  int32_t next = step.add(late(10), {OpGraph::state(0), mean});
  step.yields = {next, -1};
  EXPECT_THAT(findLateOps(step), ElementsAre(-1, -1, made));
}

// Adam, op by op: the moment is only needed by what makes the param.
TEST_F(LateOpsTest, WhatLateOpsUseRunsNoLater) {
  OpGraph step;
  int32_t first = step.add(compute(100), {OpGraph::state(0)});
  int32_t made = step.add(gradient(100), {first});
  int32_t mean = step.add(allReduce(), {made});
  int32_t moment = step.add(late(10), {OpGraph::state(1), mean});
  int32_t param = step.add(late(10), {OpGraph::state(0), moment});
  step.yields = {param, moment};
  EXPECT_THAT(findLateOps(step), ElementsAre(-1, -1, -1, first, first));
}

// A moment that only the next update needs; the gradient bounds what it is
// made of.
TEST_F(LateOpsTest, WhatNothingBoundsRunsWhereItCan) {
  OpGraph step;
  int32_t made = step.add(gradient(100), {OpGraph::state(0)});
  int32_t mean = step.add(allReduce(), {made});
  int32_t scaled = step.add(late(10), {mean});
  int32_t moment = step.add(late(10), {OpGraph::state(1), scaled});
  step.yields = {-1, moment};
  EXPECT_THAT(findLateOps(step), ElementsAre(-1, -1, made, made));
}

// Lion: the moment is read for the param before it is overwritten.
TEST_F(LateOpsTest, WhatOverwritesAStateRunsBehindItsReaders) {
  OpGraph step;
  int32_t first = step.add(compute(100), {OpGraph::state(2)});
  int32_t second = step.add(compute(100), {first, OpGraph::state(0)});
  int32_t made = step.add(gradient(100), {second});
  int32_t mean = step.add(allReduce(), {made});
  int32_t param =
      step.add(late(10), {OpGraph::state(0), OpGraph::state(1), mean});
  int32_t moment = step.add(late(10), {OpGraph::state(1), mean});
  step.yields = {param, moment, -1};
  EXPECT_THAT(findLateOps(step), ElementsAre(-1, -1, -1, -1, second, made));
}

// Error feedback: what is made of the raw gradient and its mean runs before the
// next raw gradient.
TEST_F(LateOpsTest, WhatReadsWhatTheProgramMadeRunsBeforeItIsMadeAnew) {
  OpGraph step;
  int32_t first = step.add(compute(100), {OpGraph::state(0)});
  int32_t scale = step.add(compute(100), {first});
  int32_t made = step.add(gradient(100), {scale});
  int32_t mean = step.add(allReduce(), {made});
  int32_t error = step.add(late(10), {OpGraph::state(1), mean, made});
  int32_t param = step.add(late(10), {OpGraph::state(0), mean, scale});
  step.yields = {param, error};
  EXPECT_THAT(findLateOps(step), ElementsAre(-1, -1, -1, -1, made, first));
}

// A mean from which another gradient is made is waited for within the step.
TEST_F(LateOpsTest, WhatWaitsForWhatBackwardWaitsForStays) {
  OpGraph step;
  int32_t made = step.add(gradient(100), {OpGraph::state(0)});
  int32_t mean = step.add(allReduce(), {made});
  int32_t second = step.add(gradient(100), {OpGraph::state(1), mean});
  int32_t secondMean = step.add(allReduce(), {second});
  int32_t early = step.add(late(10), {OpGraph::state(0), mean});
  int32_t next = step.add(late(10), {OpGraph::state(1), secondMean});
  step.yields = {early, next};
  EXPECT_THAT(findLateOps(step), ElementsAre(-1, -1, -1, -1, -1, second));
}

// By then the next step's rate has been given.
TEST_F(LateOpsTest, WhatReadsWhatTheRuntimeReadsStays) {
  OpGraph step;
  int32_t made = step.add(gradient(100), {OpGraph::state(0)});
  int32_t mean = step.add(allReduce(), {made});
  int32_t next =
      step.add(late(10), {OpGraph::state(0), mean, OpGraph::state(1)});
  GraphOp local = allReduce();
  local.kind = GraphOpKind::Local;
  step.add(local, {OpGraph::state(1)});
  step.yields = {next, -1};
  EXPECT_THAT(findLateOps(step), testing::Each(-1));
}

TEST_F(LateOpsTest, WhatTheStepItselfUsesStays) {
  graph.add(compute(10), {update});
  EXPECT_THAT(findLateOps(graph), testing::Each(-1));
}

// A second forward pass on what the update has made: it isn't an update.
TEST_F(LateOpsTest, WhatTheRuntimeReadsStays) {
  GraphOp pull = allReduce();
  graph.add(pull, {OpGraph::state(0)});
  EXPECT_THAT(findLateOps(graph), testing::Each(-1));
}

// An average of the params, made in time, reads what is not yet there.
TEST_F(LateOpsTest, WhatTheStepReadsWhenGradientsAreMadeStays) {
  graph.add(compute(10), {OpGraph::state(0), reduced});
  EXPECT_THAT(findLateOps(graph), testing::Each(-1));
}

// In its own step the op that leaves state 1 would have overwritten it.
TEST_F(LateOpsTest, WhatReadsAStateThatIsOverwrittenInTimeStays) {
  OpGraph step;
  int32_t statistics = step.add(compute(10), {OpGraph::state(1)});
  int32_t made = step.add(gradient(100), {OpGraph::state(0), statistics});
  int32_t mean = step.add(allReduce(), {made});
  int32_t next =
      step.add(late(10), {OpGraph::state(0), mean, OpGraph::state(1)});
  step.yields = {next, statistics};
  EXPECT_THAT(findLateOps(step), testing::Each(-1));
}

TEST_F(LateOpsTest, WhatWaitsForNoCommunicationStays) {
  OpGraph step;
  int32_t made = step.add(gradient(100), {OpGraph::state(0)});
  int32_t next = step.add(late(10), {OpGraph::state(0), made});
  step.yields = {next};
  EXPECT_THAT(findLateOps(step), testing::Each(-1));
}

TEST_F(LateOpsTest, SchedulesPutThemLastOnAStreamOfTheirOwn) {
  ClusterModel cluster = makeCluster(0);
  for (SchedulePolicy policy :
       {SchedulePolicy::Bsp, SchedulePolicy::Wfbp, SchedulePolicy::Priority,
        SchedulePolicy::Decoupled}) {
    CollectivePrices prices(cluster);
    LaunchSchedule schedule = scheduleStep(graph, {policy, 4096}, prices);
    EXPECT_EQ(schedule.verify(graph), std::nullopt);
    EXPECT_EQ(schedule.order.back(), update);
    const LaunchSchedule::Stream &stream =
        schedule.streams[schedule.streamOf[update]];
    EXPECT_EQ(stream.name, "late");
    EXPECT_TRUE(stream.isProgram);
    EXPECT_NEAR(simulate(tasksOf(graph, schedule, prices).graph).stepNs, 210,
                1e-3);
  }
}

/// Layers with times and, some of them, updates of several gradients.
struct Layers {
  std::vector<double> forwardNs, backwardNs, updateNs;
  /// By layer: besides its own, the gradient that its update reads.
  std::vector<int> alsoReads;
  double messageNs;
};

OpGraph graphOf(const Layers &layers) {
  OpGraph graph;
  auto count = static_cast<int>(layers.forwardNs.size());
  int32_t last = -1;
  for (int layer = 0; layer < count; ++layer) {
    std::vector<int32_t> operands{OpGraph::state(layer)};
    if (last >= 0)
      operands.push_back(last);
    last = graph.add(compute(layers.forwardNs[layer]), operands);
  }
  std::vector<int32_t> made(count), reduced(count);
  for (int layer = count; layer-- > 0;)
    made[layer] = last = graph.add(gradient(layers.backwardNs[layer]), {last});
  for (int layer = count; layer-- > 0;)
    reduced[layer] = graph.add(allReduce(), {made[layer]});
  graph.yields.resize(count);
  for (int layer = 0; layer < count; ++layer)
    graph.yields[layer] = graph.add(late(layers.updateNs[layer]),
                                    {OpGraph::state(layer), reduced[layer],
                                     reduced[layers.alsoReads[layer]]});
  return graph;
}

/// The program's thread, and a network that sends one message after the other.
double periodOf(const Layers &layers) {
  auto count = static_cast<int>(layers.forwardNs.size());
  double now = 0, network = 0, before = 0, start = 0;
  std::vector<double> arrival(count, 0);
  for (int step = 0; step < 200; ++step) {
    for (int layer = 0; layer < count; ++layer) {
      if (step > 0) {
        now = std::max({now, arrival[layer], arrival[layers.alsoReads[layer]]});
        if (layer == 0) {
          before = start;
          start = now;
        }
        now += layers.updateNs[layer];
      }
      now += layers.forwardNs[layer];
    }
    for (int layer = count; layer-- > 0;) {
      now += layers.backwardNs[layer];
      network = std::max(network, now) + layers.messageNs;
      arrival[layer] = network;
    }
  }
  return start - before;
}

TEST(LateScheduleTest, TakesAsLongAsAThreadThatWaits) {
  std::mt19937_64 random(1);
  auto below = [&](uint64_t bound) {
    return static_cast<int>(random() % bound);
  };
  int beyondCompute = 0;
  for (int round = 0; round < 500; ++round) {
    int count = 1 + below(6);
    Layers layers;
    for (int layer = 0; layer < count; ++layer) {
      layers.forwardNs.push_back(1 + below(100));
      layers.backwardNs.push_back(1 + below(200));
      layers.updateNs.push_back(1 + below(20));
      layers.alsoReads.push_back(below(4) ? layer : below(count));
    }
    int64_t latencyNs = below(3) ? 1 + below(200) : 0;
    ClusterModel cluster = makeCluster(latencyNs);
    CollectivePrices prices(cluster);
    OpGraph graph = graphOf(layers);
    layers.messageNs = prices.of(allReduce().call).latencyNs;
    LaunchSchedule schedule =
        scheduleStep(graph, {SchedulePolicy::Wfbp, 0}, prices);
    double ns = simulate(tasksOf(graph, schedule, prices).graph).stepNs;
    ASSERT_NEAR(ns, periodOf(layers), 1e-3) << "round " << round;
    double computeNs = 0;
    for (const auto *times :
         {&layers.forwardNs, &layers.backwardNs, &layers.updateNs})
      for (double one : *times)
        computeNs += one;
    beyondCompute += ns > computeNs + 1;
  }
  // Both kinds: where the program waits, and where it never does.
  EXPECT_GT(beyondCompute, 100);
  EXPECT_LT(beyondCompute, 450);
}
} // namespace
