//===- LowerBoundTest.cpp - The bound by hand -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bounds worked out by hand, and schedules that come close to them.
//
//===----------------------------------------------------------------------===//
#include "bagua/Scheduling/Prices/LowerBound.h"
#include "bagua/Scheduling/Prices/CollectiveCost.h"
#include "bagua/Scheduling/Prices/Simulator.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace bagua;
using testing::HasSubstr;
using testing::Optional;

namespace {

/// Four ranks, 1 byte a ns, no latency: a reduced byte takes 1.5 ns.
BoundProblem fourRanks() {
  BoundProblem problem;
  problem.cluster.axes = {{"rank", 4, 0, 1000000000}};
  return problem;
}

TEST(LowerBoundTest, Compute) {
  BoundProblem problem = fourRanks();
  problem.computeNs = {100, 200};
  problem.gradients = {{10, 1, 1, -1, 0}};
  problem.updatesNs = 40;
  LowerBound bound = lowerBound(problem);
  // The update may be spread over the ranks.
  EXPECT_DOUBLE_EQ(bound.ns, 300 + 40 / 4);
  EXPECT_EQ(bound.binding, LowerBound::Binding::Compute);
  problem.anyTimeNs = 7;
  EXPECT_DOUBLE_EQ(lowerBound(problem).ns, 300 + 40 / 4 + 7);
}

// What no message goes along carries none.
TEST(LowerBoundTest, AnAxisOfOne) {
  BoundProblem problem = fourRanks();
  problem.cluster.axes.insert(problem.cluster.axes.begin(),
                              {"node", 1, 9, 1000000000});
  problem.computeNs = {100, 200};
  problem.gradients = {{1000, 3, 1, -1, 0}};
  EXPECT_DOUBLE_EQ(lowerBound(problem).ns, 1500);
  problem.cluster.axes[1].size = 1;
  EXPECT_DOUBLE_EQ(lowerBound(problem).ns, 300);
}

// The second op needs 100 bytes of the first's summed, 150 ns; what may run at
// any time runs meanwhile.
TEST(LowerBoundTest, ComputeThatWaits) {
  BoundProblem problem = fourRanks();
  problem.cluster.axes[0].latencyNs = 5;
  problem.cluster.launchNs = 2;
  problem.cluster.messageNs = 3;
  problem.computeNs = {100, 200, 10};
  problem.anyTimeNs = 60;
  problem.waits = {{1, 0, 100, 1}};
  EXPECT_DOUBLE_EQ(lowerBound(problem).ns, 100 + 10 + 150 + 200 + 10);
  // Compute in between has its time, too.
  problem.waits = {{2, 0, 100, 1}};
  EXPECT_DOUBLE_EQ(lowerBound(problem).ns, 310 + 60);
  // A cycle has what is waited for within it, not what an op before it left.
  problem.anyTimeNs = 0;
  problem.waits = {{1, 0, 100, 1}};
  problem.gradients = {{100, 1, 2, 1, 0}};
  EXPECT_DOUBLE_EQ(lowerBound(problem).cycleNs, 200 + 10 + 10 + 150);
  problem.gradients[0].neededBy = 0;
  EXPECT_DOUBLE_EQ(lowerBound(problem).cycleNs, 470 + 10 + 150);
}

// A bus of which compute takes three quarters.
TEST(LowerBoundTest, LinksBesideCompute) {
  BoundProblem problem = fourRanks();
  problem.cluster.axes[0].overlappedRate = 0.25;
  problem.computeNs = {100, 200};
  problem.gradients = {{1000, 1, 1, -1, 0}};
  EXPECT_DOUBLE_EQ(lowerBound(problem).linksNs, 1500 + 300 * 0.75);
  // Between the end of the second op and the next start of it there is the
  // first.
  problem.gradients = {{1000, 1, 1, 1, 0}};
  EXPECT_DOUBLE_EQ(lowerBound(problem).cycleNs, 200 + 1500 + 100 * 0.75);
}

// Two groups side by side each sum their own gradients, over links along their
// axis alone.
TEST(LowerBoundTest, GroupsSideBySide) {
  BoundProblem problem;
  problem.cluster.axes = {{"data", 4, 0, 1000000000},
                          {"model", 2, 0, 1000000000}};
  problem.computeNs = {1};
  problem.gradients = {{1000, 1, 0, -1, 0}};
  EXPECT_DOUBLE_EQ(lowerBound(problem).linksNs, 1500);
  problem.gradients = {{1000, 2, 0, -1, 0}};
  EXPECT_DOUBLE_EQ(lowerBound(problem).linksNs, 1000);
  // One card for both of a node.
  problem.cluster.axes[0].sharers = 2;
  problem.gradients = {{1000, 1, 0, -1, 0}};
  EXPECT_DOUBLE_EQ(lowerBound(problem).linksNs, 3000);
  // Each along its own links.
  problem.gradients.push_back({1000, 2, 0, -1, 0});
  EXPECT_DOUBLE_EQ(lowerBound(problem).linksNs, 3000);
}

TEST(LowerBoundTest, Links) {
  BoundProblem problem = fourRanks();
  problem.computeNs = {100, 200};
  problem.gradients = {{1000, 1, 1, -1, 0}};
  LowerBound bound = lowerBound(problem);
  EXPECT_DOUBLE_EQ(bound.ns, 1500);
  EXPECT_EQ(bound.binding, LowerBound::Binding::Links);
  EXPECT_EQ(bound.index, 0);
}

// Two layers: forward 10, 20, backward 30, 40. The first layer's gradient is
// ready last and needed first: 10 + 20 + 30 + 40 + 1.5 * 100. The second's has
// the other's backward and forward to hide behind: 20 + 30 + both messages.
TEST(LowerBoundTest, Cycle) {
  BoundProblem problem = fourRanks();
  problem.computeNs = {10, 20, 30, 40};
  problem.gradients = {{100, 1, 2, 1, 0}, {100, 1, 3, 0, 0}};
  LowerBound bound = lowerBound(problem);
  EXPECT_DOUBLE_EQ(bound.cycleNs, 20 + 30 + 300);
  problem.gradients[0].bytes = 10;
  bound = lowerBound(problem);
  EXPECT_DOUBLE_EQ(bound.ns, 100 + 150);
  EXPECT_EQ(bound.binding, LowerBound::Binding::Cycle);
  EXPECT_EQ(bound.index, 1);
  problem.cluster.axes[0].latencyNs = 7;
  EXPECT_DOUBLE_EQ(lowerBound(problem).ns, 100 + 150 + 7);
}

// Each op takes of the rate for a while only, and ops may be merged.
TEST(LowerBoundTest, LinksBesideTheStartsOfOps) {
  BoundProblem problem = fourRanks();
  problem.cluster.axes[0].overlappedRate = 0.25;
  problem.cluster.axes[0].overlappedNs = 50;
  problem.computeNs = {100, 200};
  problem.gradients = {{1000, 1, 1, -1, 0}};
  EXPECT_DOUBLE_EQ(lowerBound(problem).linksNs, 1500);
}

// Parts of an axis have its links together, not twice.
TEST(LowerBoundTest, CutAxes) {
  BoundProblem problem;
  problem.cluster.axes = {{"data", 4, 0, 1000000000},
                          {"data.1", 2, 0, 1000000000}};
  problem.cluster.axes[1].linksOf = 0;
  problem.computeNs = {1};
  problem.gradients = {{1000, 3, 0, -1, 0}};
  EXPECT_DOUBLE_EQ(lowerBound(problem).linksNs, 2 * 1000 * 7.0 / 8);
  // Either part alone, then both of them.
  problem.gradients = {{1000, 1, 0, -1, 0}};
  EXPECT_DOUBLE_EQ(lowerBound(problem).linksNs, 1500);
  problem.gradients.push_back({1000, 2, 0, -1, 0});
  EXPECT_DOUBLE_EQ(lowerBound(problem).linksNs, 1500 + 1000);
}

// A node's card carries 2 (k-1)/k S for all of its gpus.
TEST(LowerBoundTest, CutsOfNodes) {
  BoundProblem problem;
  problem.cluster.axes = {{"node", 4, 0, 1000000000, 8},
                          {"gpu", 8, 0, 10000000000}};
  problem.computeNs = {1};
  problem.gradients = {{1000, 3, 0, 0, 0}};
  EXPECT_DOUBLE_EQ(lowerBound(problem).linksNs, 1500);
  // Where servers may sum, once each way; with few of them, they bind.
  problem.cluster.dedicatedServers = 4;
  EXPECT_DOUBLE_EQ(lowerBound(problem).linksNs, 1000);
  problem.cluster.dedicatedServers = 1;
  EXPECT_DOUBLE_EQ(lowerBound(problem).linksNs, 2 * 3 * 1000.0 / 5);
  // Over gpus alone nothing crosses the card.
  problem.cluster.dedicatedServers = 0;
  problem.gradients[0].over = 2;
  EXPECT_LT(lowerBound(problem).linksNs, 200);
}

/// A step of one op of the program's, which waits for these tasks of the step
/// before, on some more streams.
TaskGraph oneOp(const BoundProblem &problem, int32_t first, int32_t last,
                const std::vector<StreamModel> &streams) {
  TaskGraph graph;
  graph.streams = {{"program", true}};
  graph.streams.insert(graph.streams.end(), streams.begin(), streams.end());
  graph.links.resize(linkCount(problem.cluster));
  std::vector<TaskDependency> waits;
  for (int32_t task = first; task <= last; ++task)
    waits.push_back({task, 1});
  graph.add({0, double(problem.computeNs[0])}, {}, waits);
  return graph;
}

int32_t send(TaskGraph &graph, const BoundProblem &problem, int32_t stream,
             const SizedCollective &call, int32_t after) {
  CollectiveCost cost = cheapestCost(problem.cluster, call);
  return graph.add({stream, cost.latencyNs, call.bytes}, cost.uses,
                   {{after, 0}});
}

// Two gradients of 100 bytes: 75 ns to reduce one, 20 for a rank's part of its
// update, 75 to gather that. One is updated while the other travels.
TEST(LowerBoundTest, UpdatesHideBehindMessages) {
  BoundProblem problem = fourRanks();
  problem.computeNs = {10};
  problem.gradients = {{100, 1, 0, 0, 80}, {100, 1, 0, 0, 80}};
  problem.updatesNs = 160;
  TaskGraph graph = oneOp(problem, 5, 6, {{"messages"}, {"updates"}});
  for (int32_t gradient : {0, 1})
    EXPECT_EQ(send(graph, problem, 1, {Collective::ReduceScatter, 1, 100}, 0),
              1 + gradient);
  for (int32_t gradient : {0, 1})
    graph.add({2, 20}, {}, {{1 + gradient, 0}});
  for (int32_t gradient : {0, 1})
    send(graph, problem, 1, {Collective::AllGather, 1, 100}, 3 + gradient);
  EXPECT_DOUBLE_EQ(simulate(graph).stepNs, 10 + 4 * 75);
  EXPECT_DOUBLE_EQ(lowerBound(problem).ns, 10 + 4 * 75);
  // All of them have to be done once the first message is there.
  problem.cluster.axes[0].latencyNs = 7;
  problem.gradients[0].updateNs = problem.gradients[1].updateNs = 1600;
  EXPECT_DOUBLE_EQ(lowerBound(problem).cycleNs, 10 + 7 + 2 * 1600 / 4);
}

// A server does nothing else, so it may have done all updates before compute
// has ended; where there are more, ranks and servers share them.
TEST(LowerBoundTest, ServersUpdateBesideCompute) {
  BoundProblem problem = fourRanks();
  problem.cluster.dedicatedServers = 1;
  problem.computeNs = {100};
  problem.updatesNs = 40;
  EXPECT_DOUBLE_EQ(lowerBound(problem).computeNs, 100);
  problem.updatesNs = 900;
  EXPECT_DOUBLE_EQ(lowerBound(problem).computeNs, (4 * 100 + 900) / 5.0);
}

// Four gpus of one node reach servers over a network that is faster than the
// links between them.
TEST(LowerBoundTest, ServersAlongAnAxisOfOne) {
  BoundProblem problem;
  problem.cluster.axes = {{"node", 1, 10, 4000000000},
                          {"gpu", 4, 50, 1000000000}};
  problem.cluster.dedicatedServers = 4;
  problem.computeNs = {1};
  problem.gradients = {{1000, 3, 0, 0, 0}};
  EXPECT_DOUBLE_EQ(lowerBound(problem).linksNs, 1000.0 / (4 + 1));
  EXPECT_DOUBLE_EQ(lowerBound(problem).cycleNs, 1 + 10 + 1000.0 / (4 + 1));
}

// Sixteen messages of 128 bytes by rail between two nodes of four gpus. Those
// inside the nodes, 2 * 24 ns each, go on while those between them wait for
// their latency, twice 100 ns.
TEST(LowerBoundTest, LatenciesHideBehindInnerLinks) {
  BoundProblem problem;
  problem.cluster.axes = {{"node", 2, 100, 1000000000},
                          {"gpu", 4, 0, 4000000000}};
  problem.computeNs = {10};
  problem.gradients = {{16 * 128, 3, 0, 0, 0}};
  StreamModel inside{"inside"}, between{"between", false, true, 1 << 20};
  TaskGraph graph = oneOp(problem, 33, 48, {inside, between});
  for (int32_t message = 1; message <= 16; ++message)
    send(graph, problem, 1, {Collective::ReduceScatter, 2, 128}, 0);
  for (int32_t message = 1; message <= 16; ++message)
    send(graph, problem, 2, {Collective::AllReduce, 1, 32}, message);
  for (int32_t message = 1; message <= 16; ++message)
    send(graph, problem, 1, {Collective::AllGather, 2, 128}, 16 + message);
  EXPECT_DOUBLE_EQ(simulate(graph).stepNs, 10 + 16 * 2 * 24);
  // 7/4 of the bytes over links of 5 bytes a ns in all.
  EXPECT_DOUBLE_EQ(lowerBound(problem).ns, 10 + 7.0 / 4 * 16 * 128 / 5);
  // An op of the same step waits no longer.
  problem.computeNs = {10, 0};
  problem.waits = {{1, 0, 16 * 128, 3}};
  EXPECT_DOUBLE_EQ(lowerBound(problem).computeNs, 10 + 7.0 / 4 * 16 * 128 / 5);
  problem.computeNs = {10};
  problem.waits.clear();
  // Slower between nodes, these links are full, after their latency.
  problem.cluster.axes[0].bytesPerS = 500000000;
  EXPECT_DOUBLE_EQ(lowerBound(problem).ns, 10 + 100 + 16 * 128 / 2.0);
}

TEST(LowerBoundTest, ChecksItsInput) {
  BoundProblem problem = fourRanks();
  problem.computeNs = {1, -1};
  EXPECT_THAT(problem.check(), Optional(HasSubstr("found -1")));
  problem.computeNs = {1};
  problem.gradients = {{1, 1, 1, 0, 0}};
  EXPECT_THAT(problem.check(), Optional(HasSubstr("expected ops")));
  problem.gradients = {{1, 2, 0, 0, 0}};
  EXPECT_THAT(problem.check(), Optional(HasSubstr("axes of the cluster")));
  problem.gradients.clear();
  problem.waits = {{0, 0, 1, 1}};
  EXPECT_THAT(problem.check(), Optional(HasSubstr("wait for earlier ones")));
  problem.waits.clear();
  problem.anyTimeNs = -3;
  EXPECT_THAT(problem.check(), Optional(HasSubstr("found -3")));
  problem.anyTimeNs = 0;
  problem.gradients = {{-1, 1, 0, 0, 0}};
  EXPECT_THAT(problem.check(), Optional(HasSubstr("at least 0")));
  problem.cluster.axes.clear();
  EXPECT_THAT(problem.check(), Optional(HasSubstr("axes")));
}

} // namespace
