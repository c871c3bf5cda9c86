//===- EncodingKernel.h - What an encoding computes -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One kernel for each row of Support/Encodings.h that the runtime offers, and
// what kernels share: the header of a part, and rounding. Arithmetic is float32
// and every operation is rounded, so that all ranks compute the same bits
// (docs/Semantics.md, "Encodings").
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_KERNELS_ENCODINGS_ENCODINGKERNEL_H
#define BAGUA_LIB_RUNTIME_KERNELS_ENCODINGS_ENCODINGKERNEL_H

#include "bagua/Support/DataType.h"
#include "bagua/Support/Encodings.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace bagua::runtime {

struct EncodingKernel {
  EncodingId id;
  /// Writes `count` elements of `type`, at least one, as a part. The part's
  /// bytes are zero before.
  void (*encode)(const Encoding &encoding, DataType type,
                 const std::byte *elements, int64_t count, std::byte *part);
  /// Reads elements `begin` to `begin + size` of a part of `count`; at most
  /// kBlock of them.
  void (*decode)(const Encoding &encoding, const std::byte *part, int64_t count,
                 int64_t begin, int64_t size, float *to);
};

/// The beginning of a part.
struct PartHeader {
  float statistics[2];
  uint32_t flags;
  uint32_t zeros[5];

  /// The part held an element that is not finite: its statistics and payload
  /// are zero, and all of its elements decode to NaN.
  static constexpr uint32_t kNotFinite = 1;
};
static_assert(sizeof(PartHeader) == 32);

inline PartHeader readHeader(const std::byte *part) {
  PartHeader header;
  std::memcpy(&header, part, sizeof header);
  return header;
}

inline void writeHeader(const PartHeader &header, std::byte *part) {
  std::memcpy(part, &header, sizeof header);
}

/// To the nearest whole number, half to even. Unlike std::nearbyint it
/// vectorises without SSE4.1.
inline float roundToWhole(float value) {
  constexpr float kWholeFrom = 0x1p23f; // every float from here on is whole
  float magnitude = std::fabs(value);
  float rounded = std::copysign((magnitude + kWholeFrom) - kWholeFrom, value);
  return magnitude < kWholeFrom ? rounded : value;
}

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_KERNELS_ENCODINGS_ENCODINGKERNEL_H
