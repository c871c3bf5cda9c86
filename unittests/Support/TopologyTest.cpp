//===- TopologyTest.cpp - Ranks, axes and groups --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every rank of small clusters against counting coordinates up by hand.
//
//===----------------------------------------------------------------------===//
#include "bagua/Support/Topology.h"

#include "gtest/gtest.h"

#include <algorithm>

namespace bagua {
namespace {

using Indices = std::vector<int64_t>;

const std::vector<Indices> &shapes() {
  static const std::vector<Indices> all = {{},     {1},       {5},
                                           {2, 4}, {3, 1, 2}, {2, 3, 2, 2}};
  return all;
}

/// All coordinates in the order of ranks: an odometer, last axis fastest.
std::vector<Indices> countUp(const Indices &sizes) {
  std::vector<Indices> all = {Indices(sizes.size(), 0)};
  while (true) {
    Indices next = all.back();
    size_t axis = sizes.size();
    while (axis > 0 && ++next[axis - 1] == sizes[axis - 1])
      next[--axis] = 0;
    if (axis == 0)
      return all;
    all.push_back(next);
  }
}

/// Every subset of the axes, in cluster order.
std::vector<Indices> subsetsOfAxes(size_t axes) {
  std::vector<Indices> all;
  for (size_t mask = 0; mask < (size_t{1} << axes); ++mask) {
    Indices subset;
    for (size_t axis = 0; axis < axes; ++axis)
      if (mask >> axis & 1)
        subset.push_back(axis);
    all.push_back(subset);
  }
  return all;
}

TEST(TopologyTest, ranks_count_coordinates_last_axis_fastest) {
  for (const Indices &shape : shapes()) {
    Topology topology(shape);
    std::vector<Indices> expected = countUp(shape);
    ASSERT_EQ(topology.workers(), static_cast<int64_t>(expected.size()));
    for (int64_t rank = 0; rank < topology.workers(); ++rank)
      EXPECT_EQ(topology.coordinates(rank), expected[rank]);
  }
}

// A group is the ranks that agree on every other axis, in the order of ranks,
// which is the lexicographic order of their coordinates on the group's axes.
TEST(TopologyTest, groups_agree_with_filtering_all_ranks) {
  for (const Indices &shape : shapes()) {
    Topology topology(shape);
    std::vector<Indices> places = countUp(shape);
    for (const Indices &axes : subsetsOfAxes(shape.size())) {
      auto isFree = [&](size_t axis) {
        return std::count(axes.begin(), axes.end(), axis) > 0;
      };
      for (int64_t rank = 0; rank < topology.workers(); ++rank) {
        Indices expected;
        for (int64_t other = 0; other < topology.workers(); ++other) {
          bool same = true;
          for (size_t axis = 0; axis < shape.size(); ++axis)
            same &= isFree(axis) || places[other][axis] == places[rank][axis];
          if (same)
            expected.push_back(other);
        }
        EXPECT_EQ(topology.groupOf(rank, axes), expected);
        EXPECT_EQ(topology.groupSize(axes),
                  static_cast<int64_t>(expected.size()));
        int64_t position = topology.positionInGroup(rank, axes);
        ASSERT_LT(position, static_cast<int64_t>(expected.size()));
        EXPECT_EQ(expected[position], rank);
      }
    }
  }
}

// Dedicated servers are ranks after the workers and belong to no group.
TEST(TopologyTest, servers_follow_the_workers) {
  Topology topology({2, 4}, /*dedicatedServers=*/3);
  EXPECT_EQ(topology.axisCount(), 2);
  EXPECT_EQ(topology.axisSize(1), 4);
  EXPECT_EQ(topology.workers(), 8);
  EXPECT_EQ(topology.servers(), 3);
  EXPECT_EQ(topology.ranks(), 11);
  EXPECT_EQ(topology.coordinates(5), (Indices{1, 1}));
  EXPECT_EQ(topology.groupOf(5, {0}), (Indices{1, 5}));
}

} // namespace
} // namespace bagua
