//===- StepRecorder.h - A record of a session's last steps ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Times of instructions, waits and calls, in memory that is allocated before
// the first step. Recording takes two reads of the clock and a few stores, and
// neither locks nor allocates. New records replace the oldest. RunTrace makes a
// file of them.
//
// A ring has one writer at a time. It may be read at any time, even while the
// recorded work is under way, so that a stuck rank can say where it is stuck.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_SESSION_STEPRECORDER_H
#define BAGUA_LIB_RUNTIME_SESSION_STEPRECORDER_H

#include "Session/StreamPrograms.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace bagua::runtime {

/// The number of newest steps that are kept.
inline constexpr int64_t kRecordedSteps = 8;

class RecordRing {
public:
  struct Entry {
    /// Counts since start().
    uint64_t number = 0;
    int64_t step = 0;
    /// An instruction, a tensor or a stream, depending on the ring's user.
    int64_t subject = 0;
    uint32_t kind = 0;
    int64_t startNs = 0;
    /// 0 if the entry has not ended.
    int64_t endNs = 0;
  };

  explicit RecordRing(size_t capacity) : slots(capacity) {}
  RecordRing(RecordRing &&other) noexcept : slots(std::move(other.slots)) {}

  /// Records `entry` in place of the one `capacity` numbers before it.
  void write(const Entry &entry) {
    Slot &slot = slots[entry.number % slots.size()];
    // The stamp is written first, so that a reader who sees any part of this
    // entry also sees that the former one is gone.
    slot.stamp.store(openStamp(entry.number), std::memory_order_relaxed);
    slot.step.store(entry.step, std::memory_order_release);
    slot.subject.store(entry.subject, std::memory_order_release);
    slot.kind.store(entry.kind, std::memory_order_release);
    slot.startNs.store(entry.startNs, std::memory_order_release);
    slot.endNs.store(entry.endNs, std::memory_order_release);
    slot.stamp.store(openStamp(entry.number) + 1, std::memory_order_release);
  }
  /// Ends an entry that was written without an end, if it is still there.
  void end(uint64_t number, int64_t endNs) {
    Slot &slot = slots[number % slots.size()];
    if (slot.stamp.load(std::memory_order_relaxed) == openStamp(number) + 1)
      slot.endNs.store(endNs, std::memory_order_release);
  }

  /// The entries that are there, by number. May be called from any thread.
  std::vector<Entry> read() const;

private:
  struct Slot {
    /// 0 if nothing was written yet.
    std::atomic<uint64_t> stamp{0};
    std::atomic<int64_t> step{0}, subject{0};
    std::atomic<uint32_t> kind{0};
    std::atomic<int64_t> startNs{0}, endNs{0};
  };
  /// The stamp while entry `number` is being written; it is one more
  /// afterwards.
  static uint64_t openStamp(uint64_t number) { return 2 * number + 1; }

  std::vector<Slot> slots;
};

class StepRecorder {
public:
  /// The calls of a program's thread; `subject` is the tensor.
  enum Call : uint32_t {
    kStep,
    kBeginStep,
    kGive,
    kWait,
    kEndStep,
    kBarrier,
    kFinish
  };
  /// The obstacles that a stream waits for; `subject` is the tensor or the
  /// stream.
  enum Obstacle : uint32_t { kGift, kStream };

  /// Allocates the rings. `tensors` is the number of tensors in the plan.
  StepRecorder(const std::vector<StreamPrograms> &programs, size_t tensors);

  // For the thread that runs instruction `sequence` of a stream, counted since
  // start(). Steps count from 0 here.

  void beginInstruction(uint32_t stream, uint64_t sequence, uint32_t number,
                        int64_t step);
  void endInstruction(uint32_t stream, uint64_t sequence);

  // For a stream's own thread.

  /// The stream has waited until now before its next instruction.
  void recordObstacle(uint32_t stream, int64_t step, Obstacle kind,
                      int64_t subject, int64_t startNs);

  // For the program's thread.

  /// Records a call that is under way until end(), which takes the returned
  /// number.
  uint64_t begin(Call call, int64_t step, int64_t subject = -1);
  void end(uint64_t number);
  /// Records a call that takes no time.
  void record(Call call, int64_t step, int64_t subject);

  // For any thread.

  std::vector<RecordRing::Entry> calls() const { return program.read(); }
  /// Empty for a stream without work.
  std::vector<RecordRing::Entry> instructions(uint32_t stream) const {
    return streams[stream].instructions.read();
  }
  std::vector<RecordRing::Entry> obstacles(uint32_t stream) const {
    return streams[stream].obstacles.read();
  }

private:
  struct StreamRings {
    RecordRing instructions;
    RecordRing obstacles;
    /// Used by the stream's thread alone.
    uint64_t nextObstacle = 0;
  };

  std::vector<StreamRings> streams;
  RecordRing program;
  /// Used by the program's thread alone.
  uint64_t nextCall = 0;
};

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_SESSION_STEPRECORDER_H
