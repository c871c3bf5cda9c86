//===- ForkedCopies.cpp - The copy of shared memory in forked processes ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// fork itself leaves the range out, so that the child can at no moment write to
// shared memory; the child then maps it again. Each process has one list of
// ranges, which is locked while it forks.
//
//===----------------------------------------------------------------------===//
#include "Communication/SharedMemory/ForkedCopies.h"

#include <map>
#include <mutex>
#include <pthread.h>
#include <sys/mman.h>

namespace bagua::runtime {
namespace {

struct Range {
  size_t bytes;
  int file;
};

struct List {
  std::mutex mutex;
  std::map<void *, Range> ranges;
};

List &list();

void mapCopies() {
  for (const auto &[address, range] : list().ranges) {
    // If there is no room for the copy, the range stays unmapped.
    [[maybe_unused]] void *copy =
        mmap(address, range.bytes, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_NORESERVE | MAP_FIXED_NOREPLACE, range.file, 0);
  }
  list().ranges.clear();
  list().mutex.unlock();
}

/// Never destroyed: processes fork until they end.
List &list() {
  static List *const all = [] {
    pthread_atfork([] { list().mutex.lock(); }, [] { list().mutex.unlock(); },
                   mapCopies);
    return new List;
  }();
  return *all;
}

/// From the start: what a thread has half made when another one forks stays so
/// in the child.
[[maybe_unused]] List &madeAtLoad = list();

} // namespace

ForkedCopies::ForkedCopies(void *ownAddress, size_t bytes, int file)
    : address(ownAddress) {
  std::lock_guard<std::mutex> lock(list().mutex);
  madvise(address, bytes, MADV_DONTFORK);
  list().ranges[address] = {bytes, file};
}

ForkedCopies::~ForkedCopies() {
  std::lock_guard<std::mutex> lock(list().mutex);
  list().ranges.erase(address);
}

} // namespace bagua::runtime
