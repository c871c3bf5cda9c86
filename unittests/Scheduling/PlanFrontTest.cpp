//===- PlanFrontTest.cpp - Kept plans against a list of all ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A front answers as a look through all plans that were added does. Costs and
// times are drawn from few values, so that both are often equal.
//
//===----------------------------------------------------------------------===//
#include "bagua/Scheduling/Search/PlanFront.h"

#include "gtest/gtest.h"

#include <random>
#include <vector>

using namespace bagua;

namespace {
constexpr int64_t kMostCost = 6;
constexpr int kMostTime = 6;

struct Added {
  int64_t cost;
  int time;
};

/// -1: none is within the cost.
int fastestOf(const std::vector<Added> &all, int64_t cost) {
  int time = -1;
  for (const Added &added : all)
    if (added.cost <= cost && (time < 0 || added.time < time))
      time = added.time;
  return time;
}

/// -1: none is within the time.
int64_t cheapestOf(const std::vector<Added> &all, int time) {
  int64_t cost = -1;
  for (const Added &added : all)
    if (added.time <= time && (cost < 0 || added.cost < cost))
      cost = added.cost;
  return cost;
}

void expectAlike(const PlanFront &front, const std::vector<Added> &all) {
  for (int64_t cost = 0; cost <= kMostCost; ++cost)
    if (int time = fastestOf(all, cost); time >= 0) {
      EXPECT_EQ(front.fastestWithin(cost).stepNs, time);
    }
  for (int time = 0; time <= kMostTime; ++time) {
    int64_t cost = cheapestOf(all, time);
    if (cost < 0)
      continue;
    PlanFront::Entry entry = front.cheapestWithin(time);
    EXPECT_EQ(entry.cost, cost);
    EXPECT_EQ(entry.rated.stepNs, fastestOf(all, cost));
  }
}
} // namespace

TEST(PlanFrontTest, AsALookThroughAllPlans) {
  std::mt19937 random(1);
  for (int run = 0; run < 1000; ++run) {
    PlanFront front;
    std::vector<Added> all;
    for (int i = 0; i < 12; ++i) {
      Added added{static_cast<int64_t>(random() % (kMostCost + 1)),
                  static_cast<int>(random() % (kMostTime + 1))};
      front.add(added.cost, {}, added.time);
      all.push_back(added);
      expectAlike(front, all);
    }
  }
}

TEST(PlanFrontTest, TheFirstOfEqualPlansStays) {
  PlanFront front;
  CommunicationPlan first, second;
  second.isUpdatedByRuntime = !first.isUpdatedByRuntime;
  front.add(1, first, 10);
  front.add(1, second, 10);
  EXPECT_EQ(front.fastestWithin(1).plan.isUpdatedByRuntime,
            first.isUpdatedByRuntime);
}
