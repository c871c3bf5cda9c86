//===- CommonAxes.h - Two meshes over the same ranks ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ranks are numbered row-major over the axes of a mesh, so two meshes with the
// same number of ranks describe the same ranks by different axes. For example,
// data 4 by model 2 lies on 2 nodes of 4 GPUs as [2, 2, 2], where data consists
// of the nodes and of half of the GPUs' axis.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_SUPPORT_COMMONAXES_H
#define BAGUA_SUPPORT_COMMONAXES_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace bagua {

/// An axis that is a part, or all, of one axis of each mesh.
struct CommonAxis {
  int64_t size = 1;
  size_t ofFirst = 0;
  size_t ofSecond = 0;
};

namespace detail {
/// The rest of a mesh's axes, from the outermost in.
struct RestOfAxes {
  const std::vector<int64_t> &sizes;
  size_t at = 0;
  int64_t ofThis = sizes.front();

  bool isEmpty() const { return at == sizes.size(); }
  size_t last() const { return std::min(at, sizes.size() - 1); }
  void take(int64_t size) {
    ofThis /= size;
    if (ofThis == 1 && !isEmpty() && ++at < sizes.size())
      ofThis = sizes[at];
  }
};
} // namespace detail

/// The fewest axes, outermost first, such that each axis of both meshes
/// consists of neighbouring ones of them. Nothing if there are none, as for [3,
/// 2] and [2, 3], or if the numbers of ranks differ. Each mesh has at least one
/// axis, and sizes are at least 1.
inline std::optional<std::vector<CommonAxis>>
commonAxes(const std::vector<int64_t> &first,
           const std::vector<int64_t> &second) {
  detail::RestOfAxes a{first}, b{second};
  std::vector<CommonAxis> common;
  while (!a.isEmpty() || !b.isEmpty()) {
    int64_t size = std::min(a.ofThis, b.ofThis);
    // Behind the last axis of one mesh the other may have axes of size 1.
    bool fits = a.isEmpty() || b.isEmpty()
                    ? a.ofThis == b.ofThis
                    : a.ofThis % size == 0 && b.ofThis % size == 0;
    if (!fits)
      return std::nullopt;
    common.push_back({size, a.last(), b.last()});
    a.take(size);
    b.take(size);
  }
  return common;
}

} // namespace bagua

#endif // BAGUA_SUPPORT_COMMONAXES_H
