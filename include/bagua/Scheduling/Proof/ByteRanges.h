//===- ByteRanges.h - Numbered ranges of bytes, by where they lie ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ranges of values that share memory; a set of ranges grows by taking
// another one's.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_SCHEDULING_PROOF_BYTERANGES_H
#define BAGUA_SCHEDULING_PROOF_BYTERANGES_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>

namespace bagua {

class ByteRanges {
public:
  ByteRanges() = default;
  /// One range, [0, bytes).
  ByteRanges(int32_t number, int64_t bytes);

  /// Moves all ranges. O(1).
  void shift(int64_t delta) { origin += delta; }
  /// Takes all ranges of `other`. O(log n) for each range of the smaller set.
  void take(ByteRanges &&other);

  /// Whether any range that has bytes in [begin, end) passes the test. Looks at
  /// these ranges and at few others: O(log n) for each power of two that is the
  /// size of a range.
  bool any(int64_t begin, int64_t end,
           const std::function<bool(int32_t)> &test) const;

  /// The first byte of any range, and the end of the last one.
  int64_t begin() const { return origin + first; }
  int64_t end() const { return origin + last; }

private:
  struct Range {
    int64_t bytes;
    int32_t number;
  };
  /// The ranges by the logarithm of their size, then by where they begin:
  /// ranges of about one size that reach into some bytes begin near them.
  std::map<int, std::multimap<int64_t, Range>> bySize;
  size_t count = 0;
  int64_t origin = 0, first = 0, last = 0;
};

} // namespace bagua

#endif // BAGUA_SCHEDULING_PROOF_BYTERANGES_H
