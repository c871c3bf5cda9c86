//===- OpGraphTest.cpp - Who does the runtime's own work ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// On a rank's device, on the cores that carry its messages, or on servers.
//
//===----------------------------------------------------------------------===//
#include "bagua/Scheduling/Prices/OpGraph.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace bagua;
using testing::HasSubstr;
using testing::Optional;

namespace {

ClusterModel twoRanks() {
  ClusterModel cluster;
  cluster.axes = {{"node", 1, 0, 1000000000}, {"gpu", 2, 0, 1000000000}};
  cluster.memoryBytesPerS = 500000000;
  cluster.launchNs = 3;
  return cluster;
}

TEST(OpGraphTest, LocalWorkTakesItsTime) {
  ClusterModel cluster = twoRanks();
  EXPECT_EQ(cluster.localNs("adam", 100), 200 + 3);
  EXPECT_EQ(cluster.localNs("adam", 0), 0);
  cluster.memoryBytesPerS = 0; // no device
  EXPECT_EQ(cluster.localNs("adam", 100), 0);
  cluster.host = {{"adam", {{100, 50}, {200, 70}}}, {"linear", {{100, 10}}}};
  EXPECT_EQ(cluster.check(), std::nullopt);
  EXPECT_EQ(cluster.localNs("adam", 50), 50);
  EXPECT_EQ(cluster.localNs("adam", 150), 60);
  EXPECT_EQ(cluster.localNs("adam", 300), 90);
  // What has no times of its own.
  EXPECT_EQ(cluster.localNs("sgd", 150), 10);
  EXPECT_EQ(cluster.localNs("sgd", 0), 0);
}

TEST(OpGraphTest, AHostHasTimesOfAllWork) {
  ClusterModel cluster = twoRanks();
  cluster.host = {{"adam", {{100, 50}}}};
  EXPECT_THAT(cluster.check(), Optional(HasSubstr("host's times of linear")));
  cluster.host["linear"] = {{100, 50}, {100, 60}};
  EXPECT_THAT(cluster.check(), Optional(HasSubstr("host's times of linear: "
                                                  "expected ascending")));
}

TEST(OpGraphTest, TimesOfAMessageAreSound) {
  ClusterModel cluster = twoRanks();
  cluster.messageNs = INT64_MAX;
  EXPECT_THAT(cluster.check(),
              Optional(HasSubstr("found 9223372036854775807")));
  cluster.messageNs = -1;
  EXPECT_THAT(cluster.check(), Optional(HasSubstr("found -1")));
}

// An update on each rank, and one on servers.
class LocalWork : public testing::Test {
protected:
  TaskGraph tasks() {
    OpGraph step;
    step.add({GraphOpKind::Compute}, {});
    GraphOp update;
    update.kind = GraphOpKind::Update;
    update.ns = 40;
    step.add(update, {0});
    update.isOnServers = true;
    step.add(update, {0});
    LaunchSchedule schedule;
    schedule.streams = {{"compute", true}, {"update", false}};
    schedule.streamOf = {0, 1, 1};
    schedule.order = {0, 1, 2};
    schedule.lateBefore = {-1, -1, -1};
    CollectivePrices prices(cluster);
    return tasksOf(step, schedule, prices).graph;
  }

  ClusterModel cluster = twoRanks();
};

TEST_F(LocalWork, OnTheDevice) {
  TaskGraph graph = tasks();
  EXPECT_TRUE(graph[1].usesDevice);
  EXPECT_EQ(graph[1].fixedNs, 40);
  EXPECT_FALSE(graph[2].usesDevice);
  EXPECT_EQ(graph[2].fixedNs, 40);
  EXPECT_EQ(graph.useCount(), 0);
}

TEST_F(LocalWork, OnTheHost) {
  cluster.host = {{"linear", {{100, 10}}}};
  TaskGraph graph = tasks();
  EXPECT_FALSE(graph[1].usesDevice);
  EXPECT_EQ(graph[1].fixedNs, 0);
  ASSERT_EQ(graph.usesEnd(1) - graph.usesBegin(1), 2);
  EXPECT_EQ(graph.usesBegin(1)[0].link, egressLink(1));
  EXPECT_EQ(graph.usesBegin(1)[1].link, ingressLink(1));
  EXPECT_EQ(graph.usesBegin(1)[0].ns, 40);
  EXPECT_EQ(graph.usesBegin(1)[1].ns, 40);
  EXPECT_EQ(graph[2].fixedNs, 40);
}

} // namespace
