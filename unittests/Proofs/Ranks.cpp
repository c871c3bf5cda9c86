//===- Ranks.cpp - Ranks, groups and parts, written down once more --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// By enumeration, not by strides.
//
//===----------------------------------------------------------------------===//
#include "Ranks.h"

#include "Random.h"

using namespace bagua;
using namespace bagua::proofs;

Ranks::Ranks(ClusterOp cluster) {
  for (mlir::Attribute attribute : cluster.getAxes()) {
    auto axis = llvm::cast<AxisAttr>(attribute);
    names.push_back(axis.getName().str());
    sizes.push_back(axis.getSize());
  }
  std::vector<int64_t> at(sizes.size(), 0);
  while (true) {
    coordinates.push_back(at);
    size_t axis = sizes.size();
    while (axis > 0 && ++at[axis - 1] == sizes[axis - 1])
      at[--axis] = 0;
    if (axis == 0)
      return;
  }
}

std::vector<bool> Ranks::maskOf(AxesAttr axes) const {
  std::vector<bool> mask;
  for (const std::string &name : names)
    mask.push_back(axes && axes.contains(name));
  return mask;
}

std::vector<size_t> Ranks::groupOf(size_t rank, AxesAttr axes) const {
  std::vector<bool> mask = maskOf(axes);
  std::vector<size_t> group;
  for (size_t other = 0; other < count(); ++other) {
    bool isMember = true;
    for (size_t axis = 0; axis < names.size(); ++axis)
      isMember &=
          mask[axis] || coordinates[rank][axis] == coordinates[other][axis];
    if (isMember)
      group.push_back(other);
  }
  return group;
}

size_t Ranks::positionOf(size_t rank, AxesAttr axes) const {
  std::vector<size_t> group = groupOf(rank, axes);
  return llvm::find(group, rank) - group.begin();
}

uint64_t Ranks::coordinateKey(size_t rank, AxesAttr axes) const {
  std::vector<bool> mask = maskOf(axes);
  uint64_t key = 1;
  for (size_t axis = 0; axis < names.size(); ++axis)
    if (mask[axis])
      key = mix(key, coordinates[rank][axis] + 17 * axis);
  return key;
}

std::pair<int64_t, int64_t> Ranks::part(int64_t count, int64_t parts,
                                        int64_t index) {
  int64_t size = (count + parts - 1) / parts;
  return {std::min(count, index * size), std::min(count, (index + 1) * size)};
}

std::optional<std::pair<int64_t, int64_t>>
Ranks::rangeOf(size_t rank, int64_t count, LayoutAttr layout) const {
  std::pair<int64_t, int64_t> range{0, count};
  if (!layout)
    return range;
  for (const LayoutEntry &entry : layout.getEntries()) {
    if (entry.kind == LayoutEntry::Kind::Server)
      continue;
    size_t position = positionOf(rank, entry.getAxes());
    if (entry.kind == LayoutEntry::Kind::Root) {
      if (position != 0)
        return std::nullopt;
      continue;
    }
    auto [begin, end] =
        part(range.second - range.first,
             static_cast<int64_t>(groupOf(rank, entry.getAxes()).size()),
             static_cast<int64_t>(position));
    range = {range.first + begin, range.first + end};
  }
  return range;
}

std::vector<std::pair<int64_t, int64_t>>
Ranks::allParts(int64_t count, LayoutAttr layout) const {
  std::vector<std::pair<int64_t, int64_t>> parts{{0, count}};
  for (const LayoutEntry &entry : layout.getEntries()) {
    auto cuts = static_cast<int64_t>(groupOf(0, entry.getAxes()).size());
    std::vector<std::pair<int64_t, int64_t>> finer;
    for (auto [from, to] : parts)
      for (int64_t index = 0; index < cuts; ++index) {
        auto [begin, end] = part(to - from, cuts, index);
        finer.push_back({from + begin, from + end});
      }
    parts = finer;
  }
  return parts;
}
