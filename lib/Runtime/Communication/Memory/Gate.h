//===- Gate.h - A barrier that can be closed ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where the members of one group meet, threads or processes. Passing is decided
// by one atomic word, so that either all members pass or none does: a member
// that gives up after a time limit can be sure that nobody will touch its
// buffers any more.
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
/// meetings in the same order. What a member wrote before it arrived is visible
/// to all that have passed. Holds no pointer: processes that share its memory
/// may see it at different addresses.
///
///   Gate gate(2, Gate::Scope::Process);
///   Gate::Ticket ticket = gate.arrive();
///   Gate::Outcome outcome = gate.wait(ticket, limit, spin);
class Gate {
public:
  /// Whose threads meet.
  enum class Scope { Process, Host };

  enum class Outcome {
    Passed,
    /// close() came first; nobody passes this meeting or a later one.
    Closed,
    /// The time is over and the meeting still open: see closeUnlessPassed().
    TimedOut,
  };

  /// Names a meeting to one that has arrived at it.
  struct Ticket {
    uint32_t generation;
    /// False where the gate was closed: then the meeting may still complete,
    /// for others.
    bool isCounted;
  };

  /// At most kMaxMembers.
  Gate(int members, Scope scope);
  static constexpr int kMaxMembers = 0xffff;

  /// Counts the caller in, unless the gate is closed.
  Ticket arrive();

  /// Waits for all members; at most `limit`. With `spin`, keeps its core for
  /// some microseconds first: only sensible while every member has one.
  Outcome wait(Ticket ticket, std::chrono::nanoseconds limit, bool spin);

  /// Arrives and waits, whether or not the gate is closed. For the end of a
  /// section that all members are in and in which none waits for anything.
  /// `isGivenUp` is asked some 20 times a second, however long it takes:
  /// whether members that are missing are waited for no longer; then it returns
  /// false.
  bool meetAlways(bool spin, absl::FunctionRef<bool()> isGivenUp);

  /// After TimedOut: closes the gate, unless all members have arrived
  /// meanwhile; whether it was this call that closed it.
  bool closeUnlessPassed(Ticket ticket);

  /// Whether all members arrived at the meeting.
  bool hasPassed(Ticket ticket) const;

  /// Ends all waits of wait(), now and later. Never blocks.
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
