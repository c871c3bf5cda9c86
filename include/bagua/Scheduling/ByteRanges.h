//===- ByteRanges.h - Numbered ranges of bytes, by where they lie ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What shares memory: the ranges of a class, which grows by taking others'.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_SCHEDULING_BYTERANGES_H
#define BAGUA_SCHEDULING_BYTERANGES_H

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

  /// Moves all. O(1).
  void shift(int64_t delta) { origin += delta; }
  /// Takes all of another's. O(log n) for each of the smaller one's.
  void take(ByteRanges &&other);

  /// Whether a range that has bytes in [begin, end) passes the test. Looks at
  /// those, and at few others: O(log n) for each power of two that is the size
  /// of one.
  bool any(int64_t begin, int64_t end,
           const std::function<bool(int32_t)> &test) const;

  /// The bytes from the first to the last of any.
  int64_t begin() const { return origin + first; }
  int64_t end() const { return origin + last; }

private:
  struct Range {
    int64_t bytes;
    int32_t number;
  };
  /// By the logarithm of the size, then by where it begins: ranges of about one
  /// size that reach into some bytes begin near them.
  std::map<int, std::multimap<int64_t, Range>> bySize;
  size_t count = 0;
  int64_t origin = 0, first = 0, last = 0;
};

} // namespace bagua

#endif // BAGUA_SCHEDULING_BYTERANGES_H
