//===- ByteRanges.cpp - Numbered ranges of bytes, by where they lie -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ranges sorted by size, then by place.
//
//===----------------------------------------------------------------------===//
#include "bagua/Scheduling/Proof/ByteRanges.h"

#include <algorithm>
#include <cmath>
#include <utility>

using namespace bagua;

ByteRanges::ByteRanges(int32_t number, int64_t bytes) : count(1), last(bytes) {
  if (bytes > 0)
    bySize[std::ilogb(static_cast<double>(bytes))].emplace(
        0, Range{bytes, number});
}

void ByteRanges::take(ByteRanges &&other) {
  if (count < other.count)
    std::swap(*this, other);
  int64_t delta = other.origin - origin;
  for (auto &[size, ranges] : other.bySize) {
    std::multimap<int64_t, Range> &own = bySize[size];
    for (const auto &[at, range] : ranges)
      own.emplace(at + delta, range);
  }
  count += other.count;
  first = std::min(first, other.first + delta);
  last = std::max(last, other.last + delta);
}

bool ByteRanges::any(int64_t begin, int64_t end,
                     const std::function<bool(int32_t)> &test) const {
  for (const auto &[size, ranges] : bySize) {
    // Ranges of this size are shorter than `reach`, so a range that begins
    // earlier than that before `begin` does not reach it.
    int64_t reach = int64_t{1} << (size + 1);
    auto to = ranges.lower_bound(end - origin);
    for (auto it = ranges.upper_bound(begin - origin - reach); it != to; ++it)
      if (it->first + it->second.bytes > begin - origin &&
          test(it->second.number))
        return true;
  }
  return false;
}
