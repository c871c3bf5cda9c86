//===- StepRecorder.h - What a session did in its last steps --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Times of instructions, waits and calls, in memory that is allocated before
// the first step: recording one takes two reads of the clock and a few stores,
// and neither locks nor allocates. New records replace the oldest. What they
// become is RunTrace's.
//
// A ring has one writer at a time and may be read beside it, also while what it
// records is under way: a rank that is stuck can say in what.
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

/// How many steps are kept, the newest ones.
inline constexpr int64_t kRecordedSteps = 8;

class RecordRing {
public:
  struct Entry {
    /// Counts since start().
    uint64_t number = 0;
    int64_t step = 0;
    /// An instruction, a tensor or a stream, as the ring's user has it.
    int64_t subject = 0;
    uint32_t kind = 0;
    int64_t startNs = 0;
    /// 0: it has not ended.
    int64_t endNs = 0;
  };

  explicit RecordRing(size_t capacity) : slots(capacity) {}
  RecordRing(RecordRing &&other) noexcept : slots(std::move(other.slots)) {}

  /// Records `entry` in place of the one `capacity` numbers before it.
  void write(const Entry &entry) {
    Slot &slot = slots[entry.number % slots.size()];
    // The stamp goes first, so that a reader who sees anything of this entry
    // sees that the one before it is gone.
    slot.stamp.store(openStamp(entry.number), std::memory_order_relaxed);
    slot.step.store(entry.step, std::memory_order_release);
    slot.subject.store(entry.subject, std::memory_order_release);
    slot.kind.store(entry.kind, std::memory_order_release);
    slot.startNs.store(entry.startNs, std::memory_order_release);
    slot.endNs.store(entry.endNs, std::memory_order_release);
    slot.stamp.store(openStamp(entry.number) + 1, std::memory_order_release);
  }
  /// Ends one that was written without an end, if it is still there.
  void end(uint64_t number, int64_t endNs) {
    Slot &slot = slots[number % slots.size()];
    if (slot.stamp.load(std::memory_order_relaxed) == openStamp(number) + 1)
      slot.endNs.store(endNs, std::memory_order_release);
  }

  /// What is there, by number. From any thread.
  std::vector<Entry> read() const;

private:
  struct Slot {
    /// 0: nothing was written yet.
    std::atomic<uint64_t> stamp{0};
    std::atomic<int64_t> step{0}, subject{0};
    std::atomic<uint32_t> kind{0};
    std::atomic<int64_t> startNs{0}, endNs{0};
  };
  /// While entry `number` is being written; one more afterwards.
  static uint64_t openStamp(uint64_t number) { return 2 * number + 1; }

  std::vector<Slot> slots;
};

class StepRecorder {
public:
  /// What a program's thread does; `subject` is the tensor.
  enum Call : uint32_t {
    kStep,
    kBeginStep,
    kGive,
    kWait,
    kEndStep,
    kBarrier,
    kFinish
  };
  /// What a stream waits for; `subject` is the tensor or the stream.
  enum Obstacle : uint32_t { kGift, kStream };

  /// Allocates. `tensors`: how many the plan has.
  StepRecorder(const StreamPrograms &schedule, size_t tensors);

  // For the thread that is at instruction `sequence` of a stream, counted since
  // start(). Steps count from 0 here.

  void beginInstruction(uint32_t stream, uint64_t sequence, uint32_t number,
                        int64_t step);
  void endInstruction(uint32_t stream, uint64_t sequence);

  // For a stream's own thread.

  /// It has waited before instruction `sequence`, until now.
  void recordObstacle(uint32_t stream, int64_t step, Obstacle kind,
                      int64_t subject, int64_t startNs);

  // For the program's thread.

  /// What is under way until end() of the number that is returned.
  uint64_t begin(Call call, int64_t step, int64_t subject = -1);
  void end(uint64_t number);
  /// Something that takes no time.
  void record(Call call, int64_t step, int64_t subject);

  // For any thread.

  std::vector<RecordRing::Entry> calls() const { return program.read(); }
  /// Of a stream without work: none.
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
    /// Of the stream's thread.
    uint64_t nextObstacle = 0;
  };

  std::vector<StreamRings> streams;
  RecordRing program;
  /// Of the program's thread.
  uint64_t nextCall = 0;
};

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_SESSION_STEPRECORDER_H
