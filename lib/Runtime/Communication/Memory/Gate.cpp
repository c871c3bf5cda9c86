//===- Gate.cpp - A barrier that can be closed ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arrivals are compare-and-swap on one word; sleepers wait on the same word
// with a futex, which costs a system call only for those that sleep and for the
// one that wakes them.
//
//===----------------------------------------------------------------------===//
#include "Communication/Memory/Gate.h"

#include "Communication/WorkWatch.h"

#include "hwy/cache_control.h"

#include <cassert>
#include <climits>
#include <ctime>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace bagua::runtime {
namespace {

// About 2 us, which is what a meeting takes if all members have a core and are
// on time. Not longer, since the scheduler may still have put two members on
// one core, and then the time is lost.
constexpr int kSpins = 100;
// After that, or at once if members share cores, a thread offers its core to
// others: a member that is ready to run arrives ten times sooner than over a
// futex. Takes some tens of microseconds if nobody else wants the core.
constexpr int kYields = 100;
// How long a member that waits for the end of others' work sleeps before it
// checks whether they are given up.
constexpr std::chrono::nanoseconds kGoneInterval =
    std::chrono::milliseconds(50);

uint32_t *addressOf(std::atomic<uint32_t> &word) {
  static_assert(sizeof(word) == sizeof(uint32_t), "a futex is 32 bits");
  return reinterpret_cast<uint32_t *>(&word);
}

} // namespace

Gate::Gate(int members, Scope scope)
    : memberCount(static_cast<uint32_t>(members)),
      futexFlags(scope == Scope::Process ? FUTEX_PRIVATE_FLAG : 0) {
  assert(members >= 1 && members <= kMaxMembers);
}

/// Sleeps while the word is `expected`, for at most `limit`. May return early.
void Gate::sleep(uint32_t expected, std::chrono::nanoseconds limit) {
  NotAtWork waiting;
  auto seconds = std::chrono::duration_cast<std::chrono::seconds>(limit);
  timespec time = {};
  time.tv_sec = seconds.count();
  time.tv_nsec = (limit - seconds).count();
  syscall(SYS_futex, addressOf(word), FUTEX_WAIT | futexFlags, expected, &time,
          nullptr, 0);
}

void Gate::wakeAll() {
  syscall(SYS_futex, addressOf(word), FUTEX_WAKE | futexFlags, INT_MAX, nullptr,
          nullptr, 0);
}

/// Counts the caller in. Returns the generation of its meeting.
Gate::Ticket Gate::countIn(bool evenIfClosed) {
  uint32_t seen = word.load(std::memory_order_relaxed);
  while (true) {
    uint32_t generation = seen & kGenerationMask;
    if ((seen & kClosed) && !evenIfClosed)
      return {generation, false};
    uint32_t next = seen + 1;
    bool isLast = (next & kArrivedMask) == memberCount;
    if (isLast)
      next =
          (seen & kClosed) | ((generation + kGenerationUnit) & kGenerationMask);
    // Release what this member published; acquire what the others did.
    if (!word.compare_exchange_weak(seen, next, std::memory_order_acq_rel,
                                    std::memory_order_relaxed))
      continue;
    if (isLast && (seen & kSleepers))
      wakeAll();
    return {generation, true};
  }
}

/// Waits for some microseconds without sleeping; returns the word.
uint32_t Gate::watch(uint32_t generation, bool evenIfClosed, bool spin) const {
  for (int i = spin ? -kSpins : 0;; ++i) {
    uint32_t seen = word.load(std::memory_order_acquire);
    if (i == kYields || isOver(seen, generation, evenIfClosed))
      return seen;
    if (i < 0)
      hwy::Pause();
    else
      sched_yield();
  }
}

Gate::Ticket Gate::arrive() { return {countIn(/*evenIfClosed=*/false)}; }

Gate::Outcome Gate::wait(Ticket ticket, std::chrono::nanoseconds limit,
                         bool spin) {
  using Clock = std::chrono::steady_clock;
  if (!ticket.isCounted)
    return Outcome::Closed;
  uint32_t seen = watch(ticket.generation, /*evenIfClosed=*/false, spin);
  // Only threads that are about to sleep read the clock.
  bool isClockRead = false;
  Clock::time_point start;
  while (!isOver(seen, ticket.generation, /*evenIfClosed=*/false)) {
    Clock::time_point now = Clock::now();
    if (!isClockRead)
      start = now;
    isClockRead = true;
    std::chrono::nanoseconds left = limit - (now - start);
    if (left <= std::chrono::nanoseconds::zero())
      return Outcome::TimedOut;
    if ((seen & kSleepers) ||
        word.compare_exchange_weak(seen, seen | kSleepers,
                                   std::memory_order_relaxed,
                                   std::memory_order_relaxed))
      sleep(seen | kSleepers, left);
    seen = word.load(std::memory_order_acquire);
  }
  return (seen & kGenerationMask) != ticket.generation ? Outcome::Passed
                                                       : Outcome::Closed;
}

bool Gate::meetAlways(bool spin, absl::FunctionRef<bool()> isGivenUp) {
  uint32_t generation = countIn(/*evenIfClosed=*/true).generation;
  uint32_t seen = watch(generation, /*evenIfClosed=*/true, spin);
  while (!isOver(seen, generation, /*evenIfClosed=*/true)) {
    if (isGivenUp())
      return false;
    if ((seen & kSleepers) ||
        word.compare_exchange_weak(seen, seen | kSleepers,
                                   std::memory_order_relaxed,
                                   std::memory_order_relaxed))
      sleep(seen | kSleepers, kGoneInterval);
    seen = word.load(std::memory_order_acquire);
  }
  return true;
}

bool Gate::closeUnlessPassed(Ticket ticket) {
  uint32_t seen = word.load(std::memory_order_acquire);
  while (!isOver(seen, ticket.generation, /*evenIfClosed=*/false)) {
    if (!word.compare_exchange_weak(seen, seen | kClosed,
                                    std::memory_order_acq_rel,
                                    std::memory_order_acquire))
      continue;
    wakeAll();
    return true;
  }
  return false;
}

bool Gate::hasPassed(Ticket ticket) const {
  return (word.load(std::memory_order_acquire) & kGenerationMask) !=
         ticket.generation;
}

void Gate::close() {
  word.fetch_or(kClosed, std::memory_order_acq_rel);
  wakeAll();
}

} // namespace bagua::runtime
