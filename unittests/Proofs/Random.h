//===- Random.h - Repeatable random choices -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014), so that a seed gives the same
// problems with every standard library.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_UNITTESTS_PROOFS_RANDOM_H
#define BAGUA_UNITTESTS_PROOFS_RANDOM_H

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace bagua::proofs {

/// The mixing function of SplitMix64: a bijection without visible structure.
inline uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

inline uint64_t mix(uint64_t a, uint64_t b) { return mix(mix(a) ^ b); }

class Random {
public:
  explicit Random(uint64_t seed) : state(mix(seed)) {}

  uint64_t next() { return mix(state++); }
  /// In [0, bound).
  size_t below(size_t bound) { return next() % bound; }
  /// In [low, high].
  int64_t between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(below(high - low + 1));
  }
  bool chance(unsigned percent) { return below(100) < percent; }
  template <typename T> const T &pick(const std::vector<T> &from) {
    return from[below(from.size())];
  }
  template <typename T> void shuffle(std::vector<T> &items) {
    for (size_t i = items.size(); i > 1; --i)
      std::swap(items[i - 1], items[below(i)]);
  }

private:
  uint64_t state;
};

} // namespace bagua::proofs

#endif // BAGUA_UNITTESTS_PROOFS_RANDOM_H
