//===- Topology.cpp - Ranks, axes and groups ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arithmetic on mixed-radix ranks. Nothing is stored per rank: a group is
// enumerated when asked for, in time proportional to its size.
//
//===----------------------------------------------------------------------===//
#include "bagua/Support/Topology.h"

#include <algorithm>
#include <cassert>
#include <functional>
#include <numeric>
#include <utility>

namespace bagua {

Topology::Topology(std::vector<int64_t> axisSizes, int64_t dedicatedServers)
    : sizes(std::move(axisSizes)),
      workerCount(std::accumulate(sizes.begin(), sizes.end(), int64_t{1},
                                  std::multiplies<int64_t>())),
      serverCount(dedicatedServers) {
  assert(std::all_of(sizes.begin(), sizes.end(),
                     [](int64_t size) { return size > 0; }) &&
         "an axis has at least one coordinate");
  assert(serverCount >= 0);
}

std::vector<int64_t> Topology::coordinates(int64_t rank) const {
  assert(rank >= 0 && rank < workerCount && "servers have no coordinates");
  std::vector<int64_t> result(sizes.size());
  for (size_t axis = sizes.size(); axis-- > 0;) {
    result[axis] = rank % sizes[axis];
    rank /= sizes[axis];
  }
  return result;
}

int64_t Topology::groupSize(const std::vector<int64_t> &axes) const {
  int64_t size = 1;
  for (int64_t axis : axes)
    size *= axisSize(axis);
  return size;
}

std::vector<int64_t> Topology::groupOf(int64_t rank,
                                       const std::vector<int64_t> &axes) const {
  assert(std::is_sorted(axes.begin(), axes.end()) &&
         std::adjacent_find(axes.begin(), axes.end()) == axes.end() &&
         "axes are distinct and in cluster order");
  std::vector<int64_t> strides(sizes.size(), 1);
  for (size_t axis = sizes.size(); axis-- > 1;)
    strides[axis - 1] = strides[axis] * sizes[axis];

  // The member with coordinate 0 on every axis of the group, then each axis
  // multiplies the list: the last one varies fastest.
  std::vector<int64_t> place = coordinates(rank);
  int64_t first = rank;
  for (int64_t axis : axes)
    first -= place[axis] * strides[axis];
  std::vector<int64_t> members = {first};
  members.reserve(groupSize(axes));
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    size_t inner = members.size();
    for (int64_t step = 1; step < axisSize(*axis); ++step)
      for (size_t i = 0; i < inner; ++i)
        members.push_back(members[i] + step * strides[*axis]);
  }
  return members;
}

int64_t Topology::positionInGroup(int64_t rank,
                                  const std::vector<int64_t> &axes) const {
  std::vector<int64_t> place = coordinates(rank);
  int64_t position = 0;
  for (int64_t axis : axes)
    position = position * axisSize(axis) + place[axis];
  return position;
}

} // namespace bagua
