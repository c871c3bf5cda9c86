//===- StreamPrograms.h - Who waits for whom in a step --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The order in which one rank's streams run a plan's instructions. Since a
// stream completes its instructions in order, every wait for instructions comes
// down to at most one count per other stream.
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

/// Conditions on a step (and on the one before it).
struct Conditions {
  /// Tensors given in this step, in the order in which the program gives them.
  std::vector<uint32_t> ready;
  std::vector<uint32_t> readyPrevious;
  /// At most one entry a stream.
  std::vector<StreamPoint> after;
  std::vector<StreamPoint> afterPrevious;
};

struct ScheduledInstruction {
  /// Its number in the plan.
  uint32_t instruction;
  Conditions waits;
  /// Of a collective: tensors that are given before it can start, and not
  /// before an earlier collective of its stream. All ranks name the same.
  std::vector<uint32_t> carries;
};

struct StreamPrograms {
  /// By the stream's number in the plan, in launch order.
  std::vector<std::vector<ScheduledInstruction>> streams;
  /// By tensor: after these wait() returns.
  std::vector<std::vector<StreamPoint>> users;
  /// By tensor: the first instruction that waits for it to be given; -1 if
  /// none.
  std::vector<int64_t> firstWaiter;
};

/// Instructions that have nothing to do on this rank are left out, and what
/// they waited for passes on to who waited for them. `isGiven`: whether this
/// rank's program gives a tensor in every step. Linear in the plan's size for
/// each stream.
StreamPrograms makeStreamPrograms(const fb::Plan &plan,
                                  const std::vector<bool> &hasWork,
                                  const std::vector<bool> &isGiven);

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_SESSION_STREAMPROGRAMS_H
