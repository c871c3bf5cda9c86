//===- CopyBytes.h - Copies bytes between buffers -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For buffers that may be the same, or null.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_COMMUNICATION_COPYBYTES_H
#define BAGUA_LIB_RUNTIME_COMMUNICATION_COPYBYTES_H

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace bagua::runtime {

/// Copies nothing if both are the same buffer; otherwise they don't overlap.
inline void copyBytes(std::byte *to, const std::byte *from, int64_t bytes) {
  if (bytes > 0 && to != from)
    std::memcpy(to, from, bytes);
}

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_COMMUNICATION_COPYBYTES_H
