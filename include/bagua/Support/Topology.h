//===- Topology.h - Ranks, axes and groups --------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The coordinates of each rank on the cluster's axes, and the group of ranks
// over some of these axes. The compiler, the plan's loader and the
// communicators all use this class, so that they cannot disagree.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_SUPPORT_TOPOLOGY_H
#define BAGUA_SUPPORT_TOPOLOGY_H

#include <cstdint>
#include <vector>

namespace bagua {

/// Sizes of the cluster's axes, outermost first. A worker's rank counts its
/// coordinates lexicographically, the last axis fastest: with {node=2, gpu=4},
/// rank 5 is (1, 1). Dedicated servers are ranks after the workers.
class Topology {
public:
  explicit Topology(std::vector<int64_t> axisSizes,
                    int64_t dedicatedServers = 0);

  int64_t axisCount() const { return static_cast<int64_t>(sizes.size()); }
  int64_t axisSize(int64_t axis) const { return sizes[axis]; }
  /// Product of the axis sizes.
  int64_t workers() const { return workerCount; }
  int64_t servers() const { return serverCount; }
  int64_t ranks() const { return workerCount + serverCount; }

  /// Coordinates of a worker, one per axis.
  std::vector<int64_t> coordinates(int64_t rank) const;

  /// Number of ranks in every group over `axes` (indices in cluster order).
  int64_t groupSize(const std::vector<int64_t> &axes) const;

  /// The workers that share with `rank` all coordinates outside `axes`, in
  /// lexicographic order of their coordinates on `axes`; `rank` is among them.
  std::vector<int64_t> groupOf(int64_t rank,
                               const std::vector<int64_t> &axes) const;

  /// The position of `rank` in groupOf(rank, axes).
  int64_t positionInGroup(int64_t rank, const std::vector<int64_t> &axes) const;

private:
  std::vector<int64_t> sizes;
  int64_t workerCount;
  int64_t serverCount;
};

} // namespace bagua

#endif // BAGUA_SUPPORT_TOPOLOGY_H
