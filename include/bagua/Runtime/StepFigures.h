//===- StepFigures.h - What a step took -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The figures that a session measures on its rank, and that bagua-sim predicts.
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
  /// The step's number, as Session::step() gives it.
  int64_t step = 0;
  /// The time from the step's beginStep to the next one, or to the end of
  /// finish().
  std::chrono::nanoseconds duration{0};
  /// The part of `duration` that the program's thread spent in wait(),
  /// beginStep, barrier() or finish() until communication, or another
  /// instruction of the runtime, was done: the exposed communication.
  std::chrono::nanoseconds exposed{0};
  /// Bytes that the step's instructions sent from this rank, counted as by
  /// Session::bytesSent().
  int64_t bytesSent = 0;
};

/// The prediction for the step that an iteration runs, with step number -1.
/// Nothing if the plan holds no prediction.
std::optional<StepFigures> predictedFigures(const Plan &plan,
                                            int64_t iteration = 0);

} // namespace bagua::runtime

#endif // BAGUA_RUNTIME_STEPFIGURES_H
