//===- PlanSearchTest.cpp - Which candidate is taken in the end -----------===//
//
// Ratings are made without IR; whether a candidate compiles, and what its step
// takes then, comes after.
//
//===----------------------------------------------------------------------===//
#include "bagua/Scheduling/PlanSearch.h"

#include <gtest/gtest.h>

#include <map>

using namespace bagua;

namespace {
/// Of candidates 0, 1 (presets) and 2 (the plan): what they are measured at;
/// those that are not there can't be compiled.
std::optional<size_t> pick(double a, double b, double found,
                           const std::map<size_t, double> &measured) {
  return pickCandidate({{"a", a}, {"b", b}}, {"plan", found},
                       [&](size_t index) -> std::optional<double> {
                         auto time = measured.find(index);
                         if (time == measured.end())
                           return std::nullopt;
                         return time->second;
                       });
}
} // namespace

TEST(PlanSearchTest, TheBestRatingIsTaken) {
  EXPECT_EQ(pick(10, 9, 8, {{0, 10}, {1, 9}, {2, 8}}), 2);
  EXPECT_EQ(pick(10, 9, 9, {{0, 10}, {1, 9}, {2, 9}}), 1);
}

// What the passes make of a plan counts, not what the search thought of it.
TEST(PlanSearchTest, APlanThatIsMeasuredSlowerIsNotTaken) {
  EXPECT_EQ(pick(10, 9, 8, {{0, 10}, {1, 9}, {2, 9.5}}), 1);
}

// A refusal has no time, above all not the best one.
TEST(PlanSearchTest, WhatCannotBeCompiledIsACandidateLess) {
  EXPECT_EQ(pick(10, 9, 8, {{0, 10}, {1, 9}}), 1);
  EXPECT_EQ(pick(10, 9, 8, {{0, 10}, {2, 8}}), 2);
  EXPECT_EQ(pick(10, 9, 9, {{0, 10}}), 0);
  EXPECT_EQ(pick(10, 9, 8, {{2, 8}}), 2);
  EXPECT_EQ(pick(10, 9, 8, {}), std::nullopt);
}
