//===- EncodingKernels.cpp - Encoding and decoding values -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A line for each kernel; parts and terms by the sizes of Support.
//
//===----------------------------------------------------------------------===//
#include "Kernels/Encodings/EncodingKernels.h"

#include "Kernels/Blocks.h"

#include "bagua/Support/Parts.h"

#include <cassert>
#include <limits>

namespace bagua::runtime {

extern const EncodingKernel kMinmaxUint8Kernel;

static const EncodingKernel *const kKernels[] = {
    &kMinmaxUint8Kernel,
};

const EncodingKernel *findEncodingKernel(EncodingId id) {
  for (const EncodingKernel *kernel : kKernels)
    if (kernel->id == id)
      return kernel;
  return nullptr;
}

void encodeValue(const LocalValue &from, const LocalValue &to) {
  const EncodingKernel &kernel = *findEncodingKernel(to.encoding.id);
  const std::byte *elements = from.place.address();
  std::byte *slot = to.place.address();
  assert(to.terms == 1);
  std::memset(slot, 0, to.bytes());
  for (int64_t part = 0; part < to.parts; ++part, slot += to.slotBytes) {
    ElementRange range = partRange(from.count, to.parts, part);
    if (range.size() > 0)
      kernel.encode(to.encoding, from.type,
                    elements + range.begin * dataTypeBytes(from.type),
                    range.size(), slot);
  }
}

/// The largest finite element.
static float largestOf(DataType type) {
  switch (type) {
  case DataType::Float16:
    return 65504;
  case DataType::BFloat16:
    return 0x1.fep127f;
  default:
    return std::numeric_limits<float>::max();
  }
}

void decodeValue(const LocalValue &from, const LocalValue &to,
                 ReduceKind kind) {
  const EncodingKernel &kernel = *findEncodingKernel(from.encoding.id);
  const float largest = largestOf(to.type);
  const auto terms = static_cast<float>(from.terms);
  const int64_t elementBytes = dataTypeBytes(to.type);
  const int64_t termBytes = from.parts * from.slotBytes;
  for (int64_t part = 0; part < from.parts; ++part) {
    ElementRange range = partRange(to.count, from.parts, part);
    const std::byte *slot = from.place.address() + part * from.slotBytes;
    std::byte *elements = to.place.address() + range.begin * elementBytes;
    forEachBlock(range.size(), [&](int64_t begin, int64_t size) {
      Block<float> sum = {}, term;
      for (int64_t i = 0; i < from.terms; ++i) {
        kernel.decode(from.encoding, slot + i * termBytes, range.size(), begin,
                      size, term.at);
        // Rounding may lead past the largest element; NaN stays.
        for (int64_t j = 0; j < size; ++j) {
          float value = term.at[j] > largest ? largest : term.at[j];
          value = value < -largest ? -largest : value;
          sum.at[j] = i == 0 ? value : sum.at[j] + value;
        }
      }
      if (from.terms > 1 && kind == ReduceKind::Mean)
        for (int64_t j = 0; j < size; ++j)
          sum.at[j] /= terms;
      store(to.type, sum.at, size, elements + begin * elementBytes);
    });
  }
}

} // namespace bagua::runtime
