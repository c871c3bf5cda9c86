//===- Checkpoint.h - Files of state that a crash can't harm --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A run that has failed continues from the last checkpoint that every rank has.
// Each rank keeps its last two checkpoints, in files of its own:
//
//   session->finish();
//   writeCheckpoint(path, *session->saveState());
//   // later, in a new session of a new world
//   auto newest = findNewestCheckpoint(*world, pathsOfMyFiles);
//   session->loadState(contentsOf(pathsOfMyFiles[**newest]));
//
// A rank needs two files because a crash may come when some ranks have written
// a checkpoint and others have not. The two are the one that was written last,
// and the one before it (or, in a run that was resumed, the one that was
// loaded). All others can be removed once a state is loaded.
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

/// Replaces the contents of the file by `bytes`. If a process or a host crashes
/// at any time, the file holds either its old contents or `bytes`; a file
/// PATH.partial may be left, which the next call overwrites. Errors name the
/// path and the reason: Unavailable if the file can't be written or another
/// process is writing it, ResourceExhausted if it would exceed this process's
/// limit (ulimit -f). After an error, too, the file holds its old contents or
/// `bytes`.
absl::Status writeCheckpoint(const std::string &path, absl::string_view bytes);

/// Returns the index in `paths`, which are this rank's files, of the newest
/// state that every rank has, or nothing if there is none. States belong
/// together if the same session has saved them. The number of steps alone is
/// not enough: a run that stopped may have left, on some ranks, states of as
/// many steps as this run's. A file that is missing or damaged, or that another
/// rank has saved, is ignored. Collective over the world. Errors are those of a
/// communicator.
absl::StatusOr<std::optional<size_t>>
findNewestCheckpoint(World &world, absl::Span<const std::string> paths);

} // namespace bagua::runtime

#endif // BAGUA_RUNTIME_CHECKPOINT_H
