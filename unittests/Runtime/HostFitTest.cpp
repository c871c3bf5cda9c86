//===- HostFitTest.cpp - Plans on hosts that they were not made for -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Layouts of ranks on hosts, and which axes of a plan they suit.
//
//===----------------------------------------------------------------------===//
#include "PlanBuilder.h"

#include "Session/HostFit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace bagua::runtime::test {
namespace {

using Axes = std::vector<std::pair<std::string, int64_t>>;

absl::Status check(const Axes &axes, const std::vector<int> &hosts,
                   int64_t servers = 0) {
  PlanBuilder plan(axes);
  plan.plan.cluster->dedicated_servers = servers;
  return checkHostFit(*plan.load(), hosts);
}

TEST(HostFitTest, TakesWhatIsAlike) {
  const Axes two = {{"node", 2}, {"gpu", 2}};
  // All on one host; an axis a host; every rank a host of its own.
  EXPECT_TRUE(check(two, {0, 0, 0, 0}).ok());
  EXPECT_TRUE(check(two, {0, 0, 1, 1}).ok());
  EXPECT_TRUE(check(two, {0, 1, 2, 3}).ok());
  // By turns: either axis joins equals.
  EXPECT_TRUE(check(two, {0, 1, 0, 1}).ok());
  // Several groups in each host, one in several hosts.
  EXPECT_TRUE(check({{"node", 4}, {"gpu", 2}}, {0, 0, 0, 0, 1, 1, 1, 1}).ok());
  EXPECT_TRUE(check({{"node", 2}, {"gpu", 4}}, {0, 0, 1, 1, 2, 2, 3, 3}).ok());
  // Hosts of unequal sizes, which no group feels.
  EXPECT_TRUE(check({{"node", 3}, {"gpu", 2}}, {0, 0, 0, 0, 1, 1}).ok());
  EXPECT_TRUE(check({{"rank", 4}}, {0, 0, 0, 1}).ok());
  // Servers are nobody's neighbours.
  EXPECT_TRUE(check(two, {0, 0, 1, 1, 2}, /*servers=*/1).ok());
}

TEST(HostFitTest, NamesTheAxisAndBothGroups) {
  absl::Status status = check({{"node", 2}, {"gpu", 2}}, {0, 0, 0, 1});
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(status.message(),
            "the plan's axis 'node' (size 2) does not fit the hosts that ranks "
            "are on: it joins ranks 0, 2 on hosts 0, 0, and ranks 1, 3 on "
            "hosts 0, 1; expected all its groups to be alike");
  // Three a host, where the inner axis joins two.
  EXPECT_THAT(
      std::string(
          check({{"node", 3}, {"gpu", 2}}, {0, 0, 0, 1, 1, 1}).message()),
      testing::HasSubstr("ranks 0, 1 on hosts 0, 0, and ranks 2, 3 on "
                         "hosts 0, 1"));
}

} // namespace
} // namespace bagua::runtime::test
