//===- StreamPrograms.h - The waits of streams within a step --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The order in which one rank's streams run a plan's instructions. A stream
// completes its instructions in order, so every wait for instructions reduces
// to at most one count for each other stream.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_SESSION_STREAMPROGRAMS_H
#define BAGUA_LIB_RUNTIME_SESSION_STREAMPROGRAMS_H

#include "bagua/Runtime/PlanGenerated.h"

#include <cstdint>
#include <vector>

namespace bagua::runtime {

/// The first `count` instructions of a stream in a step are complete.
struct StreamPoint {
  uint32_t stream;
  uint32_t count;
};

/// Conditions on a step, and on the step before it.
struct Conditions {
  /// Tensors given in this step, in the order in which the program gives them.
  std::vector<uint32_t> ready;
  std::vector<uint32_t> readyPrevious;
  /// At most one entry for each stream.
  std::vector<StreamPoint> after;
  std::vector<StreamPoint> afterPrevious;
};

struct ScheduledInstruction {
  /// The instruction's number in the plan.
  uint32_t instruction;
  Conditions waits;
  /// For a collective: the tensors that are given before it can start, but not
  /// before an earlier collective of its stream. All ranks list the same ones.
  std::vector<uint32_t> carries;
};

struct StreamPrograms {
  /// By the stream's number in the plan; instructions in launch order.
  std::vector<std::vector<ScheduledInstruction>> streams;
  /// By tensor: the points after which wait() returns.
  std::vector<std::vector<StreamPoint>> users;
  /// By tensor: the first instruction that waits for it to be given; -1 if
  /// none.
  std::vector<int64_t> firstWaiter;
};

/// Instructions without work on this rank are left out; whatever waited for
/// them waits for what they waited for. `isGiven` says whether this rank's
/// program gives a tensor in every step. Takes time linear in the plan's size
/// for each stream.
StreamPrograms makeStreamPrograms(const fb::Plan &plan,
                                  const std::vector<bool> &hasWork,
                                  const std::vector<bool> &isGiven);

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_SESSION_STREAMPROGRAMS_H
