//===- Place.h - Where something lies, looked up when it is used ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations are made once, but a program may have a tensor at another address
// in each step: frameworks free gradients and make them anew. So operations
// hold places, and go to an address when they run.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_RUNTIME_PLACE_H
#define BAGUA_RUNTIME_PLACE_H

#include <cstddef>
#include <cstdint>

namespace bagua::runtime {

/// A byte of some memory. Two are equal only where they always have one
/// address.
class Place {
public:
  /// Nowhere: the address is null.
  Place() = default;
  /// `*memory` is where the memory is at the moment; outlives the place.
  explicit Place(std::byte *const *memory, int64_t offset = 0)
      : memory(memory), offset(offset) {}

  std::byte *address() const { return memory ? *memory + offset : nullptr; }
  Place operator+(int64_t bytes) const {
    return memory ? Place(memory, offset + bytes) : Place();
  }
  bool operator==(const Place &other) const {
    return memory == other.memory && offset == other.offset;
  }
  bool operator!=(const Place &other) const { return !(*this == other); }
  explicit operator bool() const { return memory != nullptr; }

private:
  std::byte *const *memory = nullptr;
  int64_t offset = 0;
};

} // namespace bagua::runtime

#endif // BAGUA_RUNTIME_PLACE_H
