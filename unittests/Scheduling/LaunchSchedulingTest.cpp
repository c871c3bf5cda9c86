//===- LaunchSchedulingTest.cpp - Streams and launch order of a step ------===//
//
// Every policy gives every op its place, operands first, also where the program
// and the runtime touch the same states.
//
//===----------------------------------------------------------------------===//
#include "bagua/Scheduling/LaunchScheduling.h"

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
      for (auto *from = graph.operandsBegin(op); from != graph.operandsEnd(op);
           ++from)
        if (!OpGraph::isState(*from)) {
          EXPECT_LT(places[*from], places[op]);
        }
    }
    return places;
  }

  OpGraph graph;
  int32_t forward, backward, reduced, update;
};
} // namespace

TEST_F(LaunchSchedulingTest, AnUpdateOverwritesItsStatesAlone) {
  // The program's own update reads the rate, too, and takes its time.
  int32_t late = addCompute({OpGraph::state(1), reduced});
  for (SchedulePolicy policy : kAll) {
    std::vector<int32_t> places = schedule(policy);
    EXPECT_LT(places[update], places[late]) << policyName(policy);
  }
}

TEST_F(LaunchSchedulingTest, AWriteWaitsForALateRead) {
  // The program reads the state once more when the gradient is back.
  int32_t late = addCompute({OpGraph::state(0), reduced});
  for (SchedulePolicy policy : kAll)
    EXPECT_GT(schedule(policy)[update], schedule(policy)[late])
        << policyName(policy);
}

TEST_F(LaunchSchedulingTest, AReadOfTheOldAfterTheNewHasAPlaceToo) {
  // Nothing can satisfy it in place; the proof of the schedule refuses it.
  addCompute({OpGraph::state(0), update});
  for (SchedulePolicy policy : kAll)
    schedule(policy);
}
