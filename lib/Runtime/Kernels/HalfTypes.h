//===- HalfTypes.h - float16 and bfloat16 from and to float32 -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Conversions on bit patterns, rounding to nearest even. Branches are on values
// alone, so that a compiler can vectorise a loop of them. NaNs stay NaNs.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_KERNELS_HALFTYPES_H
#define BAGUA_LIB_RUNTIME_KERNELS_HALFTYPES_H

#include <cstdint>
#include <cstring>

namespace bagua::runtime {

inline float floatFromBits(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

inline uint32_t bitsOfFloat(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

inline float floatFromBFloat16(uint16_t half) {
  return floatFromBits(uint32_t{half} << 16);
}

inline uint16_t bfloat16FromFloat(float value) {
  uint32_t bits = bitsOfFloat(value);
  if ((bits & 0x7fffffff) > 0x7f800000)
    return static_cast<uint16_t>(bits >> 16 | 0x40); // quiet
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

inline float floatFromFloat16(uint16_t half) {
  uint32_t sign = uint32_t{half & 0x8000u} << 16;
  uint32_t magnitude = half & 0x7fffu;
  if (magnitude >= 0x7c00) // infinity, NaN
    return floatFromBits(sign | 0x7f800000 | (magnitude & 0x3ff) << 13);
  // 2^112 moves the exponent's bias from 15 to 127 and normalises subnormals.
  float scaled = floatFromBits(magnitude << 13) * floatFromBits(0x77800000);
  return floatFromBits(sign | bitsOfFloat(scaled));
}

inline uint16_t float16FromFloat(float value) {
  uint32_t bits = bitsOfFloat(value);
  auto sign = static_cast<uint16_t>(bits >> 16 & 0x8000);
  uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000)
    return sign | 0x7e00;
  if (magnitude >= 0x47800000) // 2^16, beyond every rounding
    return sign | 0x7c00;
  if (magnitude < 0x38800000) {
    // Below 2^-14: adding 0.5 leaves multiples of 2^-24 in the mantissa.
    float rounded = floatFromBits(magnitude) + 0.5f;
    return static_cast<uint16_t>(sign | (bitsOfFloat(rounded) - 0x3f000000));
  }
  uint32_t rounded = magnitude + 0xfff + (magnitude >> 13 & 1);
  return static_cast<uint16_t>(sign | (rounded - 0x38000000) >> 13);
}

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_KERNELS_HALFTYPES_H
