//===- Counter.h - A count that threads wait for --------------------------===//
//
// How a session's threads tell each other about progress: a 32-bit count that
// only grows (and may wrap: what is compared is never further apart than half
// the range). Advancing costs one atomic operation and, only if somebody
// sleeps, a system call.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_DEVICE_HOST_COUNTER_H
#define BAGUA_LIB_RUNTIME_DEVICE_HOST_COUNTER_H

#include <atomic>
#include <chrono>
#include <cstdint>

namespace bagua::runtime {

class alignas(64) Counter {
public:
  uint32_t value() const { return count.load(std::memory_order_acquire); }
  bool reached(uint32_t target) const {
    return static_cast<int32_t>(value() - target) >= 0;
  }

  /// What the caller wrote before is visible to who sees the new count.
  void advance(uint32_t by = 1);

  /// Ends calls of sleep() that are in progress, without advancing.
  void wakeAll();

  /// Returns when `target` is reached or `limit` is over, or for no reason.
  void sleep(uint32_t target, std::chrono::nanoseconds limit);

private:
  std::atomic<uint32_t> count{0};
  std::atomic<uint32_t> sleepers{0};
};

/// One iteration of a loop that watches a count.
void spinPause();

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_DEVICE_HOST_COUNTER_H
