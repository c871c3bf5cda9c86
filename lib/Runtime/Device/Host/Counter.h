//===- Counter.h - A count that threads wait for --------------------------===//
//
// How a session's threads tell each other about progress: a 31-bit count that
// only grows (and may wrap: what is compared is never further apart than half
// the range). Advancing costs one atomic operation and, only if somebody
// sleeps, a system call. A counter that is closed keeps nobody asleep, so that
// who waits need not wake up now and then to look whether there is still reason
// to.
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
  /// In one order with all that is sequentially consistent, so that who says
  /// what he waits for and then looks here does not miss it.
  uint32_t value() const { return word.load(std::memory_order_seq_cst) >> 1; }
  bool reached(uint32_t target) const { return isReached(value(), target); }

  /// What the caller wrote before is visible to who sees the new count.
  void advance(uint32_t by = 1);

  /// Ends all calls of sleep(), now and later, without advancing.
  void close();
  /// Undoes it.
  void open() { word.fetch_and(~kClosed, std::memory_order_relaxed); }

  /// Returns when `target` is reached, the counter is closed or `limit` is
  /// over; may return for no reason. nanoseconds::max(): no limit.
  void sleep(uint32_t target, std::chrono::nanoseconds limit);

private:
  static constexpr uint32_t kClosed = 1;
  static bool isReached(uint32_t count, uint32_t target) {
    return static_cast<int32_t>((count - target) << 1) >= 0;
  }
  void wakeAll();

  /// The count, and in the lowest bit whether it is closed: a sleeper goes by
  /// one word.
  std::atomic<uint32_t> word{0};
  std::atomic<uint32_t> sleepers{0};
};

/// One iteration of a loop that watches a count.
void spinPause();

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_DEVICE_HOST_COUNTER_H
