//===- CircularWaitTest.cpp - Circles against transitive closure ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Thousands of small random graphs, with and without circles; and the byte
// ranges of many users against a walk over all of them.
//
//===----------------------------------------------------------------------===//
#include "bagua/Scheduling/Proof/CircularWait.h"
#include "bagua/Scheduling/Proof/ByteUsers.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <random>
#include <set>

using namespace bagua;
using testing::ElementsAre;
using testing::IsEmpty;

namespace {
bool hasCircle(const std::vector<std::vector<int32_t>> &waits) {
  size_t count = waits.size();
  std::vector<std::vector<bool>> reaches(count, std::vector<bool>(count));
  for (size_t i = 0; i < count; ++i)
    for (int32_t j : waits[i])
      reaches[i][j] = true;
  for (size_t k = 0; k < count; ++k)
    for (size_t i = 0; i < count; ++i)
      for (size_t j = 0; j < count; ++j)
        if (reaches[i][k] && reaches[k][j])
          reaches[i][j] = true;
  for (size_t i = 0; i < count; ++i)
    if (reaches[i][i])
      return true;
  return false;
}

TEST(CircularWait, TwoTasksThatWaitForEachOther) {
  EXPECT_THAT(findCircularWait({{}, {2}, {0, 1}}), ElementsAre(1, 2));
}

TEST(CircularWait, ATaskThatWaitsForItself) {
  EXPECT_THAT(findCircularWait({{}, {1}}), ElementsAre(1));
}

TEST(CircularWait, OneWayIsNone) {
  EXPECT_THAT(findCircularWait({{1, 2}, {2}, {}}), IsEmpty());
}

TEST(CircularWait, FindsOneExactlyWhereThereIsOne) {
  std::mt19937_64 random(1);
  int circles = 0;
  for (int round = 0; round < 5000; ++round) {
    size_t count = 1 + random() % 8;
    std::vector<std::vector<int32_t>> waits(count);
    for (size_t edges = random() % 10; edges-- > 0;)
      waits[random() % count].push_back(static_cast<int32_t>(random() % count));
    std::vector<int32_t> circle = findCircularWait(waits);
    ASSERT_EQ(!circle.empty(), hasCircle(waits)) << "round " << round;
    circles += !circle.empty();
    ASSERT_EQ(std::set<int32_t>(circle.begin(), circle.end()).size(),
              circle.size());
    for (size_t i = 0; i < circle.size(); ++i)
      ASSERT_THAT(waits[circle[i]],
                  testing::Contains(circle[(i + 1) % circle.size()]));
  }
  EXPECT_GT(circles, 1000);
  EXPECT_LT(circles, 4000);
}

TEST(ByteUsers, FindsWhatAWalkOverAllFinds) {
  struct Use {
    int32_t memory;
    int64_t begin, end;
    int32_t user;
  };
  std::mt19937_64 random(1);
  for (int round = 0; round < 500; ++round) {
    ByteUsers users;
    std::vector<Use> all;
    for (int i = 0; i < 20; ++i) {
      auto begin = static_cast<int64_t>(random() % 30);
      Use use{static_cast<int32_t>(random() % 2), begin,
              begin + static_cast<int64_t>(random() % 10),
              static_cast<int32_t>(random() % 8)};
      all.push_back(use);
      users.add(use.memory, use.begin, use.end, use.user);
      auto memory = static_cast<int32_t>(random() % 3);
      auto from = static_cast<int64_t>(random() % 30);
      int64_t to = from + 1 + static_cast<int64_t>(random() % 10);
      std::set<int32_t> expected;
      for (const Use &other : all)
        if (other.memory == memory &&
            std::max(other.begin, from) < std::min(other.end, to))
          expected.insert(other.user);
      ASSERT_EQ(users.find(memory, from, to),
                std::vector<int32_t>(expected.begin(), expected.end()));
    }
  }
}
} // namespace
