//===- Parts.h - The part of a tensor that a rank holds -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one definition of how N elements are cut over n ranks, for the compiler,
// the plan and every communicator.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_SUPPORT_PARTS_H
#define BAGUA_SUPPORT_PARTS_H

#include <algorithm>
#include <cassert>
#include <cstdint>

namespace bagua {

/// A half-open range of elements [begin, end) in row-major order.
struct ElementRange {
  int64_t begin = 0;
  int64_t end = 0;

  int64_t size() const { return end - begin; }
  friend bool operator==(ElementRange a, ElementRange b) {
    return a.begin == b.begin && a.end == b.end;
  }
};

/// ceil(count / parts): the elements of every full part. A striped bucket pads
/// each of its tensors to a multiple of this.
inline int64_t partSize(int64_t count, int64_t parts) {
  assert(count >= 0 && parts > 0);
  return count / parts + (count % parts != 0);
}

/// Part `index` of `count` elements over `parts` ranks:
/// [min(N, r*c), min(N, (r+1)*c)) with c = ceil(N/n). The last parts may be
/// short or empty.
inline ElementRange partRange(int64_t count, int64_t parts, int64_t index) {
  assert(index >= 0 && index < parts);
  int64_t size = partSize(count, parts);
  return {std::min(count, index * size), std::min(count, (index + 1) * size)};
}

/// The alignment of values in an arena: a cache line, which also suits any
/// vector register.
inline constexpr int64_t kArenaAlignment = 64;

/// Bytes that a value of `bytes` takes in an arena.
inline int64_t arenaAligned(int64_t bytes) {
  return (bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
}

} // namespace bagua

#endif // BAGUA_SUPPORT_PARTS_H
