//===- SessionState.h - A rank's state as bytes ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A checkpoint of a session says whose state it is, has the gradients of the
// step, which are the same under all strategies, and has the bytes of each
// tensor that the plan's instructions update. Every tensor has its name and
// form, so that another plan over the same tensors can check what it is given.
//
//   magic "BGST", u32 version 3, i64 session, i64 steps, i64 rank, i64 ranks,
//   string cluster, string plan, gradients, tensors; at the end the u64
//   fingerprint of everything before. Each of the two lists: u64 count, then
//   for each tensor string name, u8 element type, u8 role, i64 updates, u64
//   dimensions, i64 sizes, string layout, string bytes (none of gradients). A
//   string is its u64 length and its bytes. Little-endian.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_SESSION_SESSIONSTATE_H
#define BAGUA_LIB_RUNTIME_SESSION_SESSIONSTATE_H

#include "bagua/Runtime/Plan.h"
#include "bagua/Runtime/PlanGenerated.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace bagua::runtime {

struct SavedTensor {
  uint8_t type = 0;
  fb::Role role = fb::Role::Optimizer;
  /// How often the tensor has been updated as a moment.
  int64_t updates = 0;
  std::vector<int64_t> shape;
  /// As in a plan's text, but axes have numbers.
  std::string layout;
  std::string bytes;
};

struct SavedState {
  /// The number of the session that saved the state, which its rank 0 has
  /// drawn. States of one session after one step belong together. The number of
  /// steps would not be enough: two runs that resume from one checkpoint may
  /// both reach a step.
  int64_t session = 0;
  int64_t steps = 0;
  int64_t rank = 0;
  int64_t ranks = 0;
  /// The axes' sizes and the number of servers.
  std::string cluster;
  /// The plan's name and strategy, for people.
  std::string plan;
  std::map<std::string, SavedTensor> gradients;
  std::map<std::string, SavedTensor> tensors;
};

/// More steps than any run has, and few enough that adding to them can't
/// overflow.
inline constexpr int64_t kMaxSteps = int64_t{1} << 62;

/// A state of `plan` on `rank`, without tensors.
SavedState describeState(const Plan &plan, int64_t rank, int64_t steps);
/// A tensor of the plan, without bytes.
SavedTensor describeTensor(const fb::Tensor &tensor);

/// By tensor: whether a checkpoint has it. These are the tensors that the
/// runtime keeps from step to step and of which `rank` has a part: all
/// optimizer, buffer, residual and replica tensors that instructions touch, and
/// params that they update (`isUpdated`) or that live in an arena.
std::vector<bool> findSaved(const Plan &plan, int64_t rank,
                            const std::vector<bool> &isUpdated);

/// Brings a state into the form that `plan` has on `rank`: cuts this rank's
/// part from tensors that were saved whole. InvalidArgument says which rank,
/// tensor or kind of updates differs.
absl::Status adaptState(const Plan &plan, int64_t rank,
                        const std::vector<bool> &isUpdated, SavedState &state);

std::string writeState(const SavedState &state);
/// InvalidArgument for any bytes that writeState has not written.
absl::StatusOr<SavedState> readState(absl::string_view bytes);

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_SESSION_SESSIONSTATE_H
