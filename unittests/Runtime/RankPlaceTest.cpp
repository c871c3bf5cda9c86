//===- RankPlaceTest.cpp - Where a rank is to be looked for ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What errors say of a rank: coordinates in the plan, and the launcher's number
// where it is another one.
//
//===----------------------------------------------------------------------===//
#include "Session/RankPlace.h"
#include "CommunicatorBackends.h"
#include "PlanBuilder.h"

#include "bagua/Runtime/Processes.h"

#include <gtest/gtest.h>

#include <unistd.h>

namespace bagua::runtime::test {
namespace {

TEST(RankPlaceTest, SaysCoordinatesAndTheLaunchersNumber) {
  const std::string path =
      testing::TempDir() + "/bagua-places-" + std::to_string(getpid());
  const auto plan = PlanBuilder({{"node", 2}, {"gpu", 2}}).load();
  const auto flat = PlanBuilder({{"gpu", 4}}).load();
  onEachRank(4, [&](int started) {
    ProcessOptions options;
    options.rank = started;
    options.size = 4;
    options.store = createFileStore(path);
    options.host = started % 2 ? "odd" : "even";
    options.ordersByHost = true;
    auto world = connectProcesses(options);
    ASSERT_TRUE(world.ok()) << world.status();
    EXPECT_EQ(describeRank(*plan, **world, 1),
              "rank 1 is node=0, gpu=1, started as rank 2");
    EXPECT_EQ(describeRank(*plan, **world, 3), "rank 3 is node=1, gpu=1");
    EXPECT_EQ(describeRank(*flat, **world, 2), "rank 2 is started as rank 1");
    EXPECT_EQ(describeRank(*flat, **world, 0), "");
  });
  unlink(path.c_str());
}

} // namespace
} // namespace bagua::runtime::test
