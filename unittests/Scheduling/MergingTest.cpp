//===- MergingTest.cpp - Merging against its paper and brute force --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Published expectations on measured profiles; the exact program against all
// partitions of small problems; how far the greedy rule is from it.
//
//===----------------------------------------------------------------------===//
#include "bagua/Scheduling/Search/Merging.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <cmath>
#include <fstream>
#include <map>
#include <random>
#include <regex>

using namespace bagua;
using testing::DoubleNear;
using testing::ElementsAre;

namespace {

MessageCost affine(double startupNs, double nsPerByte) {
  return [=](int64_t bytes, int32_t) {
    return startupNs + nsPerByte * static_cast<double>(bytes);
  };
}

//===----------------------------------------------------------------------===//
// Published figures
//===----------------------------------------------------------------------===//

/// The layers of a PipeDream profile from its last line to its first, as the
/// reference took them; those without parameters folded into the next that has
/// some.
BucketingProblem readProfile(const std::string &name) {
  std::ifstream file(std::string(BAGUA_TEST_PROFILES) + "/pipedream_" + name +
                     ".graph.txt");
  std::vector<std::pair<double, int64_t>> nodes;
  std::regex node(
      "^node\\d+ -- (.*) -- forward_compute_time=.*, "
      "backward_compute_time=([0-9.]+), .*parameter_size=([0-9.]+)");
  std::string line;
  while (std::getline(file, line)) {
    std::smatch match;
    if (std::regex_search(line, match, node) &&
        match[1].str().rfind("Input", 0) != 0)
      nodes.emplace_back(std::stod(match[2]),
                         static_cast<int64_t>(std::stod(match[3])));
  }
  BucketingProblem problem;
  double now = 0;
  for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) {
    now += it->first * 1e6;
    if (it->second > 0)
      problem.tensors.push_back({it->second, std::llround(now), 0});
  }
  return problem;
}

struct Expected {
  const char *profile;
  double alphaS, betaSPerByte;
  size_t tensors, groups;
  double backwardMs, wfbpMs, mgwfbpMs, singleMs;
};

// End of the last communication on 16 ranks, with alpha and beta as measured by
// the method's authors (reference tables beside Shi et al., INFOCOM 2019).
constexpr double kEthernet[] = {9.08e-4, 7.40e-10};
constexpr double kInfiniBand[] = {2.36e-4, 4.06e-10};
const Expected kExpected[] = {
    {"vgg16", kEthernet[0], kEthernet[1], 16, 10, 431.8, 702.3, 697.7, 842.3},
    {"vgg16", kInfiniBand[0], kInfiniBand[1], 16, 12, 431.8, 527.3, 526.4,
     656.8},
    {"resnet50", kEthernet[0], kEthernet[1], 107, 64, 260.9, 265.6, 261.8,
     337.5},
    {"resnet50", kInfiniBand[0], kInfiniBand[1], 107, 103, 260.9, 261.2, 261.2,
     302.7},
    {"resnet101", kEthernet[0], kEthernet[1], 209, 59, 213.8, 322.8, 223.0,
     346.6},
    {"resnet101", kInfiniBand[0], kInfiniBand[1], 209, 148, 213.8, 215.8, 215.3,
     286.4},
    {"gnmt", kEthernet[0], kEthernet[1], 11, 2, 55.9, 584.8, 576.6, 630.3},
    {"gnmt", kInfiniBand[0], kInfiniBand[1], 11, 3, 55.9, 318.5, 316.6, 370.8},
};

class PublishedTest : public testing::TestWithParam<Expected> {};

TEST_P(PublishedTest, MgWfbpOnMeasuredProfiles) {
  const Expected &expected = GetParam();
  BucketingProblem problem = readProfile(expected.profile);
  MessageCost cost = affine(expected.alphaS * 1e9, expected.betaSPerByte * 1e9);
  ASSERT_EQ(problem.tensors.size(), expected.tensors);
  EXPECT_THAT(static_cast<double>(problem.tensors.back().readyNs) * 1e-6,
              DoubleNear(expected.backwardMs, 0.06));
  auto endMs = [&](const std::vector<Bucket> &buckets) {
    return communicationEndNs(problem, buckets, cost) * 1e-6;
  };
  EXPECT_THAT(endMs(bucketizeAlone(problem)),
              DoubleNear(expected.wfbpMs, 0.06));
  EXPECT_THAT(endMs(bucketizeBySize(problem, INT64_MAX, INT64_MAX)),
              DoubleNear(expected.singleMs, 0.06));
  std::vector<Bucket> merged =
      mergeGreedily(problem, cost, expected.alphaS * 1e9);
  EXPECT_EQ(merged.size(), expected.groups);
  EXPECT_THAT(endMs(merged), DoubleNear(expected.mgwfbpMs, 0.06));
  EXPECT_LE(endMs(mergeOptimally(problem, cost)), endMs(merged) + 1e-9);
}

