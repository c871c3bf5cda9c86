//===- AddressSpace.h - Addresses that members of a group exchange --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Threads of a process see the same addresses. Processes that share a range of
// memory see it at different addresses, and see nothing else of each other.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_COMMUNICATION_MEMORY_ADDRESSSPACE_H
#define BAGUA_LIB_RUNTIME_COMMUNICATION_MEMORY_ADDRESSSPACE_H

#include "absl/status/status.h"
#include "absl/types/span.h"

#include <cstddef>
#include <cstdint>

namespace bagua::runtime {

/// A range of memory as this member sees it. By default the whole address
/// space.
struct AddressSpace {
  std::byte *base = nullptr;
  uint64_t bytes = UINT64_MAX;

  /// Whether other members can reach `size` bytes from `address`.
  bool contains(const void *address, uint64_t size) const {
    uint64_t offset = offsetOf(address);
    return size == 0 || (offset <= bytes && size <= bytes - offset);
  }
  /// The number by which members name the address to each other.
  uint64_t offsetOf(const void *address) const {
    return reinterpret_cast<uint64_t>(address) -
           reinterpret_cast<uint64_t>(base);
  }
  std::byte *at(uint64_t offset) const {
    // `base` may be null, to which no offset can be added.
    return reinterpret_cast<std::byte *>(reinterpret_cast<uint64_t>(base) +
                                         offset);
  }
};

/// A rank's own memory, to which other ranks of its host write.
class ReachableMemory {
public:
  virtual ~ReachableMemory() = default;

  /// If a process of a rank in `lost` may still write to the memory, takes the
  /// memory out of the reach of all others. Threads of this process find it
  /// where it was, with what they have written there. Returns when that is
  /// done.
  virtual absl::Status withdraw(absl::Span<const int> lost) = 0;
  /// Whether the memory was withdrawn, or is about to be: later writes of
  /// others are missing in it.
  virtual bool isWithdrawn() const = 0;
};

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_COMMUNICATION_MEMORY_ADDRESSSPACE_H
