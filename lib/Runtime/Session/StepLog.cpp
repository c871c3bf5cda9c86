//===- StepLog.cpp - Figures of a session's last steps --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The figures are in a ring.
//
//===----------------------------------------------------------------------===//
#include "Session/StepLog.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <utility>

namespace bagua::runtime {

void StepLog::begin(int64_t step, int64_t nowNs, int64_t waitedNs) {
  std::lock_guard<std::mutex> lock(mutex);
  finish(nowNs, waitedNs);
  current = step;
  startNs = nowNs;
  waitedAtStart = waitedNs;
}

void StepLog::end(int64_t nowNs, int64_t waitedNs) {
  std::lock_guard<std::mutex> lock(mutex);
  finish(nowNs, waitedNs);
}

void StepLog::finish(int64_t nowNs, int64_t waitedNs) {
  if (current < 0)
    return;
  StepFigures &figures = kept[slotOf(std::exchange(current, -1))];
  figures.duration = std::chrono::nanoseconds(nowNs - startNs);
  figures.exposed = std::chrono::nanoseconds(waitedNs - waitedAtStart);
}

void StepLog::complete(int64_t step, int64_t bytesSent) {
  std::lock_guard<std::mutex> lock(mutex);
  if (step < completed)
    return;
  int64_t &before = sentBefore[static_cast<size_t>(step) % kStepsInFlight];
  kept[slotOf(step)].bytesSent = bytesSent - std::exchange(before, bytesSent);
  completed = step + 1;
}

absl::StatusOr<StepFigures> StepLog::at(int64_t back, int64_t firstStep) const {
  std::lock_guard<std::mutex> lock(mutex);
  const int64_t count = std::min(completed, kKept);
  if (back < 0 || back >= count)
    return absl::OutOfRangeError(
        absl::StrCat("expected a number of steps back from 0 and below ", count,
                     ", found ", back, ": figures are kept of the last ", kKept,
                     " steps that are done"));
  const int64_t step = completed - 1 - back;
  StepFigures figures = kept[slotOf(step)];
  figures.step = firstStep + step;
  return figures;
}

} // namespace bagua::runtime
