//===- Checkpoint.h - Files of state that a crash can't harm --------------===//
//
// A run that has failed goes on from its last checkpoint, which every rank must
// have. Each rank keeps its last two, in files of their own:
//
//   session->finish();
//   writeCheckpoint(pathOf(session->step() + 1), *session->saveState());
//   // later, in a new session of a new world
//   auto step = findNewestCommon(*world, stepsOfMyFiles);
//   session->loadState(contentsOf(pathOf(**step)));
//
// Two, because a crash may come when some have written and others have not.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_RUNTIME_CHECKPOINT_H
#define BAGUA_RUNTIME_CHECKPOINT_H

#include "bagua/Runtime/Communicator.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

#include <cstdint>
#include <optional>
#include <string>

namespace bagua::runtime {

/// Makes `bytes` what the file holds. A process or a host that crashes at any
/// time leaves what it held before, or these, and maybe PATH.partial, which the
/// next call overwrites. One process writes to a path at a time. Unavailable,
/// with the path and the reason, where it can't be written; then it holds
/// either, too.
absl::Status writeCheckpoint(const std::string &path, absl::string_view bytes);

/// The greatest of the numbers that all ranks have; nothing where there is
/// none. Collective over the world. Errors are a communicator's.
absl::StatusOr<std::optional<int64_t>>
findNewestCommon(World &world, absl::Span<const int64_t> steps);

} // namespace bagua::runtime

#endif // BAGUA_RUNTIME_CHECKPOINT_H
