//===- SessionCheckpoint.cpp - A session's state, saved and loaded --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Converts between a session and the bytes of SessionState.
//
//===----------------------------------------------------------------------===//
#include "Session/PlanSession.h"

#include "Communication/StatusCopy.h"

#include "absl/strings/str_cat.h"

#include <utility>
#include <vector>

namespace bagua::runtime {

using absl::StrCat;

/// Whether the state is that of the end of a step: after finish(), or after an
/// error that came when this rank's part of its last step was done.
bool PlanSession::isAtRest() const {
  return isFinished || (executor.hasFailed() && phase == Phase::BetweenSteps &&
                        now >= 0 && executor.isStepReached(now));
}

absl::StatusOr<std::string> PlanSession::saveState() const {
  if (!isAtRest())
    return executor.hasFailed()
               ? executor.failure()
               : absl::FailedPreconditionError(
                     StrCat("rank ", rank(), ": saveState before finish"));
  SavedState state = describeState(*plan, rank(), firstStep + now + 1);
  state.session = number;
  std::vector<bool> isSaved = findSaved(*plan, rank(), isUpdated);
  for (uint32_t i = 0; i < tensors.size(); ++i) {
    const std::byte *data = memory.tensorAddress(i);
    if (!isSaved[i] || !data)
      continue;
    SavedTensor saved = describeTensor(tensorAt(i));
    saved.updates = updates.count(i);
    saved.bytes.resize(memory.tensorBytes(i));
    if (absl::Status status =
            copyNow(saved.bytes.data(), data, saved.bytes.size());
        !status.ok())
      return status;
    state.tensors[tensorAt(i).name()->str()] = std::move(saved);
  }
  return writeState(state);
}

absl::Status PlanSession::loadState(absl::string_view bytes) {
  if (phase != Phase::Binding)
    return absl::FailedPreconditionError(
        StrCat("rank ", rank(), ": loadState after start"));
  absl::StatusOr<SavedState> state = readState(bytes);
  if (!state.ok())
    return withMessage(state.status(),
                       StrCat("rank ", rank(), ": ", state.status().message()));
  absl::Status status = adaptState(*plan, rank(), isUpdated, *state);
  if (!status.ok())
    return withMessage(status, StrCat("rank ", rank(), ": ", status.message()));
  // The plan that saved the state may have run its steps in other iterations.
  std::vector<int64_t> counts = updates.expectBefore(state->steps);
  for (const auto &[name, saved] : state->tensors)
    counts[indexOf(*find(name))] = saved.updates;
  if (status = updates.start(std::move(counts)); !status.ok())
    return withMessage(status, StrCat("rank ", rank(), ": ", status.message()));
  for (auto &[name, saved] : state->tensors) {
    uint32_t tensor = indexOf(*find(name));
    tensors[tensor].isLocated = tensors[tensor].isLoaded = true;
    std::byte *data = memory.tensorAddress(tensor);
    if (!data)
      loaded[name] = std::move(saved);
    else if (status = copyNow(data, saved.bytes.data(), saved.bytes.size());
             !status.ok())
      return status;
  }
  firstStep = state->steps;
  loadedNumber = state->session;
  hasLoadedState = true;
  return absl::OkStatus();
}

} // namespace bagua::runtime
