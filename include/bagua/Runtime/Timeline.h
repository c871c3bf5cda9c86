//===- Timeline.h - A count that only grows, or fails ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Threads and devices report progress to each other through a timeline.
// signal() costs one atomic operation; tell() costs a system call, but only if
// a thread sleeps. A failed timeline ends all sleeps, so a waiting thread need
// not wake up periodically to check whether there is still a reason to wait.
// The creator of a timeline knows why it failed.
//
// There is one kind of timeline: a word in the host's memory, which every
// thread can read without a call. A device may have better ways to wait for its
// own work; these belong to its Queue.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_RUNTIME_TIMELINE_H
#define BAGUA_RUNTIME_TIMELINE_H

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>

namespace bagua::runtime {

class alignas(64) Timeline {
public:
  Timeline() = default;
  Timeline(const Timeline &) = delete;
  Timeline &operator=(const Timeline &) = delete;

  /// The count. It starts at 0 and stays below 2^63.
  uint64_t value() const { return word.load(std::memory_order_seq_cst) >> 1; }
  bool reached(uint64_t target) const { return value() >= target; }
  bool hasFailed() const {
    return word.load(std::memory_order_seq_cst) & kFailed;
  }

  /// Raises the count to `target`, if it is lower. A thread that observes
  /// `target` also sees everything the caller wrote before. Any thread may call
  /// this. The thread then calls tell(), once it holds nothing that others wait
  /// for: with more threads than cores, a woken thread runs first.
  void signal(uint64_t target);
  /// Wakes sleeping threads, and calls the listeners whose target is reached.
  void tell() {
    if (sleepers.load(std::memory_order_seq_cst) != 0)
      wakeAll();
    if (earliest.load(std::memory_order_seq_cst) <= value())
      tellUpTo(value());
  }
  /// Ends all waits, present and future. May run beside any other call.
  void fail();
  /// Clears the failure. No thread may be waiting.
  void reopen() { word.fetch_and(~kFailed, std::memory_order_relaxed); }

  /// Spins for about 20 us; returns whether `target` was reached.
  bool watch(uint64_t target) const;
  /// Returns when `target` is reached, the timeline has failed or `limit` is
  /// over; may also return spuriously. nanoseconds::max() means no limit.
  void sleep(uint64_t target, std::chrono::nanoseconds limit);

  /// Arranges that `done` is called once, when `target` is reached: on this
  /// thread, or on one that calls tell(). If the timeline fails first,
  /// tellAll() calls it.
  void onReached(uint64_t target, std::function<void()> done);
  /// Calls all remaining listeners of a timeline that has failed.
  void tellAll();

private:
  static constexpr uint64_t kFailed = 1;
  static constexpr uint64_t kNobody = UINT64_MAX;

  void wakeAll();
  void tellUpTo(uint64_t target);

  /// Twice the count, plus 1 if the timeline has failed, so that a sleeper
  /// watches one word.
  std::atomic<uint64_t> word{0};
  std::atomic<uint32_t> sleepers{0};
  /// The lowest target of any listener.
  std::atomic<uint64_t> earliest{kNobody};
  std::mutex mutex;
  std::multimap<uint64_t, std::function<void()>> listeners;
};

} // namespace bagua::runtime

#endif // BAGUA_RUNTIME_TIMELINE_H
