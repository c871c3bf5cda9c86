//===- AddressSpace.h - Addresses that members of a group exchange --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Threads of a process see the same addresses. Processes that share a range of
// memory see it at different ones, and nothing else of each other.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_COMMUNICATION_MEMORY_ADDRESSSPACE_H
#define BAGUA_LIB_RUNTIME_COMMUNICATION_MEMORY_ADDRESSSPACE_H

#include "absl/status/status.h"
#include "absl/types/span.h"

#include <cstddef>
#include <cstdint>

namespace bagua::runtime {

/// A range of memory as this member sees it. By default everything there is.
struct AddressSpace {
  std::byte *base = nullptr;
  uint64_t bytes = UINT64_MAX;

  /// Whether other members can reach `size` bytes from `address`.
  bool contains(const void *address, uint64_t size) const {
    uint64_t offset = offsetOf(address);
    return size == 0 || (offset <= bytes && size <= bytes - offset);
  }
  /// What the address is called among members.
  uint64_t offsetOf(const void *address) const {
    return reinterpret_cast<uint64_t>(address) -
           reinterpret_cast<uint64_t>(base);
  }
  std::byte *at(uint64_t offset) const {
    // There may be no base to add to.
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    return reinterpret_cast<std::byte *>(reinterpret_cast<uint64_t>(base) +
                                         offset);
  }
};

/// Memory of a rank's own that others of its host write to.
class ReachableMemory {
public:
  virtual ~ReachableMemory() = default;

  /// Takes it out of the reach of all others where a process of `lost`, ranks
  /// of the run, may still write to it: threads of this process go on finding
  /// it where it was, with what they have written there. Returns when that is
  /// done.
  virtual absl::Status withdraw(absl::Span<const int> lost) = 0;
  /// Whether it was, or is about to be: writes of others from now on are
  /// missing.
  virtual bool isWithdrawn() const = 0;
};

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_COMMUNICATION_MEMORY_ADDRESSSPACE_H
