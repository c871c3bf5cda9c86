//===- CopyBytes.h - Bytes from here to there -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For buffers that may be one, or none.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_COMMUNICATION_COPYBYTES_H
#define BAGUA_LIB_RUNTIME_COMMUNICATION_COPYBYTES_H

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace bagua::runtime {

/// Nothing where both are one place; else they don't overlap.
inline void copyBytes(std::byte *to, const std::byte *from, int64_t bytes) {
  if (bytes > 0 && to != from)
    std::memcpy(to, from, bytes);
}

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_COMMUNICATION_COPYBYTES_H
