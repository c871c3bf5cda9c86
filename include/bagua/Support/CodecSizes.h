//===- CodecSizes.h - Encoded sizes of codecs -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bytes of one encoded part of `count` elements, for the compiler's static
// sizes and the runtime's buffers. Every size is a multiple of kCodecAlignment
// and 0 for no elements. A part begins with its header: statistics and flags.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_SUPPORT_CODECSIZES_H
#define BAGUA_SUPPORT_CODECSIZES_H

#include <algorithm>
#include <cstdint>

namespace bagua {

inline constexpr int64_t kCodecAlignment = 32;
inline constexpr int64_t kCodecHeaderBytes = 32;

/// Header and `payload` bytes, aligned; 0 for an empty part.
inline int64_t encodedPartBytes(int64_t count, int64_t payload) {
  if (count == 0)
    return 0;
  return (kCodecHeaderBytes + payload + kCodecAlignment - 1) / kCodecAlignment *
         kCodecAlignment;
}

/// One byte an element (minmax_uint8).
inline int64_t byteCodecBytes(int64_t count) {
  return encodedPartBytes(count, count);
}

/// One bit an element (onebit, signsgd, efsignsgd).
inline int64_t bitCodecBytes(int64_t count) {
  return encodedPartBytes(count, (count + 7) / 8);
}

/// One byte an element and a float32 scale for each block (fp8_e4m3, qsgd with
/// more than 7 levels).
inline int64_t blockByteCodecBytes(int64_t count, int64_t block) {
  return encodedPartBytes(count, count + (count + block - 1) / block * 4);
}

/// Four bits an element and a float32 norm for each block (qsgd up to 7
/// levels).
inline int64_t blockNibbleCodecBytes(int64_t count, int64_t block) {
  return encodedPartBytes(count,
                          (count + 1) / 2 + (count + block - 1) / block * 4);
}

/// `kept` pairs of a 4-byte index and a float32 value (topk, gtopk, dgc).
inline int64_t sparseCodecBytes(int64_t count, int64_t kept) {
  return encodedPartBytes(count, std::min(count, kept) * 8);
}

/// `kept` float32 values at indices known to all (randomk).
inline int64_t sampledCodecBytes(int64_t count, int64_t kept) {
  return encodedPartBytes(count, std::min(count, kept) * 4);
}

} // namespace bagua

#endif // BAGUA_SUPPORT_CODECSIZES_H
