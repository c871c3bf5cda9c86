//===- SessionState.h - A rank's state as bytes ---------------------------===//
//
// What a checkpoint holds of a session. Tensor by tensor and by name, so that
// it does not depend on the plan that wrote it.
//
//   magic "BGST", u32 version 0, i64 steps, u64 count, then for each tensor
//   u64 length, name, u8 element type, u64 length, bytes; at the end the u64
//   fingerprint of everything before. Little-endian.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_SESSION_SESSIONSTATE_H
#define BAGUA_LIB_RUNTIME_SESSION_SESSIONSTATE_H

#include "bagua/Runtime/PlanGenerated.h"

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include <cstdint>
#include <map>
#include <string>

namespace bagua::runtime {

struct SavedTensor {
  uint8_t type = 0;
  std::string bytes;
};

struct SavedState {
  int64_t steps = 0;
  std::map<std::string, SavedTensor> tensors;
};

/// Whether a checkpoint holds the tensor.
bool isSavedState(const fb::Tensor &tensor);

std::string writeState(const SavedState &state);
/// InvalidArgument for anything that writeState has not written.
absl::StatusOr<SavedState> readState(absl::string_view bytes);

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_SESSION_SESSIONSTATE_H
