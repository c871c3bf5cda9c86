//===- PrefetchingTest.cpp - Own communication against all orders ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Layers whose params are gathered take the time that a pipeline takes. Small
// random steps are compared with the best of all orders, whose times follow
// from the definition.
//
//===----------------------------------------------------------------------===//
#include "bagua/Scheduling/Search/Prefetching.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <functional>
#include <random>

using namespace bagua;

namespace {
/// Two ranks on a link of 1 byte a ns: an all_gather of 2 n bytes takes n ns.
ClusterModel twoRanks() {
  ClusterModel cluster;
  AxisModel axis;
  axis.name = "node";
  axis.size = 2;
  axis.bytesPerS = 1000000000;
  cluster.axes.push_back(axis);
  return cluster;
}

/// A step that is built op by op. State 0 is the batch, the others are params.
struct Builder {
  OpGraph graph;
  std::vector<bool> isAwaited;

  int32_t compute(double ns, const std::vector<int32_t> &operands) {
    GraphOp op;
    op.ns = ns;
    isAwaited.push_back(false);
    return graph.add(op, operands);
  }
  int32_t collective(Collective kind, int64_t ns, int32_t operand) {
    GraphOp op;
    op.kind = GraphOpKind::Collective;
    op.call = {kind, 1, 2 * ns};
    isAwaited.push_back(false);
    return graph.add(op, {operand});
  }
  int32_t gather(int64_t ns, int32_t operand) {
    return collective(Collective::AllGather, ns, operand);
  }
  /// `next` makes the next value of state 1.
  std::optional<Prefetch> run(int32_t next = -1) {
    std::vector<bool> isBatch = {true, false};
    graph.yields = {-1, next};
    ClusterModel cluster = twoRanks();
    CollectivePrices prices(cluster);
    return prefetch({graph, isBatch, isAwaited}, prices);
  }
};

/// The time of one of many steps in this order: each op begins when its
/// operands are there and the op before it on its side has ended, and what
/// reads a state waits for the step before to have made it.
double timeOf(const OpGraph &graph, const std::vector<int32_t> &order) {
  std::vector<double> ends(graph.size()), previous;
  double sides[2] = {0, 0}, finished[4];
  for (double &finish : finished) {
    previous = ends;
    for (int32_t op : order) {
      bool isMessage = graph[op].kind == GraphOpKind::Collective;
      double begin = sides[isMessage];
      for (int32_t from : graph.operandsOf(op)) {
        if (from >= 0)
          begin = std::max(begin, ends[from]);
        else if (graph.yields[~from] >= 0)
          begin = std::max(begin, previous[graph.yields[~from]]);
      }
      double ns = isMessage ? static_cast<double>(graph[op].call.bytes) / 2
                            : graph[op].ns;
      sides[isMessage] = ends[op] = begin + ns;
    }
    finish = std::max(sides[0], sides[1]);
  }
  return finished[3] - finished[2];
}

bool isValid(const OpGraph &graph, const std::vector<int32_t> &order) {
  std::vector<int32_t> place(graph.size(), -1);
  for (size_t i = 0; i < order.size(); ++i)
    place[order[i]] = static_cast<int32_t>(i);
  for (int32_t op = 0; op < graph.size(); ++op) {
    if (place[op] < 0)
      return false;
    for (int32_t from : graph.operandsOf(op))
      if (from >= 0 && place[from] > place[op])
        return false;
    // Readers of a state's old value still stand before its new one.
    int32_t writer = graph.yields[1];
    for (int32_t from : graph.operandsOf(op))
      if (from == OpGraph::state(1) && op < writer && place[op] > place[writer])
        return false;
  }
  return order.size() == static_cast<size_t>(graph.size());
}
} // namespace

// Four layers take 10 ns each, and so do their gathers. All but the first
// gather run beside the layer before. One gather ahead is enough.
TEST(PrefetchingTest, GathersRunBesideTheLayerBefore) {
  Builder step;
  int32_t hidden = OpGraph::state(0);
  for (int32_t layer = 0; layer < 4; ++layer) {
    int32_t slice = step.compute(0, {OpGraph::state(1)});
    int32_t params = step.gather(10, slice);
    hidden = step.compute(10, {hidden, params});
  }
  std::optional<Prefetch> found = step.run();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->beforeNs, 80);
  EXPECT_EQ(found->afterNs, 50);
  EXPECT_EQ(found->aheadBytes, 40);
  EXPECT_TRUE(isValid(step.graph, found->order));
}

// The pieces of a gradient are put together when nothing else is left to do.
TEST(PrefetchingTest, WhatFollowsScattersComesLast) {
  Builder step;
  int32_t hidden = OpGraph::state(0), stack = OpGraph::state(1);
  for (int32_t layer = 0; layer < 4; ++layer) {
    hidden = step.compute(10, {hidden});
    int32_t piece = step.collective(Collective::ReduceScatter, 10, hidden);
    stack = step.compute(0, {stack, piece});
  }
  std::optional<Prefetch> found = step.run();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->beforeNs, 80);
  EXPECT_EQ(found->afterNs, 50);
  EXPECT_EQ(found->order,
            (std::vector<int32_t>{0, 1, 3, 4, 6, 7, 9, 10, 2, 5, 8, 11}));
}