INSTANTIATE_TEST_SUITE_P(All, PublishedTest, testing::ValuesIn(kExpected),
                         [](const auto &info) {
                           return std::string(info.param.profile) +
                                  (info.index % 2 ? "InfiniBand" : "Ethernet");
                         });

//===----------------------------------------------------------------------===//
// Brute force
//===----------------------------------------------------------------------===//

BucketingProblem randomProblem(std::mt19937 &random, int classes) {
  BucketingProblem problem;
  int64_t ready = 0;
  for (unsigned i = 1 + random() % 9; i > 0; --i) {
    ready += random() % 60;
    problem.tensors.push_back({static_cast<int64_t>(random() % 50), ready,
                               static_cast<int32_t>(random() % classes)});
  }
  return problem;
}

/// Any ascending price: steps, as measured tables have.
MessageCost randomCost(std::mt19937 &random) {
  auto steps = std::make_shared<std::vector<double>>();
  double price = 0;
  for (int i = 0; i < 500; ++i)
    steps->push_back(price += random() % 4 ? 0 : double(random() % 30));
  return [steps](int64_t bytes, int32_t) { return (*steps)[bytes]; };
}

/// All ways to cut the order into neighbours of one class.
double bestByBruteForce(const BucketingProblem &problem,
                        const MessageCost &cost) {
  size_t count = problem.tensors.size();
  double best = INFINITY;
  for (unsigned cuts = 0; cuts < 1U << (count - 1); ++cuts) {
    std::vector<Bucket> buckets(1);
    for (size_t i = 0; i < count; ++i) {
      if (i > 0 && (cuts >> (i - 1) & 1))
        buckets.emplace_back();
      buckets.back().push_back(static_cast<int32_t>(i));
    }
    if (!problem.verify(buckets))
      best = std::min(best, communicationEndNs(problem, buckets, cost));
  }
  return best;
}

TEST(MergingTest, TheDynamicProgramIsExact) {
  std::mt19937 random(1);
  double worst = 1;
  for (int trial = 0; trial < 10000; ++trial) {
    BucketingProblem problem = randomProblem(random, 1 + trial % 2);
    double startup = random() % 40;
    MessageCost cost = trial % 4 < 2 ? affine(startup, 1) : randomCost(random);
    double best = bestByBruteForce(problem, cost);
    std::vector<Bucket> optimal = mergeOptimally(problem, cost);
    ASSERT_EQ(problem.verify(optimal), std::nullopt);
    ASSERT_DOUBLE_EQ(communicationEndNs(problem, optimal, cost), best)
        << "trial " << trial;
    std::vector<Bucket> greedy = mergeGreedily(problem, cost, startup);
    ASSERT_EQ(problem.verify(greedy), std::nullopt);
    if (trial % 4 < 2 && best > 0)
      worst = std::max(worst, communicationEndNs(problem, greedy, cost) / best);
  }
  RecordProperty("worst_ratio_of_the_greedy_rule", std::to_string(worst));
  std::cout << "greedy / optimal, affine prices: at most " << worst << "\n";
  EXPECT_LT(worst, 1.5);
}

TEST(MergingTest, WaitsForWhatIsWorthAStartup) {
  BucketingProblem problem;
  problem.tensors = {{10, 100, 0}, {10, 104, 0}, {10, 200, 0}};
  // The second is ready 4 ns after the first: less than a start-up of 5.
  EXPECT_THAT(mergeGreedily(problem, affine(5, 1), 5),
              ElementsAre(ElementsAre(0, 1), ElementsAre(2)));
  EXPECT_THAT(mergeGreedily(problem, affine(3, 1), 3),
              ElementsAre(ElementsAre(0), ElementsAre(1), ElementsAre(2)));
  // Another class never shares.
  problem.tensors[1].shareClass = 1;
  EXPECT_EQ(mergeGreedily(problem, affine(5, 1), 5).size(), 3U);
  EXPECT_EQ(mergeOptimally(problem, affine(500, 1)).size(), 3U);
}

} // namespace
