//===- ExecutorMessages.h - What an executor says of its plan -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The errors of a rank's executor, and the words by which errors, warnings and
// reports of waits name tensors and instructions. Nothing here knows in which
// state the executor is. Steps are those of the session.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_SESSION_EXECUTORMESSAGES_H
#define BAGUA_LIB_RUNTIME_SESSION_EXECUTORMESSAGES_H

#include "bagua/Runtime/ErrorPlace.h"
#include "bagua/Runtime/Plan.h"

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

#include <cstdint>
#include <optional>
#include <string>

namespace bagua::runtime {

/// Whether the text begins with "rank 3: ...", as errors of sessions do.
bool beginsWithRank(absl::string_view message);

/// The instruction that a rank runs, or is about to run.
struct CurrentCall {
  uint32_t instruction;
  int64_t step;
  bool hasBegun;
};

class ExecutorMessages {
public:
  ExecutorMessages(const Plan &loaded, int ownRank)
      : plan(loaded), rank(ownRank) {}

  /// "'w'".
  std::string tensor(uint32_t tensor) const;
  /// "stream 'comm'".
  std::string stream(uint32_t stream) const;
  /// "instruction 3 'bucket1' (all_reduce) on stream 'comm' (touches 'w')".
  std::string instruction(uint32_t instruction) const;
  /// instruction(), and "in step 2".
  std::string call(uint32_t instruction, int64_t step) const;
  /// "barrier before step 2".
  static std::string barrier(int64_t step);
  /// "waits for tensor 'w', which the program has not given", or "waits for
  /// stream 'comm'" if `tensor` is -1.
  std::string waits(int64_t tensor, int64_t stream) const;
  /// "tensor 'w'", or "the end of a step" if `tensor` is -1.
  std::string awaited(int64_t tensor) const;
  /// `text` of this rank.
  std::string ofRank(absl::string_view text) const;

  /// With the first tensor that the instruction touches.
  ErrorPlace placeOf(uint32_t instruction, int64_t step) const;

  /// A queue of the program's has failed before `tensor` was complete.
  absl::Status giftFailed(uint32_t instruction, uint32_t tensor,
                          int64_t step) const;
  /// The program waits for `awaited`; `instruction` comes before, and waits for
  /// a tensor that only the waiting thread could give.
  absl::Status waitCannotEnd(int64_t awaited, uint32_t instruction,
                             uint32_t tensor, int64_t step) const;
  /// The error of an instruction. An error from another rank may already
  /// describe the call.
  absl::Status callFailed(const absl::Status &why, uint32_t instruction,
                          int64_t step) const;
  absl::Status barrierFailed(const absl::Status &why, int64_t step) const;
  /// The error by which a run has failed, of any rank: `current` is what this
  /// rank was doing. Errors of sessions have their rank's words already.
  absl::Status runFailed(const absl::Status &why,
                         const std::optional<CurrentCall> &current) const;
  /// A stream has not got what it needs to start.
  absl::Status startFailed(uint32_t stream, absl::string_view what,
                           absl::string_view why) const;

private:
  const Plan &plan;
  const int rank;
};

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_SESSION_EXECUTORMESSAGES_H
