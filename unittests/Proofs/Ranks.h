//===- Ranks.h - Ranks, groups and parts, written down once more ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The oracle's own idea of who is in a group and which elements a layout gives
// a rank, from the definitions of docs/Rationale.md.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_UNITTESTS_PROOFS_RANKS_H
#define BAGUA_UNITTESTS_PROOFS_RANKS_H

#include "bagua/Dialect/Bagua/Bagua.h"

#include <string>
#include <vector>

namespace bagua::proofs {

/// The workers of a cluster.
class Ranks {
public:
  explicit Ranks(ClusterOp cluster);

  size_t count() const { return coordinates.size(); }
  /// Members of the rank's group over `axes`, in lexicographic order.
  std::vector<size_t> groupOf(size_t rank, AxesAttr axes) const;
  /// The rank's place in that group.
  size_t positionOf(size_t rank, AxesAttr axes) const;
  /// A number that ranks share which agree on the coordinates of `axes`.
  uint64_t coordinateKey(size_t rank, AxesAttr axes) const;

  /// Elements of `count` that a rank stores in a layout, as a range; nothing
  /// where it stores none. Servers' entries keep the whole.
  std::optional<std::pair<int64_t, int64_t>> rangeOf(size_t rank, int64_t count,
                                                     LayoutAttr layout) const;
  /// The ranges of all parts of a layout of shards, in order, and the elements
  /// to which each is padded.
  std::vector<std::pair<int64_t, int64_t>> allParts(int64_t count,
                                                    LayoutAttr layout) const;

  static std::pair<int64_t, int64_t> part(int64_t count, int64_t parts,
                                          int64_t index);

private:
  std::vector<bool> maskOf(AxesAttr axes) const;

  std::vector<std::string> names;
  std::vector<int64_t> sizes;
  std::vector<std::vector<int64_t>> coordinates;
};

} // namespace bagua::proofs

#endif // BAGUA_UNITTESTS_PROOFS_RANKS_H
