//===- StepLog.h - Figures of a session's last steps ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Always on: it costs one read of the clock for each step. Up to two steps are
// in flight, so the duration of a step is known before all its bytes are. Other
// threads may read the log meanwhile.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_SESSION_STEPLOG_H
#define BAGUA_LIB_RUNTIME_SESSION_STEPLOG_H

#include "bagua/Runtime/StepFigures.h"
#include "bagua/Support/StepsInFlight.h"

#include "absl/status/statusor.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace bagua::runtime {

class StepLog {
public:
  /// The number of finished steps that are kept.
  static constexpr int64_t kKept = 64;

  // Steps count from 0 since start(). `waitedNs` and `bytesSent` are totals
  // since then; `bytesSent` covers all steps of the step's side, even or odd.

  /// Step `step` begins at `nowNs`. The step before is over then, if it is not
  /// already.
  void begin(int64_t step, int64_t nowNs, int64_t waitedNs);
  /// The newest step is over, and no other one begins.
  void end(int64_t nowNs, int64_t waitedNs);
  /// All instructions of `step` are done.
  void complete(int64_t step, int64_t bytesSent);

  /// The figures of the step that lies `back` steps before the newest one whose
  /// figures are complete. OutOfRange if it is not kept.
  absl::StatusOr<StepFigures> at(int64_t back, int64_t firstStep) const;

private:
  static constexpr size_t kSlots = kKept + kStepsInFlight;
  static size_t slotOf(int64_t step) {
    return static_cast<size_t>(step) % kSlots;
  }
  /// end() for callers that hold `mutex`.
  void finish(int64_t nowNs, int64_t waitedNs);

  mutable std::mutex mutex;
  std::array<StepFigures, kSlots> kept;
  /// The newest step, while it is not over; else -1.
  int64_t current = -1;
  /// The number of steps that are done.
  int64_t completed = 0;
  int64_t startNs = 0;
  int64_t waitedAtStart = 0;
  std::array<int64_t, kStepsInFlight> sentBefore{};
};

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_SESSION_STEPLOG_H
