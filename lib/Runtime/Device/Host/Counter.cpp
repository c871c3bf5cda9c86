//===- Counter.cpp - A count that threads wait for ------------------------===//
//
// The count and the number of sleepers are two words; sequential consistency
// between them ensures that either the one who advances sees the sleeper, or
// the sleeper sees the new count.
//
//===----------------------------------------------------------------------===//
#include "Device/Host/Counter.h"

#include "hwy/cache_control.h"

#include <climits>
#include <ctime>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace bagua::runtime {
namespace {

uint32_t *addressOf(std::atomic<uint32_t> &word) {
  static_assert(sizeof(word) == sizeof(uint32_t), "a futex is 32 bits");
  return reinterpret_cast<uint32_t *>(&word);
}

} // namespace

void Counter::advance(uint32_t by) {
  word.fetch_add(by << 1, std::memory_order_seq_cst);
  if (sleepers.load(std::memory_order_seq_cst) != 0)
    wakeAll();
}

void Counter::close() {
  word.fetch_or(kClosed, std::memory_order_seq_cst);
  wakeAll();
}

void Counter::wakeAll() {
  syscall(SYS_futex, addressOf(word), FUTEX_WAKE_PRIVATE, INT_MAX, nullptr,
          nullptr, 0);
}

void Counter::sleep(uint32_t target, std::chrono::nanoseconds limit) {
  sleepers.fetch_add(1, std::memory_order_seq_cst);
  uint32_t seen = word.load(std::memory_order_seq_cst);
  if (!(seen & kClosed) && !isReached(seen >> 1, target)) {
    auto seconds = std::chrono::duration_cast<std::chrono::seconds>(limit);
    timespec time = {};
    time.tv_sec = seconds.count();
    time.tv_nsec = (limit - seconds).count();
    bool isLimited = limit != std::chrono::nanoseconds::max();
    syscall(SYS_futex, addressOf(word), FUTEX_WAIT_PRIVATE, seen,
            isLimited ? &time : nullptr, nullptr, 0);
  }
  sleepers.fetch_sub(1, std::memory_order_relaxed);
}

void spinPause() { hwy::Pause(); }

} // namespace bagua::runtime
