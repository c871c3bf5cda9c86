//===- StepSequence.h - Where a run's instructions are in its steps -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A stream counts its instructions from start() on, through all steps. Steps of
// a plan differ in length, so a count alone does not say which step it is in.
// This object does, for the newest steps. Steps are numbered from 0 here.
//
// The program's thread opens steps; any thread asks. What was asked of a step
// that is over may be wrong: who finds, afterwards, that the step is not over
// can rely on it, since reads here come before that. Nothing here locks or
// allocates after start().
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_SESSION_STEPSEQUENCE_H
#define BAGUA_LIB_RUNTIME_SESSION_STEPSEQUENCE_H

#include "Session/StreamPrograms.h"

#include "bagua/Support/StepsInFlight.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace bagua::runtime {

/// A place in a stream of a run: in a step, before its instruction `slot`.
struct Position {
  int64_t step;
  uint32_t slot;
};

class StepSequence {
public:
  /// Takes the programs among which each step has one.
  void start(std::vector<StreamPrograms> programs);

  const std::vector<StreamPrograms> &all() const { return programs; }
  const StreamPrograms &programOf(int64_t step) const {
    return programs[programNumber(step)];
  }
  uint32_t programNumber(int64_t step) const {
    return entryOf(step).program.load(std::memory_order_acquire);
  }

  /// A number for launches (StreamPrograms.h), which are counted like the
  /// instructions of a stream.
  uint32_t launchStream() const {
    return static_cast<uint32_t>(programs.front().streams.size());
  }

  /// Appends a step; the steps are opened in order.
  void open(int64_t step, uint32_t program);

  /// Whether a step that ended long ago is asked for, whose positions are
  /// forgotten.
  bool isForgotten(int64_t step) const {
    return step < count.load(std::memory_order_acquire) - kStepsInFlight;
  }

  /// Where instruction `sequence` of a stream is. If the newest step has no
  /// such instruction, the position is behind its last one.
  Position positionOf(uint32_t stream, uint64_t sequence) const {
    int64_t step =
        std::max<int64_t>(count.load(std::memory_order_acquire) - 1, 0);
    uint64_t begin = beginOf(stream, step);
    if (begin > sequence) {
      const int64_t oldest = std::max<int64_t>(step - kStepsInFlight, 0);
      while (step > oldest && begin > sequence)
        begin = beginOf(stream, --step);
    }
    return {step, static_cast<uint32_t>(sequence - std::min(begin, sequence))};
  }
  /// Whether instruction `sequence` is of a step that is open.
  bool isOpen(uint32_t stream, uint64_t sequence) const {
    return sequence < beginOf(stream, count.load(std::memory_order_acquire));
  }
  /// How many instructions of a stream come before a step.
  uint64_t beginOf(uint32_t stream, int64_t step) const {
    return entryOf(step).begins[stream].load(std::memory_order_acquire);
  }
  /// How many instructions of a stream there are when a point is reached.
  uint64_t countAt(StreamPoint point, int64_t step) const {
    return beginOf(point.stream, step) + point.count;
  }
  /// The same for a point of the step before `step`, in an iteration of the
  /// same step.
  uint64_t countOfPrevious(StreamPoint point, int64_t step) const {
    return countAt(point, step - 1) + programOf(step - 1).lead[point.stream];
  }
  /// Behind the last instruction of a stream in a step.
  StreamPoint endOf(uint32_t stream, int64_t step) const {
    return {stream,
            static_cast<uint32_t>(programOf(step).streams[stream].size())};
  }

  /// Whether a step waits for all of the step before, since that was another
  /// one of the plan's or since steps run before it.
  bool isChange(int64_t step) const;

private:
  /// Positions are asked for in steps in flight, and the beginning of the next.
  /// A thread that reports waits may be a step late.
  static constexpr size_t kKept = 2 * kStepsInFlight;

  struct Entry {
    std::atomic<uint32_t> program{0};
    /// By stream, that of launches last.
    std::vector<std::atomic<uint64_t>> begins;
  };
  const Entry &entryOf(int64_t step) const {
    return entries[static_cast<size_t>(step) % kKept];
  }

  std::vector<StreamPrograms> programs;
  std::array<Entry, kKept> entries;
  /// The number of steps that were opened.
  std::atomic<int64_t> count{0};
};

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_SESSION_STEPSEQUENCE_H
