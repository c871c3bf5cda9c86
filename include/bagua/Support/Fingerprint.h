//===- Fingerprint.h - A 64-bit fingerprint of bytes ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A fingerprint distinguishes files that differ by accident: a wrong plan on
// one rank, a damaged byte. It does not protect against somebody who wants a
// collision.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_SUPPORT_FINGERPRINT_H
#define BAGUA_SUPPORT_FINGERPRINT_H

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace bagua {

/// FNV-1a's loop on words of eight bytes, with a shift by which high bits
/// affect low ones. Every step is a bijection of the state for a given word,
/// and of the word for a given state. So inputs of equal length that differ
/// only within one aligned word, as by a flipped bit, always have different
/// fingerprints. Takes about 1 ns for eight bytes. The result is the same on
/// every little-endian machine.
inline uint64_t fingerprintBytes(const void *data, size_t size) {
  constexpr uint64_t kOffset = 0xcbf29ce484222325;
  constexpr uint64_t kPrime =
      0x9e3779b97f4a7c15; // odd: multiplying is bijective
  auto *bytes = static_cast<const unsigned char *>(data);
  uint64_t state = kOffset ^ size;
  auto mix = [&](uint64_t word) {
    state = (state ^ word) * kPrime;
    state ^= state >> 29;
  };
  size_t at = 0;
  for (; at + 8 <= size; at += 8) {
    uint64_t word;
    std::memcpy(&word, bytes + at, 8);
    mix(word);
  }
  uint64_t tail = 0;
  if (at < size)
    std::memcpy(&tail, bytes + at, size - at);
  mix(tail);
  mix(kOffset);
  return state;
}

} // namespace bagua

#endif // BAGUA_SUPPORT_FINGERPRINT_H
