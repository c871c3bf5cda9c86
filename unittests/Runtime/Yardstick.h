//===- Yardstick.h - Limits that grow with what this machine is at --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A test in which ranks that are on time must be within a limit, and one that
// is late beyond it, takes a limit that is short where the machine is idle and
// longer where its threads get a core late:
//
//   const auto limit = scaled(200ms);
//   Worlds worlds = createWorlds(4, limit);
//   ... HasSubstr("waited " + textOf(limit) + " for rank 2")
//
// A test that can wait for an event does that instead (AwaitSleep.h), or has a
// limit that nobody meets (kLongTime).
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_UNITTESTS_RUNTIME_YARDSTICK_H
#define BAGUA_UNITTESTS_RUNTIME_YARDSTICK_H

#include "absl/time/time.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <fstream>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace bagua::runtime {

/// The longest of some hand-overs round a ring of as many threads as most tests
/// have ranks. Each computes a little before it hands on, as ranks do that
/// offer their core while they wait: one that only sleeps is woken first.
inline std::chrono::nanoseconds longestHandOver() {
  using Clock = std::chrono::steady_clock;
  constexpr int kThreads = 4;
  constexpr int kTurns = 24;
  std::mutex mutex;
  std::condition_variable changed;
  int turn = 0;
  Clock::time_point last = Clock::now();
  std::chrono::nanoseconds longest(0);
  auto take = [&](int thread) {
    for (int own = thread; own < kTurns; own += kThreads) {
      {
        std::unique_lock<std::mutex> lock(mutex);
        changed.wait(lock, [&] { return turn == own; });
      }
      volatile unsigned sum = 0;
      for (unsigned i = 0; i < 100000; ++i)
        sum = sum + i;
      std::lock_guard<std::mutex> lock(mutex);
      const Clock::time_point now = Clock::now();
      longest = std::max<std::chrono::nanoseconds>(longest, now - last);
      last = now;
      ++turn;
      changed.notify_all();
    }
  };
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread)
    threads.emplace_back(take, thread);
  for (std::thread &thread : threads)
    thread.join();
  return longest;
}

/// How long a thread waits for a core where every other one that is ready takes
/// its turn first. Threads that sleep often come first nearly always, so a few
/// hand-overs may all be short beside processes that never rest.
inline std::chrono::nanoseconds turnOfOthers() {
  constexpr std::chrono::milliseconds kSlice(3);
  std::ifstream file("/proc/loadavg"); // 0.20 0.18 0.12 1/80 11206
  std::string average;
  int64_t ready = 0;
  file >> average >> average >> average >> ready;
  const int64_t cores = std::max(1u, std::thread::hardware_concurrency());
  return kSlice * std::max<int64_t>(0, ready - cores) / cores;
}

/// A limit that is `idle` on an idle machine, and a multiple of that where
/// hand-overs take longer: by more of them than ranks need that are on time.
inline std::chrono::milliseconds scaled(std::chrono::milliseconds idle) {
  constexpr std::chrono::milliseconds kIdleHandOver(1);
  constexpr int kHandOvers = 200;
  const std::chrono::nanoseconds more =
      kHandOvers *
      (std::max(longestHandOver(), turnOfOthers()) - kIdleHandOver);
  std::chrono::milliseconds limit = idle;
  while (limit < idle + more)
    limit += idle;
  return limit;
}

/// As messages have it.
inline std::string textOf(std::chrono::nanoseconds limit) {
  return absl::FormatDuration(absl::FromChrono(limit));
}

} // namespace bagua::runtime

#endif // BAGUA_UNITTESTS_RUNTIME_YARDSTICK_H
