//===- Limits.h - What neither a step nor a plan may exceed ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bounds that compiler and loader share, so that what one of them accepts the
// other doesn't refuse.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_SUPPORT_LIMITS_H
#define BAGUA_SUPPORT_LIMITS_H

#include <cstddef>
#include <cstdint>

namespace bagua {

/// Bytes of all of the runtime's memory, and of a tensor: more than any machine
/// has, and small enough that sums of a few fit 63 bits.
inline constexpr int64_t kMaxBytes = int64_t{1} << 48;

/// Bytes of a name, of which there is at least one.
inline constexpr size_t kMaxNameLength = 4096;

/// Parts into which a step's gradients are cut, each a message: a compiler
/// takes about 0.1 ms for each, and a network its latency.
inline constexpr int64_t kMaxParts = 100000;

} // namespace bagua

#endif // BAGUA_SUPPORT_LIMITS_H
