//===- Timeline.h - A count that only grows, or fails ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How threads and devices tell each other about progress. Signalling costs one
// atomic operation; telling, only if somebody sleeps, a system call. Nobody
// sleeps on a timeline that has failed, so that who waits need not wake up now
// and then to look whether there is still reason to; why it has failed says
// whoever has made it.
//
// There is one kind, a word of the host's, which all can read without a call.
// What a device knows better ways to wait for, its own work, is the matter of
// its Queue.
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

  /// From 0; below 2^63.
  uint64_t value() const { return word.load(std::memory_order_seq_cst) >> 1; }
  bool reached(uint64_t target) const { return value() >= target; }
  bool hasFailed() const {
    return word.load(std::memory_order_seq_cst) & kFailed;
  }

  /// `target` is reached; nothing where it was before. What the caller wrote
  /// before is visible to who sees it. From any thread, which calls tell() when
  /// it holds nothing that others wait for: where threads are more than cores,
  /// who is woken goes first.
  void signal(uint64_t target);
  /// Wakes who sleeps, and calls who is to be told of what has been reached.
  void tell() {
    if (sleepers.load(std::memory_order_seq_cst) != 0)
      wakeAll();
    if (earliest.load(std::memory_order_seq_cst) <= value())
      tellUpTo(value());
  }
  /// Ends all waits, now and later; beside any other call.
  void fail();
  /// Undoes it, where nobody waits.
  void reopen() { word.fetch_and(~kFailed, std::memory_order_relaxed); }

  /// Looks for some 20 us; whether `target` was reached.
  bool watch(uint64_t target) const;
  /// Returns when `target` is reached, the timeline has failed or `limit` is
  /// over; may return for no reason. nanoseconds::max(): no limit.
  void sleep(uint64_t target, std::chrono::nanoseconds limit);

  /// Has `done` called once, when `target` is reached: on this thread, or on
  /// the one that signals. Where the timeline fails, by tellAll().
  void onReached(uint64_t target, std::function<void()> done);
  /// Calls all that are still to be told. Of one that has failed.
  void tellAll();

private:
  static constexpr uint64_t kFailed = 1;
  static constexpr uint64_t kNobody = UINT64_MAX;

  void wakeAll();
  void tellUpTo(uint64_t target);

  /// Twice the count, and 1 where it has failed: a sleeper goes by one word.
  std::atomic<uint64_t> word{0};
  std::atomic<uint32_t> sleepers{0};
  /// The least target somebody is to be told of.
  std::atomic<uint64_t> earliest{kNobody};
  std::mutex mutex;
  std::multimap<uint64_t, std::function<void()>> listeners;
};

} // namespace bagua::runtime

#endif // BAGUA_RUNTIME_TIMELINE_H
