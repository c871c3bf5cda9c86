//===- Gate.h - A barrier that can be closed ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The members of one group, threads or processes, meet at a gate. One atomic
// word decides whether a meeting passes, so that either all members pass or
// none does. A member that gives up after a timeout can be sure that nobody
// will touch its buffers any more.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_COMMUNICATION_MEMORY_GATE_H
#define BAGUA_LIB_RUNTIME_COMMUNICATION_MEMORY_GATE_H

#include "absl/functional/function_ref.h"

#include <atomic>
#include <chrono>
#include <cstdint>

namespace bagua::runtime {

/// A reusable barrier for `members` threads, which all go through the same
/// meetings in the same order. A member that has passed sees everything that
/// any member wrote before it arrived. Has no pointers, so processes that share
/// the memory may see it at different addresses.
///
///   Gate gate(2, Gate::Scope::Process);
///   Gate::Ticket ticket = gate.arrive();
///   Gate::Outcome outcome = gate.wait(ticket, limit, spin);
class Gate {
public:
  /// Whether the threads belong to one process or to one host.
  enum class Scope { Process, Host };

  enum class Outcome {
    Passed,
    /// close() came first. Nobody passes this meeting or a later one.
    Closed,
    /// The time is over and the meeting is still open: see closeUnlessPassed().
    TimedOut,
  };

  /// Identifies a meeting for a member that has arrived at it.
  struct Ticket {
    uint32_t generation;
    /// False if the gate was closed; the meeting may still complete for others.
    bool isCounted;
  };

  /// `members` is at most kMaxMembers.
  Gate(int members, Scope scope);
  static constexpr int kMaxMembers = 0xffff;

  /// Counts the caller in, unless the gate is closed.
  Ticket arrive();

  /// Waits for all members, at most `limit`. With `spin` it first keeps its
  /// core for some microseconds, which helps only if every member has a core.
  Outcome wait(Ticket ticket, std::chrono::nanoseconds limit, bool spin);

  /// Arrives and waits, even if the gate is closed. For the end of a section
  /// that all members are in and in which none waits for anything. `isGivenUp`
  /// is called some 20 times a second, without a limit. If it returns true, the
  /// missing members are no longer waited for, and this returns false.
  bool meetAlways(bool spin, absl::FunctionRef<bool()> isGivenUp);

  /// After TimedOut: closes the gate, unless all members have arrived
  /// meanwhile. Returns whether this call closed it.
  bool closeUnlessPassed(Ticket ticket);

  /// Whether all members arrived at the meeting.
  bool hasPassed(Ticket ticket) const;

  /// Ends all calls of wait(), present and future. Never blocks.
  void close();

private:
  // The word: closed (1 bit), has sleepers (1 bit), generation (14), arrived
  // (16). A new generation tells waiters that their meeting is complete. It may
  // wrap, since it cannot advance twice without the waiter.
  static constexpr uint32_t kClosed = uint32_t{1} << 31;
  static constexpr uint32_t kSleepers = uint32_t{1} << 30;
  static constexpr uint32_t kArrivedMask = kMaxMembers;
  static constexpr uint32_t kGenerationUnit = kArrivedMask + 1;
  static constexpr uint32_t kGenerationMask =
      ~(kClosed | kSleepers | kArrivedMask);

  Ticket countIn(bool evenIfClosed);
  uint32_t watch(uint32_t generation, bool evenIfClosed, bool spin) const;
  void sleep(uint32_t expected, std::chrono::nanoseconds limit);
  void wakeAll();
  static bool isOver(uint32_t seen, uint32_t generation, bool evenIfClosed) {
    return (seen & kGenerationMask) != generation ||
           (!evenIfClosed && (seen & kClosed));
  }

  alignas(64) std::atomic<uint32_t> word{0};
  alignas(64) const uint32_t memberCount;
  const uint32_t futexFlags;
};

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_COMMUNICATION_MEMORY_GATE_H
