//===- PlanSearchTest.cpp - Which candidate is taken in the end -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ratings are made without IR; whether a candidate compiles, and what its step
// takes then, comes after.
//
//===----------------------------------------------------------------------===//
#include "bagua/Scheduling/Search/PlanSearch.h"

#include <gtest/gtest.h>

#include <map>

using namespace bagua;

namespace {
using Times = std::map<size_t, double>;

/// Of candidates 0, 1 (presets) and 2 (the plan): what they are measured at;
/// those that are not there can't be compiled.
std::optional<size_t> pick(const std::vector<PlanCandidate> &presets,
                           const PlanCandidate &found, const Times &measured) {
  return pickCandidate(presets, found,
                       [&](size_t index) -> std::optional<double> {
                         auto time = measured.find(index);
                         if (time == measured.end())
                           return std::nullopt;
                         return time->second;
                       });
}

/// All of four collectives.
std::optional<size_t> pick(double a, double b, double found,
                           const Times &measured) {
  return pick({{"a", a, 4}, {"b", b, 4}}, {"plan", found, 4}, measured);
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

// A plan of fewer collectives may be slower than the best preset, by what a
// prediction can't tell; one that is rated like a preset is that preset.
TEST(PlanSearchTest, FewerCollectivesAreWorthWhatNobodyCanTell) {
  std::vector<PlanCandidate> presets = {{"a", 1001, 3}, {"b", 1000, 9}};
  EXPECT_EQ(pick(presets, {"plan", 1001.5, 2}, {{1, 1000}, {2, 1001.5}}), 2);
  EXPECT_EQ(pick(presets, {"plan", 1001.5, 2}, {{1, 1000}, {2, 1002.5}}), 1);
  EXPECT_EQ(pick(presets, {"plan", 1001, 3}, {{0, 1001}, {1, 1000}}), 0);
  EXPECT_EQ(pick(presets, {"plan", 1001, 3}, {{0, 1003}, {1, 1000}}), 1);
  // The faster one is taken of two that have as many collectives.
  EXPECT_EQ(pick(presets, {"plan", 999, 9}, {{1, 1000}, {2, 1000.5}}), 1);
  // The preset is as fast, but has more collectives.
  EXPECT_EQ(pick(presets, {"plan", 1001, 2}, {{0, 1001}, {1, 1000}, {2, 1001}}),
            2);
}

// A refusal has no time, above all not the best one.
TEST(PlanSearchTest, WhatCannotBeCompiledIsACandidateLess) {
  EXPECT_EQ(pick(10, 9, 8, {{0, 10}, {1, 9}}), 1);
  EXPECT_EQ(pick(10, 9, 8, {{0, 10}, {2, 8}}), 2);
  EXPECT_EQ(pick(10, 9, 9, {{0, 10}}), 0);
  EXPECT_EQ(pick(10, 9, 8, {{2, 8}}), 2);
  EXPECT_EQ(pick(10, 9, 8, {}), std::nullopt);
}
