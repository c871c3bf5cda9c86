//===- PlanRulesTest.cpp - Plans by a few numbers -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Mixes worked out by hand, rules applied, and plans on the way to less memory.
//
//===----------------------------------------------------------------------===//
#include "RandomPlanning.h"

#include "bagua/Scheduling/Search/Decide.h"
#include "bagua/Scheduling/Search/PlanGraph.h"
#include "bagua/Scheduling/Search/PlanRules.h"
#include "bagua/Scheduling/Search/PlanSearch.h"
#include "bagua/Support/Limits.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <numeric>

using namespace bagua;
using bagua::test::RandomPlanning;
using testing::ElementsAre;

namespace {

FormMix mixOf(std::initializer_list<std::pair<FormKind, int>> shares) {
  FormMix mix = {};
  for (auto [form, share] : shares)
    mix[static_cast<size_t>(form)] = share;
  return mix;
}

// Buckets that are not cut don't count, however many there are.
TEST(PlanRulesTest, PartsAreBounded) {
  std::vector<int64_t> alone(200000, 1);
  EXPECT_EQ(checkParts(alone), std::nullopt);
  EXPECT_EQ(checkParts(std::vector<int64_t>{kMaxParts - 2, 1, 2}),
            std::nullopt);
  EXPECT_EQ(checkParts(std::vector<int64_t>{kMaxParts - 1, 1, 2}),
            "expected the step's gradients in at most 100000 parts, found "
            "100001");
  // As many as there are elements in all the memory of two tensors.
  EXPECT_EQ(checkParts(std::vector<int64_t>(3, INT64_MAX / 2)),
            "expected the step's gradients in at most 100000 parts, found " +
                std::to_string(INT64_MAX));
}

TEST(PlanRulesTest, SharesAreSpreadEvenly) {
  FormKind f = FormKind::Flat, s = FormKind::Servers;
  EXPECT_THAT(spreadForms(mixOf({{f, 6}, {s, 2}})),
              ElementsAre(f, f, s, f, f, f, s, f));
  EXPECT_THAT(spreadForms({}), ElementsAre());
}

// Eight ranks and two servers, a byte a ns. Among the ranks a byte takes 2 *
// 7/8 of a link's time, by way of servers 1 of a rank's and 4 of a server's:
// 3/8 by servers load a rank's link with 1.47 and a server's with 1.5.
TEST(PlanRulesTest, MixesLoadLinksAlike) {
  ClusterModel cluster;
  cluster.axes = {{"rank", 8, 0, 1000000000}};
  cluster.dedicatedServers = 2;
  std::vector<FormKind> forms{FormKind::Flat, FormKind::Servers};
  EXPECT_THAT(
      balancedMixes(cluster, 1 << 20, 1, forms, 6),
      ElementsAre(mixOf({{FormKind::Flat, 5}, {FormKind::Servers, 3}})));
  // With eight servers, they alone are best.
  cluster.dedicatedServers = 8;
  EXPECT_THAT(balancedMixes(cluster, 1 << 20, 1, forms, 6), ElementsAre());
}

// Large messages take the mix across buckets, small ones the cheapest form.
TEST(PlanRulesTest, LargeMessagesAreMixed) {
  CommunicationProblem problem = RandomPlanning(5).problem(6, false);
  problem.cluster = {};
  problem.cluster.axes = {{"rank", 8, 1000, 1000000000}};
  problem.cluster.dedicatedServers = 2;
  for (size_t i = 0; i < problem.gradients.size(); ++i) {
    problem.gradients[i].count = i < 2 ? 100 : 1000000;
    problem.gradients[i].over = 1;
    problem.bucketing.tensors[i].bytes = 4 * problem.gradients[i].count;
  }
  PlanRule rule;
  rule.mergeBytes = 0;
  rule.partitionBytes = 2000000;
  rule.form.mix = mixOf({{FormKind::Flat, 4}, {FormKind::Servers, 4}});
  CommunicationPlan plan = planByRule(problem, rule, Encoding());
  EXPECT_EQ(printBuckets(plan.buckets), "2*1,4*1/2:flat+servers");
  rule.partitionBytes = 0;
  plan = planByRule(problem, rule, Encoding());
  EXPECT_EQ(printBuckets(plan.buckets), "3*1,1:servers,1,1:servers");
}

// Each plan on the way takes no more memory than the one before of its kind,
// and the last of them hardly any.
TEST(PlanRulesTest, LeanerPlansTakeLessAndLess) {
  RandomPlanning random(7);
  for (int trial = 0; trial < 200; ++trial) {
    CommunicationProblem problem =
        random.problem(2 + static_cast<int32_t>(random.below(20)), false);
    PlanRule rule;
    rule.form.forms = formBit(FormKind::Multilevel);
    rule.partitionBytes = 1 << 18;
    CommunicationPlan plan = planByRule(problem, rule, Encoding());
    int64_t before[] = {arenaBytes(problem, plan), arenaBytes(problem, plan)};
    std::vector<CommunicationPlan> plans = leanerPlans(problem, plan);
    for (size_t i = 0; i < plans.size(); ++i) {
      int64_t bytes = arenaBytes(problem, plans[i]);
      ASSERT_LE(bytes, before[i % 2]);
      before[i % 2] = bytes;
      int32_t gradients =
          std::accumulate(plans[i].buckets.begin(), plans[i].buckets.end(), 0,
                          [](int32_t sum, const PlannedBucket &bucket) {
                            return sum + bucket.gradients;
                          });
      ASSERT_EQ(gradients, static_cast<int32_t>(problem.gradients.size()));
    }
    ASSERT_EQ(before[1], arenaBytes(problem, leanestPlan(problem, {})));
  }
}

} // namespace
