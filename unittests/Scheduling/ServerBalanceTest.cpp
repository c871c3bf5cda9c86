//===- ServerBalanceTest.cpp - Against every assignment -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Graham's bound on small problems, by brute force.
//
//===----------------------------------------------------------------------===//
#include "bagua/Scheduling/Search/ServerBalance.h"

#include "bagua/Scheduling/Prices/CollectiveCost.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <random>

using namespace bagua;
using testing::ElementsAre;

namespace {

int64_t fullest(const std::vector<int64_t> &bytes,
                const std::vector<int64_t> &servers, int64_t count) {
  std::vector<int64_t> load(count, 0);
  for (size_t i = 0; i < bytes.size(); ++i)
    load[servers[i]] += bytes[i];
  return *std::max_element(load.begin(), load.end());
}

TEST(ServerBalanceTest, LargestFirst) {
  EXPECT_THAT(balanceServers({3, 7, 2, 6}, {1, 1}), ElementsAre(1, 0, 0, 1));
  EXPECT_THAT(balanceServers({5, 5, 5}, {1}), ElementsAre(0, 0, 0));
  EXPECT_TRUE(balanceServers({}, {1, 1, 1}).empty());
}

TEST(ServerBalanceTest, GivesMoreToServersWithMoreOfTheirLink) {
  EXPECT_THAT(balanceServers({6, 6, 6, 6}, {3, 1}), ElementsAre(0, 0, 0, 1));
  EXPECT_THAT(balanceServers({1, 1}, {0, 1}), ElementsAre(1, 1));
}

TEST(ServerBalanceTest, AssignsMessagesInTheOrderOfTheStep) {
  ClusterModel cluster;
  cluster.axes.push_back({"node", 2, 0, 1000000000, 1});
  cluster.serversOn = 1;
  auto at = [](int32_t place, int64_t bytes, FormKind form) {
    return PlacedMessage{place, Message{1, bytes, 1}, AllReduceForm{form, 0}};
  };
  // Of equal messages the earlier one gets the first server, wherever the list
  // has it; what ranks sum has none.
  EXPECT_THAT(
      assignServers(cluster,
                    {at(9, 6, FormKind::Servers), at(5, 6, FormKind::Flat),
                     at(2, 6, FormKind::Servers), at(1, 4, FormKind::Servers)}),
      ElementsAre(1, -1, 0, 0));
}

/// Published closed form: with the capacities' shares, all links are full for
/// the same time, which is the formula's.
TEST(ServerBalanceTest, CapacitiesReachBytePSsOptimum) {
  for (int64_t hosts : {2, 3, 4, 8})
    for (int64_t dedicated = 0; dedicated <= hosts; ++dedicated) {
      ClusterModel cluster;
      cluster.axes.push_back({"node", hosts, 0, 1000000000, 1});
      cluster.dedicatedServers = dedicated;
      cluster.serversOn = 1;
      std::vector<int64_t> capacities = serverCapacities(cluster);
      double all = 0;
      for (int64_t capacity : capacities)
        all += static_cast<double>(capacity);
      const double bytes = 1e9;
      std::vector<double> linkNs(linkCount(cluster), 0);
      for (int64_t server = 0; server < cluster.servers(); ++server)
        for (Collective collective : {Collective::Push, Collective::Pull}) {
          auto part = static_cast<int64_t>(
              bytes * static_cast<double>(capacities[server]) / all);
          for (const LinkUse &use :
               cheapestCost(cluster, {collective, 1, part, 0, server}).uses)
            linkNs[use.link] += use.ns;
        }
      auto n = static_cast<double>(hosts), k = static_cast<double>(dedicated);
      double expected = 2 * n * (n - 1) * bytes / (n * n + k * n - 2 * k);
      EXPECT_NEAR(*std::max_element(linkNs.begin(), linkNs.end()), expected,
                  1e-6 * expected)
          << hosts << " hosts, " << dedicated << " dedicated servers";
    }
}

TEST(ServerBalanceTest, IsWithinGrahamsBound) {
  std::mt19937 random(1);
  double worst = 1;
  for (int trial = 0; trial < 10000; ++trial) {
    int64_t servers = 1 + static_cast<int64_t>(random() % 3);
    std::vector<int64_t> bytes(1 + random() % 7);
    for (int64_t &size : bytes)
      size = random() % 20;
    std::vector<int64_t> assignment(bytes.size(), 0);
    int64_t best = INT64_MAX;
    while (true) {
      best = std::min(best, fullest(bytes, assignment, servers));
      size_t digit = 0;
      while (digit < assignment.size() && ++assignment[digit] == servers)
        assignment[digit++] = 0;
      if (digit == assignment.size())
        break;
    }
    std::vector<int64_t> equal(servers, 1);
    int64_t found = fullest(bytes, balanceServers(bytes, equal), servers);
    auto count = static_cast<double>(servers);
    ASSERT_LE(static_cast<double>(found),
              (4.0 / 3 - 1 / (3 * count)) * static_cast<double>(best) + 1e-9);
    if (best > 0)
      worst = std::max(worst,
                       static_cast<double>(found) / static_cast<double>(best));
  }
  EXPECT_GT(worst, 1) << "the bound is not idle";
}

} // namespace
