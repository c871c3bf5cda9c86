//===- StepFigures.h - What a step took -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// As a session measures it on its rank, to be laid beside what bagua-sim
// predicts.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_RUNTIME_STEPFIGURES_H
#define BAGUA_RUNTIME_STEPFIGURES_H

#include "bagua/Runtime/Plan.h"

#include <chrono>
#include <cstdint>
#include <optional>

namespace bagua::runtime {

struct StepFigures {
  /// Its number, as Session::step() gives it.
  int64_t step = 0;
  /// From its beginStep to the next one, or to the end of finish().
  std::chrono::nanoseconds duration{0};
  /// How much of that the program's thread was in wait(), beginStep, barrier()
  /// or finish() until communication, or another instruction of the runtime's,
  /// was done: the communication that is exposed.
  std::chrono::nanoseconds exposed{0};
  /// What the step's instructions sent from this rank, as Session::bytesSent()
  /// counts.
  int64_t bytesSent = 0;
};

/// The prediction for a step of the plan, as a step of number -1; nothing where
/// the plan holds none, as those of format 1.0.
std::optional<StepFigures> predictedFigures(const Plan &plan);

} // namespace bagua::runtime

#endif // BAGUA_RUNTIME_STEPFIGURES_H
