//===- Checkpoint.h - Files of state that a crash can't harm --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A run that has failed goes on from its last checkpoint, which every rank must
// have. Each rank keeps its last two, in files of their own:
//
//   session->finish();
//   writeCheckpoint(path, *session->saveState());
//   // later, in a new session of a new world
//   auto newest = findNewestCheckpoint(*world, pathsOfMyFiles);
//   session->loadState(contentsOf(pathsOfMyFiles[**newest]));
//
// Two, because a crash may come when some have written and others have not: the
// one that was written last, and the one before it or, in a run that goes on,
// the one that was loaded. Others can be removed once a state is loaded.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_RUNTIME_CHECKPOINT_H
#define BAGUA_RUNTIME_CHECKPOINT_H

#include "bagua/Runtime/Communicator.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

#include <cstddef>
#include <optional>
#include <string>

namespace bagua::runtime {

/// Makes `bytes` what the file holds. A process or a host that crashes at any
/// time leaves what it held before, or these, and maybe PATH.partial, which the
/// next call overwrites. Unavailable, with the path and the reason, where it
/// can't be written, or another process is writing it; then it holds either,
/// too.
absl::Status writeCheckpoint(const std::string &path, absl::string_view bytes);

/// The place in `paths`, files of this rank's, of the state of the latest step
/// of which every rank has one; nothing where there is none. States belong
/// together if one session has saved them: a run that stopped after this one's
/// last common checkpoint may have left some of its own, of as many steps. A
/// file that is not there or is damaged counts as none. Collective over the
/// world. Errors are a communicator's.
absl::StatusOr<std::optional<size_t>>
findNewestCheckpoint(World &world, absl::Span<const std::string> paths);

} // namespace bagua::runtime

#endif // BAGUA_RUNTIME_CHECKPOINT_H
