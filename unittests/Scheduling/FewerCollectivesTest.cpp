//===- FewerCollectivesTest.cpp - The same with fewer collectives ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plans that are offered, and when that ends.
//
//===----------------------------------------------------------------------===//
#include "RandomPlanning.h"

#include "bagua/Scheduling/Search/Decide.h"
#include "bagua/Scheduling/Search/FewerCollectives.h"
#include "bagua/Scheduling/Search/PlanGraph.h"

#include "gtest/gtest.h"

#include <numeric>

using namespace bagua;
using bagua::test::makeAlike;
using bagua::test::RandomPlanning;

namespace {

/// A hundred gradients, each in four parts by halves.
CommunicationPlan manyMessages(const CommunicationProblem &problem) {
  CommunicationPlan plan;
  plan.buckets.assign(problem.gradients.size(), {1, 4, FormKind::Halves});
  return plan;
}

CommunicationProblem largeGradients(unsigned seed, bool isMixed) {
  CommunicationProblem problem = RandomPlanning(seed).problem(100, isMixed);
  makeAlike(problem, 1000);
  return problem;
}

int64_t partsOf(const CommunicationPlan &plan) {
  return std::accumulate(plan.buckets.begin(), plan.buckets.end(), int64_t(0),
                         [](int64_t sum, const PlannedBucket &bucket) {
                           return sum + bucket.parts;
                         });
}

// Where everything is as fast, one message of each class is left.
TEST(FewerCollectivesTest, EndsWithOneMessageAClass) {
  for (bool isMixed : {false, true}) {
    CommunicationProblem problem = largeGradients(1, isMixed);
    CommunicationPlan plan =
        withFewerCollectives(problem, manyMessages(problem), 1000,
                             [](const CommunicationPlan &) { return true; });
    int32_t classes = 0;
    for (const BucketingTensor &tensor : problem.bucketing.tensors)
      classes = std::max(classes, tensor.shareClass + 1);
    EXPECT_EQ(classes > 1, isMixed);
    ASSERT_EQ(plan.buckets.size(), static_cast<size_t>(classes));
    for (const PlannedBucket &bucket : plan.buckets) {
      EXPECT_EQ(bucket.parts, 1);
      EXPECT_EQ(bucket.form, FormKind::Flat);
    }
  }
}

// Whatever is taken and whatever not: all gradients, each once, in buckets of
// one class, and never more messages.
TEST(FewerCollectivesTest, OffersSoundPlansOfNoMoreMessages) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    CommunicationProblem problem = largeGradients(seed, seed % 2);
    std::vector<int64_t> counts(problem.gradients.size(), 1000);
    RandomPlanning random(seed);
    CommunicationPlan now = manyMessages(problem);
    int64_t offered = 0, taken = 0;
    CommunicationPlan plan = withFewerCollectives(
        problem, now, 300, [&](const CommunicationPlan &offer) {
          ++offered;
          EXPECT_EQ(
              resolveBuckets(offer.buckets, problem.bucketing, counts).error,
              "");
          EXPECT_LE(partsOf(offer), partsOf(now));
          EXPECT_NE(offer.buckets, now.buckets);
          if (random.below(4) > 0)
            return false;
          ++taken;
          now = offer;
          return true;
        });
    EXPECT_EQ(plan.buckets, now.buckets);
    EXPECT_GT(taken, 0);
    EXPECT_LE(offered, 300);
  }
}

TEST(FewerCollectivesTest, AsksNoMoreThanSoOften) {
  CommunicationProblem problem = largeGradients(2, false);
  CommunicationPlan start = manyMessages(problem);
  for (int64_t tries : {0, 1, 2, 50, 100000}) {
    int64_t asked = 0;
    CommunicationPlan plan = withFewerCollectives(
        problem, start, tries, [&](const CommunicationPlan &) {
          ++asked;
          return false;
        });
    EXPECT_EQ(plan.buckets, start.buckets);
    // Three changes of all buckets, and of each but the last that merges.
    EXPECT_EQ(asked, std::min<int64_t>(tries, 3 + 3 * 100 - 1));
  }
}

} // namespace
