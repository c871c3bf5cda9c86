//===- CheckValues.cpp - The values that --check fills tensors with -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A counter-based hash of shifts, adds and xors, which every vector unit has.
// Elements form blocks with a seed each, so that 32-bit counters suffice within
// a block.
//
//===----------------------------------------------------------------------===//
#include "CheckValues.h"

#include "bagua/Support/Fingerprint.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

namespace bagua::replay {
namespace {

constexpr int64_t kBlock = 2048;

uint64_t mix(uint64_t x) {
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

/// Jenkins' integer hash.
inline uint32_t hash(uint32_t a) {
  a = (a + 0x7ed55d16) + (a << 12);
  a = (a ^ 0xc761c23c) ^ (a >> 19);
  a = (a + 0x165667b1) + (a << 5);
  a = (a + 0xd3a2646c) ^ (a << 9);
  a = (a + 0xfd7046c5) + (a << 3);
  return (a ^ 0xb55a4f09) ^ (a >> 16);
}

template <typename To, typename From> To bitCast(From from) {
  static_assert(sizeof(To) == sizeof(From), "as many bits");
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}

//===----------------------------------------------------------------------===//
// Element types
//===----------------------------------------------------------------------===//

// For each element type: how it is stored, in which type sums are kept, how a
// value is made from 32 or 64 random bits, and the conversions between both
// types.

struct F32 {
  using Stored = uint32_t;
  using Sum = float;
  static Stored make(uint32_t h, uint32_t) {
    return (h & 0x807fffff) | (125 + (h >> 23 & 3)) << 23;
  }
  static Sum widen(Stored s) { return bitCast<float>(s); }
  static Stored narrow(Sum v) { return bitCast<uint32_t>(v); }
  static double number(Stored s) { return widen(s); }
};

struct BF16 {
  using Stored = uint16_t;
  using Sum = float;
  static Stored make(uint32_t h, uint32_t) {
    return static_cast<uint16_t>((h & 0x807f) | (125 + (h >> 20 & 3)) << 7);
  }
  static Sum widen(Stored s) { return bitCast<float>(uint32_t{s} << 16); }
  static Stored narrow(Sum v) {
    if (std::isnan(v))
      return 0x7fc0;
    uint32_t bits = bitCast<uint32_t>(v);
    return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
  }
  static double number(Stored s) { return widen(s); }
};

struct F16 {
  using Stored = uint16_t;
  using Sum = float;
  static Stored make(uint32_t h, uint32_t) {
    return static_cast<uint16_t>((h & 0x83ff) | (13 + (h >> 20 & 3)) << 10);
  }
  /// For values that make() makes, and 0: no subnormals, no infinities.
  static Sum widen(Stored s) {
    uint32_t magnitude =
        s == 0 ? 0 : (uint32_t(s & 0x7fff) << 13) + (112u << 23);
    return bitCast<float>(uint32_t(s & 0x8000) << 16 | magnitude);
  }
  static Stored narrow(Sum v) {
    uint32_t sign = bitCast<uint32_t>(v) >> 16 & 0x8000;
    float size = std::fabs(v);
    if (std::isnan(v))
      return 0x7e00;
    if (std::isinf(v))
      return static_cast<uint16_t>(sign | 0x7c00);
    if (size < 0x1p-14f) // subnormals are multiples of 2^-24
      return static_cast<uint16_t>(
          sign | static_cast<uint32_t>(std::nearbyint(size * 0x1p24f)));
    int exponent;
    float mantissa = std::frexp(size, &exponent); // in [0.5, 1)
    auto bits = static_cast<uint32_t>(std::nearbyint(mantissa * 2048)) - 1024;
    uint32_t result = bits + (static_cast<uint32_t>(exponent + 14) << 10);
    return static_cast<uint16_t>(sign | std::min(result, 0x7c00u));
  }
  static double number(Stored s) {
    int exponent = s >> 10 & 31;
    double mantissa = s & 0x3ff;
    if (exponent == 31)
      return mantissa != 0 ? std::nan("") : s & 0x8000 ? -HUGE_VAL : HUGE_VAL;
    double size = exponent == 0 ? std::ldexp(mantissa, -24)
                                : std::ldexp(mantissa + 1024, exponent - 25);
    return s & 0x8000 ? -size : size;
  }
};

struct F64 {
  using Stored = uint64_t;
  using Sum = double;
  static Stored make(uint32_t h, uint32_t l) {
    uint64_t bits = uint64_t{h} << 32 | l;
    return (bits & 0x800fffffffffffff) | uint64_t{1021 + (h >> 20 & 3)} << 52;
  }
  static Sum widen(Stored s) { return bitCast<double>(s); }
  static Stored narrow(Sum v) { return bitCast<uint64_t>(v); }
  static double number(Stored s) { return widen(s); }
};

/// Sums wrap, so they are unsigned.
template <typename Signed> struct Integer {
  using Stored = std::make_unsigned_t<Signed>;
  using Sum = Stored;
  static Stored make(uint32_t h, uint32_t l) {
    return static_cast<Stored>(sizeof(Signed) == 8 ? uint64_t{h} << 32 | l : h);
  }
  static Sum widen(Stored s) { return s; }
  static Stored narrow(Sum v) { return v; }
  static double number(Stored s) {
    return static_cast<double>(static_cast<Signed>(s));
  }
  static bool less(Sum a, Sum b) {
    return static_cast<Signed>(a) < static_cast<Signed>(b);
  }
};

template <typename T> bool lessThan(typename T::Sum a, typename T::Sum b) {
  if constexpr (std::is_integral_v<typename T::Sum>)
    return T::less(a, b);
  else
    return a < b;
}

template <typename Work> void withType(DataType type, Work work) {
  switch (type) {
  case DataType::Float32:
    return work(F32());
  case DataType::Float16:
    return work(F16());
  case DataType::BFloat16:
    return work(BF16());
  case DataType::Float64:
    return work(F64());
  case DataType::Int8:
    return work(Integer<int8_t>());
  case DataType::Int32:
    return work(Integer<int32_t>());
  case DataType::Int64:
    return work(Integer<int64_t>());
  }
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// Splits [begin, begin + count) at multiples of kBlock.
template <typename Work>
void forEachBlock(int64_t begin, int64_t count, Work work) {
  int64_t end = begin + count;
  for (int64_t at = begin; at < end;) {
    int64_t next = std::min(end, (at / kBlock + 1) * kBlock);
    work(at, next - at);
    at = next;
  }
}

/// Makes the elements of one block.
template <typename T>
void generateBlock(uint64_t key, int64_t begin, int64_t count,
                   typename T::Stored *output) {
  if (key == kZeros) {
    std::fill_n(output, count, 0);
    return;
  }
  uint64_t seed =
      mix(key + static_cast<uint64_t>(begin / kBlock) * 0x9e3779b97f4a7c15);
  auto high = static_cast<uint32_t>(seed >> 32);
  auto low = static_cast<uint32_t>(seed);
  auto first = static_cast<uint32_t>(begin % kBlock);
  for (uint32_t i = 0; i < static_cast<uint32_t>(count); ++i) {
    uint32_t h = hash((first + i) ^ high);
    uint32_t l = 0;
    if constexpr (sizeof(typename T::Stored) == 8)
      l = hash((first + i) ^ low);
    output[i] = T::make(h, l);
  }
}

template <typename T>
void reduceBlock(ReduceKind kind, const std::vector<uint64_t> &keys,
                 int64_t begin, int64_t count, typename T::Stored *output) {
  typename T::Stored term[kBlock];
  typename T::Sum sum[kBlock];
  for (size_t k = 0; k < keys.size(); ++k) {
    generateBlock<T>(keys[k], begin, count, term);
    for (int64_t i = 0; i < count; ++i) {
      typename T::Sum value = T::widen(term[i]);
      if (k == 0)
        sum[i] = value;
      else if (kind == ReduceKind::Min)
        sum[i] = lessThan<T>(value, sum[i]) ? value : sum[i];
      else if (kind == ReduceKind::Max)
        sum[i] = lessThan<T>(sum[i], value) ? value : sum[i];
      else
        sum[i] = static_cast<typename T::Sum>(sum[i] + value);
    }
  }
  auto size = static_cast<typename T::Sum>(keys.size());
  for (int64_t i = 0; i < count; ++i)
    output[i] = T::narrow(kind == ReduceKind::Mean ? sum[i] / size : sum[i]);
}

} // namespace

uint64_t valueKey(const std::string &tensor, int64_t rank, int64_t step) {
  uint64_t name = fingerprintBytes(tensor.data(), tensor.size());
  return mix(mix(name + static_cast<uint64_t>(rank)) +
             static_cast<uint64_t>(step));
}

void generateValues(DataType type, uint64_t key, int64_t begin, int64_t count,
                    std::byte *output) {
  withType(type, [&](auto t) {
    using T = decltype(t);
    forEachBlock(begin, count, [&](int64_t at, int64_t size) {
      typename T::Stored block[kBlock];
      generateBlock<T>(key, at, size, block);
      std::memcpy(output + (at - begin) * sizeof block[0], block,
                  size * sizeof block[0]);
    });
  });
}

void expectReduced(DataType type, ReduceKind kind,
                   const std::vector<uint64_t> &keys, int64_t begin,
                   int64_t count, std::byte *output) {
  withType(type, [&](auto t) {
    using T = decltype(t);
    forEachBlock(begin, count, [&](int64_t at, int64_t size) {
      typename T::Stored block[kBlock];
      reduceBlock<T>(kind, keys, at, size, block);
      std::memcpy(output + (at - begin) * sizeof block[0], block,
                  size * sizeof block[0]);
    });
  });
}

double valueAt(DataType type, const std::byte *data, int64_t index) {
  double result = 0;
  withType(type, [&](auto t) {
    using T = decltype(t);
    typename T::Stored stored;
    std::memcpy(&stored, data + index * sizeof stored, sizeof stored);
    result = T::number(stored);
  });
  return result;
}

template <typename Number>
void readValues(DataType type, const std::byte *data, int64_t count,
                Number *values) {
  withType(type, [&](auto t) {
    using T = decltype(t);
    for (int64_t i = 0; i < count; ++i) {
      typename T::Stored stored;
      std::memcpy(&stored, data + i * sizeof stored, sizeof stored);
      values[i] = static_cast<Number>(T::number(stored));
    }
  });
}
template void readValues(DataType, const std::byte *, int64_t, float *);
template void readValues(DataType, const std::byte *, int64_t, double *);

template <typename Number>
void writeValues(DataType type, const Number *values, int64_t count,
                 std::byte *output) {
  withType(type, [&](auto t) {
    using T = decltype(t);
    for (int64_t i = 0; i < count; ++i) {
      auto stored = T::narrow(static_cast<typename T::Sum>(values[i]));
      std::memcpy(output + i * sizeof stored, &stored, sizeof stored);
    }
  });
}
template void writeValues(DataType, const float *, int64_t, std::byte *);
template void writeValues(DataType, const double *, int64_t, std::byte *);

void compareValues(DataType type, const std::byte *expected,
                   const std::byte *found, int64_t begin, int64_t count,
                   Comparison &result) {
  int64_t bytes = dataTypeBytes(type);
  if (std::memcmp(expected, found, count * bytes) == 0)
    return;
  for (int64_t i = 0; i < count; ++i) {
    if (std::memcmp(expected + i * bytes, found + i * bytes, bytes) == 0)
      continue;
    double error =
        std::fabs(valueAt(type, expected, i) - valueAt(type, found, i));
    // A NaN counts as an infinite error.
    if (error != error)
      error = std::numeric_limits<double>::infinity();
    bool isWrong = result.tolerance == 0 || !(error <= result.tolerance);
    if (isWrong && result.firstDifference < 0)
      result.firstDifference = begin + i;
    result.maxError = std::max(result.maxError, error);
  }
}

uint64_t digest(const std::byte *data, size_t size) {
  // Four independent lanes, so that multiplications overlap.
  uint64_t lanes[4] = {1, 2, 3, 4};
  size_t at = 0;
  for (; at + 32 <= size; at += 32) {
    uint64_t words[4];
    std::memcpy(words, data + at, 32);
    for (int i = 0; i < 4; ++i) {
      lanes[i] = (lanes[i] ^ words[i]) * 0x9e3779b97f4a7c15;
      lanes[i] ^= lanes[i] >> 29;
    }
  }
  uint64_t tail = fingerprintBytes(data + at, size - at);
  return mix(mix(mix(mix(lanes[0]) ^ lanes[1]) ^ lanes[2]) ^ lanes[3]) ^ tail;
}

} // namespace bagua::replay
