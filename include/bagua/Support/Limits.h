//===- Limits.h - What neither a step nor a plan may exceed ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bounds that compiler and loader share, so that the loader accepts whatever
// the compiler does.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_SUPPORT_LIMITS_H
#define BAGUA_SUPPORT_LIMITS_H

#include <cstddef>
#include <cstdint>

namespace bagua {

/// Bytes of a tensor, and of all of the runtime's memory: more than any machine
/// has, and small enough that sums of a few such numbers fit 63 bits.
inline constexpr int64_t kMaxBytes = int64_t{1} << 48;

/// The most bytes of a name; a name has at least one.
inline constexpr size_t kMaxNameLength = 4096;

/// The most parts into which a step's gradients are cut, each a message. A
/// compiler takes about 0.1 ms for each part, and a network its latency.
inline constexpr int64_t kMaxParts = 100000;

} // namespace bagua

#endif // BAGUA_SUPPORT_LIMITS_H
