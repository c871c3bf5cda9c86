//===- StreamPrograms.h - The waits of streams within an iteration --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The order in which one rank's streams run the instructions of an iteration:
// those of a plan's step, behind those of the steps that run right before it. A
// stream completes its instructions in order, so every wait for instructions
// reduces to at most one count for each other stream.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_SESSION_STREAMPROGRAMS_H
#define BAGUA_LIB_RUNTIME_SESSION_STREAMPROGRAMS_H

#include "bagua/Runtime/Plan.h"
#include "bagua/Runtime/PlanGenerated.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace bagua::runtime {

/// The first `count` instructions of a stream in an iteration are complete.
struct StreamPoint {
  uint32_t stream;
  uint32_t count;
};

/// Conditions on an iteration, and on the one before it.
struct Conditions {
  /// Tensors given in this iteration, in the order in which the program gives
  /// them.
  std::vector<uint32_t> ready;
  std::vector<uint32_t> readyPrevious;
  /// At most one entry for each stream.
  std::vector<StreamPoint> after;
  /// Counts of an iteration of the same step that runs nothing before it.
  std::vector<StreamPoint> afterPrevious;
};

struct ScheduledInstruction {
  /// The instruction's number among those of all steps.
  uint32_t instruction;
  Conditions waits;
  /// For a collective: the tensors that are given before it can start, but not
  /// before an earlier collective of its stream. All ranks list the same ones.
  std::vector<uint32_t> carries;
  /// For a collective in which this rank takes part: its place among these in
  /// the iteration. Else -1.
  int64_t launch = -1;
};

struct StreamPrograms {
  /// The plan's step that the iteration runs.
  uint32_t step = 0;
  /// By the stream's number in the plan; instructions in launch order.
  std::vector<std::vector<ScheduledInstruction>> streams;
  /// The collectives in which this rank takes part, in the order of the plan,
  /// which is the same on all ranks: the stream of each, and the number of
  /// instructions before it there.
  std::vector<StreamPoint> launches;
  /// By tensor: the points after which wait() returns.
  std::vector<std::vector<StreamPoint>> users;
  /// By tensor: the first instruction that waits for it to be given; -1 if
  /// none.
  std::vector<int64_t> firstWaiter;
  /// By stream: how many of its instructions are of steps that run before.
  std::vector<uint32_t> lead;
  /// By tensor: the points among these after which they no longer use it.
  /// Empty if no steps run before.
  std::vector<std::vector<StreamPoint>> leadUsers;
};

/// The programs of all iterations.
struct IterationPrograms {
  /// One for each of the plan's steps, by its number; then those of `joined`.
  std::vector<StreamPrograms> programs;
  /// By iteration before which other steps run: the number of its programs.
  std::map<int64_t, uint32_t> joined;
};

/// The programs of an iteration that runs nothing before its step. Instructions
/// without work on this rank are left out; whatever waited for them waits for
/// what they waited for. `hasWork` is by number of the plan's instructions, and
/// `isGiven` says whether this rank's program gives a tensor in every iteration
/// of the step. Takes time linear in the plan's size for each stream.
StreamPrograms makeStreamPrograms(const Plan &plan, uint32_t step,
                                  const std::vector<bool> &hasWork,
                                  const std::vector<bool> &isGiven);

/// The programs of an iteration of `step`, which runs `before` first, in this
/// order. Each of them begins when the one before has ended.
StreamPrograms joinPrograms(const std::vector<const StreamPrograms *> &before,
                            const StreamPrograms &step);

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_SESSION_STREAMPROGRAMS_H
