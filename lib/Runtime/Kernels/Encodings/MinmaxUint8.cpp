//===- MinmaxUint8.cpp - 8 bits between a part's extremes -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ByteGrad of BAGUA (Gan et al., VLDB 2022, section 4.3). Of a part with
// minimum a and maximum b:
//
//   scale = 255 / (b - a + eps),  upper = rint(b * scale),  lower = upper - 255
//   code = clamp(rint(x * scale) - lower, 0, 255),  x' = (code + lower) / scale
//
// Where b - a or scale overflows, all of it is computed of elements multiplied
// by a power of two. A part whose elements are all equal is exact.
//
//===----------------------------------------------------------------------===//
#include "Kernels/Encodings/EncodingKernel.h"

#include "Kernels/Blocks.h"

#include <algorithm>
#include <limits>

namespace bagua::runtime {
namespace {

constexpr float kCodes = 255;

/// Between elements and codes.
struct Scale {
  Scale(float low, float high, float eps);

  float low;
  float high;
  /// By what elements are multiplied first.
  float unit = 1;
  float scale;
  float lower;
};

Scale::Scale(float least, float most, float eps) : low(least), high(most) {
  float range = high - low;
  if (!std::isfinite(range))
    unit = 0.5f;
  else if (!std::isfinite(kCodes / (range + eps)))
    unit = 0x1p64f;
  scale = kCodes / ((high * unit - low * unit) + eps);
  lower = roundToWhole(high * unit * scale) - kCodes;
}

uint8_t encodeElement(float x, const Scale &s) {
  float code = roundToWhole(x * s.unit * s.scale) - s.lower;
  return static_cast<uint8_t>(std::min(std::max(code, 0.0f), kCodes));
}

float decodeElement(uint8_t code, const Scale &s) {
  float x = (static_cast<float>(code) + s.lower) / s.scale / s.unit;
  return s.unit == 1 ? x : std::min(std::max(x, s.low), s.high);
}

void encode(const Encoding &encoding, DataType type, const std::byte *elements,
            int64_t count, std::byte *part) {
  const int64_t elementBytes = dataTypeBytes(type);
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  float low = kInfinity, high = -kInfinity;
  bool isFinite = true;
  Block<float> x;
  forEachBlock(count, [&](int64_t begin, int64_t size) {
    load(type, elements + begin * elementBytes, size, x.at);
    for (int64_t i = 0; i < size; ++i) {
      isFinite &= std::fabs(x.at[i]) < kInfinity;
      low = std::min(low, x.at[i]);
      high = std::max(high, x.at[i]);
    }
  });
  if (!isFinite) {
    writeHeader({{0, 0}, PartHeader::kNotFinite, {}}, part);
    return;
  }
  // Whether -0 or 0 comes out depends on the width of vectors.
  low += 0.0f;
  high += 0.0f;
  writeHeader({{low, high}, 0, {}}, part);
  if (low == high)
    return;
  const Scale scale(low, high, static_cast<float>(encoding.parameters[0]));
  auto *codes = reinterpret_cast<uint8_t *>(part + sizeof(PartHeader));
  forEachBlock(count, [&](int64_t begin, int64_t size) {
    load(type, elements + begin * elementBytes, size, x.at);
    for (int64_t i = 0; i < size; ++i)
      codes[begin + i] = encodeElement(x.at[i], scale);
  });
}

void decode(const Encoding &encoding, const std::byte *part, int64_t /*count*/,
            int64_t begin, int64_t size, float *to) {
  PartHeader header = readHeader(part);
  if (header.flags & PartHeader::kNotFinite) {
    std::fill_n(to, size, std::numeric_limits<float>::quiet_NaN());
    return;
  }
  auto [low, high] = header.statistics;
  if (low == high) {
    std::fill_n(to, size, low);
    return;
  }
  const Scale scale(low, high, static_cast<float>(encoding.parameters[0]));
  const auto *codes =
      reinterpret_cast<const uint8_t *>(part + sizeof(PartHeader)) + begin;
  for (int64_t i = 0; i < size; ++i)
    to[i] = decodeElement(codes[i], scale);
}

} // namespace

extern const EncodingKernel kMinmaxUint8Kernel;
const EncodingKernel kMinmaxUint8Kernel = {EncodingId::MinmaxUint8, encode,
                                           decode};

} // namespace bagua::runtime
