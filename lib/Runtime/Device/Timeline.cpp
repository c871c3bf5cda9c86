//===- Timeline.cpp - A count that only grows, or fails -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The count and the number of sleepers are two words. Sequential consistency
// between them ensures that either the signalling thread sees the sleeper, or
// the sleeper sees the new count. The same holds for listeners.
//
//===----------------------------------------------------------------------===//
#include "bagua/Runtime/Timeline.h"

#include "hwy/cache_control.h"

#include <climits>
#include <ctime>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace bagua::runtime {
namespace {

/// Takes about 20 us.
constexpr int kSpins = 1000;

/// The half of the count that changes, since a futex has 32 bits. 2^31 signals
/// between a thread's look and its sleep are not to be expected.
uint32_t *lowHalfOf(std::atomic<uint64_t> &word) {
  static_assert(sizeof(word) == 2 * sizeof(uint32_t));
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  return reinterpret_cast<uint32_t *>(&word);
#else
  return reinterpret_cast<uint32_t *>(&word) + 1;
#endif
}

} // namespace

void Timeline::signal(uint64_t target) {
  uint64_t seen = word.load(std::memory_order_relaxed);
  // A failure may come in between; it is preserved.
  do {
    if (seen >> 1 >= target)
      return;
  } while (!word.compare_exchange_weak(seen, (target << 1) | (seen & kFailed),
                                       std::memory_order_seq_cst));
}

void Timeline::fail() {
  word.fetch_or(kFailed, std::memory_order_seq_cst);
  wakeAll();
}

void Timeline::wakeAll() {
  syscall(SYS_futex, lowHalfOf(word), FUTEX_WAKE_PRIVATE, INT_MAX, nullptr,
          nullptr, 0);
}

bool Timeline::watch(uint64_t target) const {
  for (int i = 0; i < kSpins; ++i) {
    if (reached(target))
      return true;
    hwy::Pause();
  }
  return false;
}

void Timeline::sleep(uint64_t target, std::chrono::nanoseconds limit) {
  sleepers.fetch_add(1, std::memory_order_seq_cst);
  const uint64_t seen = word.load(std::memory_order_seq_cst);
  if (!(seen & kFailed) && (seen >> 1) < target) {
    auto seconds = std::chrono::duration_cast<std::chrono::seconds>(limit);
    timespec time = {};
    time.tv_sec = seconds.count();
    time.tv_nsec = (limit - seconds).count();
    const bool isLimited = limit != std::chrono::nanoseconds::max();
    syscall(SYS_futex, lowHalfOf(word), FUTEX_WAIT_PRIVATE,
            static_cast<uint32_t>(seen), isLimited ? &time : nullptr, nullptr,
            0);
  }
  sleepers.fetch_sub(1, std::memory_order_relaxed);
}

//===----------------------------------------------------------------------===//
// Listeners
//===----------------------------------------------------------------------===//

void Timeline::onReached(uint64_t target, std::function<void()> done) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    listeners.emplace(target, std::move(done));
    earliest.store(listeners.begin()->first, std::memory_order_seq_cst);
  }
  // `target` may have been reached, or the timeline may have failed, before a
  // signalling thread could see this listener.
  if (reached(target) || hasFailed())
    tellUpTo(target);
}

void Timeline::tellAll() { tellUpTo(kNobody); }

void Timeline::tellUpTo(uint64_t target) {
  std::vector<std::function<void()>> due;
  {
    std::lock_guard<std::mutex> lock(mutex);
    auto end = listeners.upper_bound(target);
    for (auto listener = listeners.begin(); listener != end; ++listener)
      due.push_back(std::move(listener->second));
    listeners.erase(listeners.begin(), end);
    earliest.store(listeners.empty() ? kNobody : listeners.begin()->first,
                   std::memory_order_seq_cst);
  }
  for (auto &done : due)
    done();
}

} // namespace bagua::runtime
