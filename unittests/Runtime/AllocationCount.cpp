//===- AllocationCount.cpp - How often a thread called operator new -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All forms of operator new come here, over malloc.
//
//===----------------------------------------------------------------------===//
#include "AllocationCount.h"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

thread_local int64_t count = 0;
std::atomic<int64_t> total{0};

void *allocate(std::size_t bytes, std::size_t alignment) {
  ++count;
  total.fetch_add(1, std::memory_order_relaxed);
  // aligned_alloc wants a multiple of the alignment.
  std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  void *memory = alignment <= alignof(std::max_align_t)
                     ? std::malloc(bytes ? bytes : 1)
                     : std::aligned_alloc(alignment, rounded);
  if (!memory)
    std::abort();
  return memory;
}

} // namespace

namespace bagua::runtime {

int64_t allocationCount() { return count; }
int64_t allocationCountOfAllThreads() { return total.load(); }

} // namespace bagua::runtime

void *operator new(std::size_t bytes) { return allocate(bytes, 1); }
void *operator new[](std::size_t bytes) { return allocate(bytes, 1); }
void *operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocate(bytes, static_cast<std::size_t>(alignment));
}
void *operator new[](std::size_t bytes, std::align_val_t alignment) {
  return allocate(bytes, static_cast<std::size_t>(alignment));
}
void *operator new(std::size_t bytes, const std::nothrow_t &) noexcept {
  return allocate(bytes, 1);
}
void *operator new[](std::size_t bytes, const std::nothrow_t &) noexcept {
  return allocate(bytes, 1);
}
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete[](void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void *memory, const std::nothrow_t &) noexcept {
  std::free(memory);
}
void operator delete[](void *memory, const std::nothrow_t &) noexcept {
  std::free(memory);
}
void operator delete[](void *memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete(void *memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete[](void *memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void *memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete[](void *memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}
