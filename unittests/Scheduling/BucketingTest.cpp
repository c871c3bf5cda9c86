//===- BucketingTest.cpp - Properties of the bucketing rules --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// On random problems: every solution is one, and each rule's promise holds of
// every bucket.
//
//===----------------------------------------------------------------------===//
#include "bagua/Scheduling/Search/Bucketing.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <map>
#include <random>

using namespace bagua;
using testing::ElementsAre;

namespace {
BucketingProblem makeProblem(std::mt19937_64 &random) {
  BucketingProblem problem;
  int64_t ready = 0;
  for (size_t i = random() % 15; i > 0; --i) {
    ready += random() % 40;
    problem.tensors.push_back({static_cast<int64_t>(random() % 30), ready,
                               static_cast<int32_t>(random() % 2)});
  }
  return problem;
}

int64_t bytesOf(const BucketingProblem &problem, const Bucket &bucket) {
  int64_t bytes = 0;
  for (int32_t index : bucket)
    bytes += problem.tensors[index].bytes;
  return bytes;
}

/// A solution; tensors ascend in buckets, and buckets by their last tensor.
void expectOrdered(const BucketingProblem &problem,
                   const std::vector<Bucket> &buckets) {
  ASSERT_EQ(problem.verify(buckets), std::nullopt);
  for (size_t i = 0; i < buckets.size(); ++i) {
    EXPECT_TRUE(std::is_sorted(buckets[i].begin(), buckets[i].end()));
    if (i > 0) {
      EXPECT_LT(buckets[i - 1].back(), buckets[i].back());
    }
  }
}
} // namespace

TEST(BucketingTest, AloneIsOneTensorABucket) {
  std::mt19937_64 random(1);
  for (int trial = 0; trial < 1000; ++trial) {
    BucketingProblem problem = makeProblem(random);
    std::vector<Bucket> buckets = bucketizeAlone(problem);
    expectOrdered(problem, buckets);
    EXPECT_EQ(buckets.size(), problem.tensors.size());
  }
}

// A bucket closes as soon as its cap is reached: without its last tensor none
// does, and only the last of a class may stay below.
TEST(BucketingTest, BySizeClosesAtTheCap) {
  std::mt19937_64 random(2);
  for (int trial = 0; trial < 5000; ++trial) {
    BucketingProblem problem = makeProblem(random);
    int64_t first = random() % 50, cap = random() % 80;
    std::vector<Bucket> buckets = bucketizeBySize(problem, first, cap);
    expectOrdered(problem, buckets);
    std::map<int32_t, std::vector<Bucket>> byClass;
    for (const Bucket &bucket : buckets)
      byClass[problem.tensors[bucket[0]].shareClass].push_back(bucket);
    for (auto &[shareClass, own] : byClass) {
      int32_t next = -1;
      for (size_t i = 0; i < own.size(); ++i) {
        int64_t limit = i == 0 ? first : cap;
        int64_t before =
            bytesOf(problem, own[i]) - problem.tensors[own[i].back()].bytes;
        if (own[i].size() > 1) {
          EXPECT_LT(before, limit) << "trial " << trial;
        }
        if (i + 1 < own.size()) {
          EXPECT_GE(bytesOf(problem, own[i]), limit) << "trial " << trial;
        }
        // Of its class, in order of readiness without a gap.
        for (int32_t index : own[i]) {
          for (int32_t skipped = next + 1; skipped < index; ++skipped)
            EXPECT_NE(problem.tensors[skipped].shareClass, shareClass);
          next = index;
        }
      }
    }
  }
}

// With messages that take no time: all of a bucket go at one tick and fit the
// buffer; what could have gone with the bucket before it did.
TEST(BucketingTest, ByCycleSendsWhatATickFinds) {
  std::mt19937_64 random(3);
  for (int trial = 0; trial < 5000; ++trial) {
    BucketingProblem problem = makeProblem(random);
    int64_t buffer = random() % 60, cycle = 1 + random() % 100;
    std::vector<Bucket> buckets = bucketizeByCycle(
        problem, buffer, cycle, [](int64_t, int32_t) { return 0.0; });
    expectOrdered(problem, buckets);
    auto tickOf = [&](int32_t index) {
      return (problem.tensors[index].readyNs + cycle - 1) / cycle;
    };
    std::map<int32_t, Bucket> previous;
    for (const Bucket &bucket : buckets) {
      for (int32_t index : bucket)
        EXPECT_EQ(tickOf(index), tickOf(bucket[0]));
      if (bucket.size() > 1) {
        EXPECT_LE(bytesOf(problem, bucket), buffer);
      }
      Bucket &last = previous[problem.tensors[bucket[0]].shareClass];
      if (!last.empty() && tickOf(last[0]) == tickOf(bucket[0])) {
        EXPECT_GT(bytesOf(problem, last) + problem.tensors[bucket[0]].bytes,
                  buffer)
            << "trial " << trial;
      }
      last = bucket;
    }
  }
}

// What gathers while a message is under way goes together: the first tensor
// takes 35 ns from tick 10 on, so the next tick that finds anything is 50.
TEST(BucketingTest, ByCycleFusesABacklog) {
  BucketingProblem problem;
  for (int64_t i = 0; i < 6; ++i)
    problem.tensors.push_back({10, 10 * (i + 1), 0});
  auto cost = [](int64_t bytes, int32_t) {
    return 25 + static_cast<double>(bytes);
  };
  EXPECT_THAT(bucketizeByCycle(problem, 1000, 10, cost),
              ElementsAre(Bucket{0}, Bucket{1, 2, 3, 4}, Bucket{5}));
  // A buffer takes no more of it than fits.
  EXPECT_THAT(bucketizeByCycle(problem, 30, 10, cost),
              ElementsAre(Bucket{0}, Bucket{1, 2, 3}, Bucket{4}, Bucket{5}));
}

// Li et al., VLDB 2020: a small first bucket, then larger ones.
TEST(BucketingTest, DdpStartsSmall) {
  BucketingProblem problem;
  for (int64_t i = 0; i < 6; ++i)
    problem.tensors.push_back({10, i, 0});
  EXPECT_THAT(bucketizeBySize(problem, 10, 25),
              ElementsAre(Bucket{0}, Bucket{1, 2, 3}, Bucket{4, 5}));
}

TEST(BucketingTest, ChecksItsInput) {
  BucketingProblem problem{{{1, 5, 0}, {1, 4, 0}}};
  EXPECT_EQ(problem.check(), "expected tensors in order of readiness, found "
                             "tensor 1 ready before the one before it");
  problem = {{{-1, 0, 0}}};
  EXPECT_EQ(problem.check(),
            "expected bytes of at least 0 for tensor 0, found -1");
}

TEST(BucketingTest, VerifiesSolutions) {
  BucketingProblem problem{{{1, 0, 0}, {1, 0, 1}}};
  EXPECT_EQ(problem.verify({{0}}),
            "expected tensor 1 in one bucket, found it in 0");
  EXPECT_EQ(problem.verify({{0}, {1}, {0}}),
            "expected tensor 0 in one bucket, found it in 2");
  EXPECT_EQ(problem.verify({{0, 1}}), "tensors 0 and 1 can't share a bucket");
  EXPECT_EQ(problem.verify({{0}, {}, {1}}),
            "expected buckets with at least one tensor");
  EXPECT_EQ(problem.verify({{0}, {2}}), "expected tensors below 2, found 2");
}
