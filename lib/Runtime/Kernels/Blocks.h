//===- Blocks.h - Elements of any type, block by block --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Inputs become float32 (or float64) in arrays that stay in the first level of
// cache, the loops over those vectorise, and results are rounded on the way
// out. So aliasing and element types are dealt with in one place.
//
//   inComputeType(type, [&](auto zero) {
//     Block<decltype(zero)> x;
//     forEachBlock(count, [&](int64_t begin, int64_t size) {
//       load(type, input + begin * bytes, size, x.at);
//       ...
//       store(type, x.at, size, output + begin * bytes);
//     });
//   });
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_KERNELS_BLOCKS_H
#define BAGUA_LIB_RUNTIME_KERNELS_BLOCKS_H

#include "Kernels/HalfTypes.h"

#include "bagua/Support/DataType.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace bagua::runtime {

inline constexpr int64_t kBlock = 512;

template <typename C> struct alignas(64) Block {
  C at[kBlock];
};

template <typename T> T readAs(const std::byte *data, int64_t index) {
  T value;
  std::memcpy(&value, data + index * sizeof(T), sizeof(T));
  return value;
}

template <typename T> void writeAs(std::byte *data, int64_t index, T value) {
  std::memcpy(data + index * sizeof(T), &value, sizeof(T));
}

/// Reads `count` floating-point elements from `data`.
template <typename C>
void load(DataType type, const std::byte *data, int64_t count, C *to) {
  switch (type) {
  case DataType::Float16:
    for (int64_t i = 0; i < count; ++i)
      to[i] = floatFromFloat16(readAs<uint16_t>(data, i));
    return;
  case DataType::BFloat16:
    for (int64_t i = 0; i < count; ++i)
      to[i] = floatFromBFloat16(readAs<uint16_t>(data, i));
    return;
  case DataType::Float64:
    for (int64_t i = 0; i < count; ++i)
      to[i] = static_cast<C>(readAs<double>(data, i));
    return;
  default:
    for (int64_t i = 0; i < count; ++i)
      to[i] = readAs<float>(data, i);
  }
}

template <typename C>
void store(DataType type, const C *from, int64_t count, std::byte *data) {
  switch (type) {
  case DataType::Float16:
    for (int64_t i = 0; i < count; ++i)
      writeAs(data, i, float16FromFloat(static_cast<float>(from[i])));
    return;
  case DataType::BFloat16:
    for (int64_t i = 0; i < count; ++i)
      writeAs(data, i, bfloat16FromFloat(static_cast<float>(from[i])));
    return;
  case DataType::Float64:
    for (int64_t i = 0; i < count; ++i)
      writeAs(data, i, static_cast<double>(from[i]));
    return;
  default:
    for (int64_t i = 0; i < count; ++i)
      writeAs(data, i, static_cast<float>(from[i]));
  }
}

/// Calls `work` with a value of the type to compute in.
template <typename Work> void inComputeType(DataType type, Work work) {
  // The branches differ in type. NOLINTNEXTLINE(bugprone-branch-clone)
  if (type == DataType::Float64)
    work(double());
  else
    work(float());
}

template <typename Work> void forEachBlock(int64_t count, Work work) {
  for (int64_t begin = 0; begin < count; begin += kBlock)
    work(begin, std::min(kBlock, count - begin));
}

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_KERNELS_BLOCKS_H
