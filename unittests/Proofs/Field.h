//===- Field.h - Exact arithmetic for the oracles -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Integers modulo the prime 2^61 - 1: sums, products and means have no
// rounding, so values that differ for some input differ for nearly every one.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_UNITTESTS_PROOFS_FIELD_H
#define BAGUA_UNITTESTS_PROOFS_FIELD_H

#include <cmath>
#include <cstdint>

namespace bagua::proofs {

using Number = uint64_t;
inline constexpr Number kPrime = (uint64_t(1) << 61) - 1;

inline Number add(Number a, Number b) {
  Number sum = a + b;
  return sum >= kPrime ? sum - kPrime : sum;
}
inline Number negate(Number a) { return a == 0 ? 0 : kPrime - a; }
inline Number multiply(Number a, Number b) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<Number>(static_cast<Wide>(a) * b % kPrime);
}
inline Number power(Number base, uint64_t exponent) {
  Number result = 1;
  for (; exponent; exponent >>= 1, base = multiply(base, base))
    if (exponent & 1)
      result = multiply(result, base);
  return result;
}
inline Number inverse(Number a) { return power(a, kPrime - 2); }
/// Any 64 bits as a number of the field.
inline Number reduceBits(uint64_t bits) { return bits % kPrime; }

/// A float's value, exactly: its mantissa times a power of two.
inline Number numberOf(float value) {
  int exponent = 0;
  double mantissa = std::frexp(static_cast<double>(value), &exponent);
  auto integer = static_cast<int64_t>(std::ldexp(mantissa, 24));
  exponent -= 24;
  Number magnitude = static_cast<Number>(integer < 0 ? -integer : integer);
  Number scale = power(2, static_cast<uint64_t>(std::abs(exponent)));
  Number number = multiply(magnitude, exponent < 0 ? inverse(scale) : scale);
  return integer < 0 ? negate(number) : number;
}

} // namespace bagua::proofs

#endif // BAGUA_UNITTESTS_PROOFS_FIELD_H