// A gather of what this iteration computes has nowhere to go, nor has one whose
// result is needed at once.
TEST(PrefetchingTest, LeavesAStepThatCannotBeFaster) {
  Builder step;
  int32_t hidden = step.compute(10, {OpGraph::state(0)});
  int32_t all = step.gather(10, hidden);
  step.compute(10, {all});
  EXPECT_FALSE(step.run());
  Builder first;
  int32_t params = first.gather(10, OpGraph::state(1));
  first.compute(10, {OpGraph::state(0), params});
  EXPECT_FALSE(first.run());
}

// An op that makes a gradient which will be reduced stays where it is, for the
// reduction begins behind it.
TEST(PrefetchingTest, GradientsThatWillBeReducedStay) {
  Builder step;
  int32_t sum = step.collective(Collective::AllReduce, 10,
                                step.compute(10, {OpGraph::state(0)}));
  step.compute(1, {sum});
  step.isAwaited.back() = true;
  step.compute(10, {OpGraph::state(0)});
  EXPECT_FALSE(step.run());
  step.isAwaited[2] = false;
  EXPECT_TRUE(step.run());
}

// Statistics are reduced while backward runs, and used while gradients are.
TEST(PrefetchingTest, WhatWaitsForAReductionComesAfterTheRest) {
  Builder step;
  int32_t forward = step.compute(10, {OpGraph::state(0)});
  int32_t statistic = step.collective(Collective::AllReduce, 10, forward);
  int32_t used = step.compute(50, {statistic});
  int32_t gradient = step.compute(10, {forward});
  step.isAwaited.back() = true;
  int32_t update = step.compute(1, {gradient});
  std::optional<Prefetch> found = step.run();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->order,
            (std::vector<int32_t>{forward, statistic, gradient, used, update}));
}

// A log of the params reads them before their update, which may lie in their
// memory; and a target network is not overwritten while it is read.
TEST(PrefetchingTest, ReadersOfAStateStayBeforeItsNextValue) {
  Builder step;
  int32_t norm = step.compute(1, {OpGraph::state(1)});
  int32_t hidden = step.compute(10, {OpGraph::state(0)});
  int32_t scattered = step.collective(Collective::ReduceScatter, 10, hidden);
  int32_t update = step.compute(1, {scattered, OpGraph::state(1)});
  int32_t other = step.compute(50, {OpGraph::state(0)});
  int32_t all = step.collective(Collective::AllReduce, 1, other);
  std::optional<Prefetch> found = step.run(update);
  ASSERT_TRUE(found);
  EXPECT_TRUE(isValid(step.graph, found->order));
  EXPECT_EQ(found->order, (std::vector<int32_t>{norm, hidden, scattered, other,
                                                all, update}));
}

// The next step may gather other data before the last op has read this step's,
// if nothing else holds it up.
TEST(PrefetchingTest, LeavesAStepThatGathersItsBatch) {
  Builder step;
  int32_t labels = step.gather(10, OpGraph::state(0));
  int32_t params = step.gather(10, step.compute(0, {OpGraph::state(1)}));
  int32_t hidden = step.compute(10, {OpGraph::state(0), params});
  int32_t more = step.gather(10, step.compute(0, {OpGraph::state(1)}));
  step.compute(10, {hidden, more, labels});
  EXPECT_FALSE(step.run());
}

// Generates: chains and joins of compute, gathers of states and of what is
// computed from them, scatters of what the batch leads to, gradients that will
// be reduced. readers of a state before and after its
// next value. Not: collectives of several axes, late ops.
TEST(PrefetchingTest, RandomStepsComeNearTheBestOrder) {
  std::mt19937 random(5);
  auto below = [&](int bound) { return static_cast<int>(random() % bound); };
  int changed = 0;
  double sum = 0;
  for (int trial = 0; trial < 400; ++trial) {
    Builder step;
    for (int i = 0; i < 8; ++i) {
      // States are sent as they are only by the first op.
      auto operand = [&](bool isSent) {
        int from = below(i + 2) - 2;
        if (isSent && from < 0)
          from = i > 0 ? below(i) : -2;
        return from < 0 ? OpGraph::state(~from) : from;
      };
      if (below(5) < 2)
        step.collective(below(2) ? Collective::AllGather
                                 : Collective::ReduceScatter,
                        1 + below(10), operand(true));
      else
        step.compute(below(10), {operand(false), operand(false)});
      step.isAwaited.back() = below(8) == 0;
    }
    // Any op may make the state, which others read.
    std::optional<Prefetch> found = step.run(below(9) - 1);
    std::vector<int32_t> order(step.graph.size());
    std::iota(order.begin(), order.end(), 0);
    double before = timeOf(step.graph, order), best = before;
    do
      if (isValid(step.graph, order))
        best = std::min(best, timeOf(step.graph, order));
    while (std::next_permutation(order.begin(), order.end()));
    double after = before;
    if (found) {
      ++changed;
      ASSERT_TRUE(isValid(step.graph, found->order)) << "trial " << trial;
      after = timeOf(step.graph, found->order);
      EXPECT_EQ(found->beforeNs, before) << "trial " << trial;
      EXPECT_EQ(found->afterNs, after) << "trial " << trial;
      EXPECT_LT(after, before) << "trial " << trial;
    }
    EXPECT_GE(after, best) << "trial " << trial;
    sum += after / best;
  }
  EXPECT_GT(changed, 40);
  // The best orders also change that of compute on the batch.
  EXPECT_LT(sum / 400, 1.07);
}
