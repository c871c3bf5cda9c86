//===- HappensBeforeTest.cpp - Vector clocks against transitive closure ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Thousands of small random problems; the reference closes the order by Floyd
// and Warshall and compares all pairs of accesses.
//
//===----------------------------------------------------------------------===//
#include "bagua/Scheduling/Proof/HappensBefore.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <random>

using namespace bagua;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

namespace {
using Conflicts = std::vector<std::pair<int32_t, int32_t>>;
using Matrix = std::vector<std::vector<bool>>;

/// before[i][j]: i ends before j starts.
Matrix closeOrder(const OrderingProblem &problem) {
  size_t count = problem.streams.size();
  Matrix before(count, std::vector<bool>(count, false));
  for (size_t j = 0; j < count; ++j) {
    for (int32_t i : problem.dependencies[j])
      before[i][j] = true;
    for (size_t i = 0; i < j; ++i)
      if (problem.streams[i] == problem.streams[j])
        before[i][j] = true;
  }
  for (size_t k = 0; k < count; ++k)
    for (size_t i = 0; i < count; ++i)
      for (size_t j = 0; j < count; ++j)
        if (before[i][k] && before[k][j])
          before[i][j] = true;
  return before;
}

Conflicts findAllConflicts(const OrderingProblem &problem) {
  Matrix before = closeOrder(problem);
  Conflicts conflicts;
  for (size_t j = 0; j < problem.accesses.size(); ++j)
    for (size_t i = 0; i < j; ++i) {
      const MemoryAccess &a = problem.accesses[i], &b = problem.accesses[j];
      bool overlaps = a.memory == b.memory &&
                      std::max(a.begin, b.begin) < std::min(a.end, b.end);
      if (overlaps && (a.writes || b.writes) && a.task != b.task &&
          !before[a.task][b.task] && !before[b.task][a.task])
        conflicts.emplace_back(i, j);
    }
  return conflicts;
}

OrderingProblem makeProblem(std::mt19937_64 &random) {
  auto below = [&](int64_t bound) {
    return static_cast<int32_t>(random() % bound);
  };
  OrderingProblem problem;
  problem.streamCount = 1 + below(4);
  int32_t tasks = below(12);
  for (int32_t task = 0; task < tasks; ++task) {
    problem.streams.push_back(below(problem.streamCount));
    auto &dependencies = problem.dependencies.emplace_back();
    while (task > 0 && below(3) == 0)
      dependencies.push_back(below(task));
  }
  for (int32_t access = 0; tasks > 0 && access < 15; ++access) {
    int64_t begin = below(20);
    problem.accesses.push_back(
        {below(tasks), below(2), begin, begin + below(8), below(2) == 0});
  }
  return problem;
}

/// Two tasks on two streams that write the same bytes.
OrderingProblem makeRace() {
  OrderingProblem problem;
  problem.streamCount = 2;
  problem.streams = {0, 1};
  problem.dependencies = {{}, {}};
  problem.accesses = {{0, 0, 0, 4, true}, {1, 0, 3, 8, true}};
  return problem;
}
} // namespace

TEST(HappensBeforeTest, AgreesWithTheTransitiveClosure) {
  std::mt19937_64 random(1);
  for (int trial = 0; trial < 5000; ++trial) {
    OrderingProblem problem = makeProblem(random);
    ASSERT_EQ(problem.check(), std::nullopt);
    Matrix before = closeOrder(problem);
    HappensBefore happensBefore(problem);
    for (size_t i = 0; i < before.size(); ++i)
      for (size_t j = 0; j < before.size(); ++j)
        ASSERT_EQ(happensBefore(i, j), before[i][j])
            << "trial " << trial << ": " << i << " before " << j;
  }
}

TEST(HappensBeforeTest, FindsAllConflictsInOrder) {
  std::mt19937_64 random(2);
  for (int trial = 0; trial < 5000; ++trial) {
    OrderingProblem problem = makeProblem(random);
    ASSERT_EQ(findUnorderedConflicts(problem, SIZE_MAX),
              findAllConflicts(problem))
        << "trial " << trial;
  }
}

TEST(HappensBeforeTest, StopsAtTheLimit) {
  std::mt19937_64 random(3);
  for (int trial = 0; trial < 1000; ++trial) {
    OrderingProblem problem = makeProblem(random);
    Conflicts all = findAllConflicts(problem);
    all.resize(std::min<size_t>(all.size(), 2));
    ASSERT_EQ(findUnorderedConflicts(problem, 2), all) << "trial " << trial;
  }
}

TEST(HappensBeforeTest, ADependencyOrNoOverlapIsNoConflict) {
  OrderingProblem race = makeRace();
  EXPECT_THAT(findUnorderedConflicts(race, 10), ElementsAre(Pair(0, 1)));
  race.dependencies[1] = {0};
  EXPECT_THAT(findUnorderedConflicts(race, 10), IsEmpty());
  race = makeRace();
  race.accesses[1].begin = 4; // half-open ranges
  EXPECT_THAT(findUnorderedConflicts(race, 10), IsEmpty());
  race = makeRace();
  race.accesses[0].writes = race.accesses[1].writes = false;
  EXPECT_THAT(findUnorderedConflicts(race, 10), IsEmpty());
}

TEST(HappensBeforeTest, ChecksItsInput) {
  OrderingProblem problem = makeRace();
  problem.dependencies[0] = {1};
  EXPECT_EQ(problem.check(), "task 0 waits for task 1, which is not before it");
  problem = makeRace();
  problem.streams[1] = 2;
  EXPECT_EQ(problem.check(), "expected a stream below 2 for task 1, found 2");
  problem = makeRace();
  problem.dependencies.pop_back();
  EXPECT_EQ(problem.check(), "expected one list of dependencies a task");
  problem = makeRace();
  problem.accesses[0].task = 2;
  EXPECT_EQ(problem.check(), "expected accesses of tasks that exist to ranges");
}
