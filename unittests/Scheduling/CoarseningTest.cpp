//===- CoarseningTest.cpp - Clusters against all partitions ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Of all ways to cut a small program into runs, those that keep the rules;
// coarsen must find one with the fewest clusters.
//
//===----------------------------------------------------------------------===//
#include "bagua/Scheduling/Search/Coarsening.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <random>

using namespace bagua;
using testing::ElementsAre;

namespace {
/// Whether neighbours i - 1 and i may be in one cluster.
bool canJoin(const std::vector<CoarseningOp> &ops, size_t i) {
  return ops[i].mergeClass >= 0 && ops[i].mergeClass == ops[i - 1].mergeClass &&
         !ops[i].startsCluster && !ops[i - 1].endsCluster;
}

/// The fewest clusters, by trying every set of cuts.
int32_t countFewest(const std::vector<CoarseningOp> &ops) {
  if (ops.empty())
    return 0;
  int32_t fewest = static_cast<int32_t>(ops.size());
  for (uint32_t cuts = 0; cuts < 1u << (ops.size() - 1); ++cuts) {
    bool isValid = true;
    for (size_t i = 1; i < ops.size(); ++i)
      isValid &= (cuts >> (i - 1) & 1) || canJoin(ops, i);
    if (isValid)
      fewest = std::min(fewest, 1 + __builtin_popcount(cuts));
  }
  return fewest;
}
} // namespace

TEST(CoarseningTest, KeepsTheRulesWithFewestClusters) {
  std::mt19937_64 random(1);
  for (int trial = 0; trial < 5000; ++trial) {
    std::vector<CoarseningOp> ops;
    for (size_t i = random() % 10; i > 0; --i)
      ops.push_back({static_cast<int32_t>(random() % 3) - 1, random() % 4 == 0,
                     random() % 4 == 0});
    std::vector<int32_t> clusters = coarsen(ops);
    ASSERT_EQ(clusters.size(), ops.size());
    for (size_t i = 0; i < ops.size(); ++i) {
      int32_t previous = i ? clusters[i - 1] : -1;
      bool joins = clusters[i] == previous;
      ASSERT_TRUE(joins || clusters[i] == previous + 1) << "trial " << trial;
      if (joins) {
        ASSERT_TRUE(canJoin(ops, i)) << "trial " << trial;
      }
    }
    ASSERT_EQ(ops.empty() ? 0 : clusters.back() + 1, countFewest(ops))
        << "trial " << trial;
  }
}

// forward, forward | collective | backward ends | backward
TEST(CoarseningTest, CutsAtCommunication) {
  std::vector<CoarseningOp> ops = {{0, false, false},
                                   {0, false, false},
                                   {-1, false, false},
                                   {1, true, false},
                                   {1, false, false}};
  EXPECT_THAT(coarsen(ops), ElementsAre(0, 0, 1, 2, 3));
}
