//===- ScheduleMutator.h - Random faults at scheduled level ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a broken scheduler or placement could do.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_UNITTESTS_PROOFS_SCHEDULEMUTATOR_H
#define BAGUA_UNITTESTS_PROOFS_SCHEDULEMUTATOR_H

#include "Random.h"

#include "bagua/Dialect/Bagua/Bagua.h"

#include <optional>
#include <string>

namespace bagua::proofs {

enum class ScheduleMutation {
  MoveOffset,
  ChangePlace,
  RemoveAfter,
  ChangeOrder,
  ChangeStream,
  ChangeSize,
  /// A value lies in the tensor of a name, maybe one that lies in an arena.
  UseName,
  /// An update of the runtime's stands as late as its users let it: behind
  /// updates that wait for more.
  PutLast,
  /// Compute is late that was not, or the other way round.
  ChangeLate,
};

inline constexpr int kScheduleMutationCount = 9;

llvm::StringRef stringifyScheduleMutation(ScheduleMutation mutation);

/// Changes the step; nothing if the choice made does not apply, and then the
/// step is as it was. The result need not pass MLIR's verifier.
std::optional<ScheduleMutation> mutateSchedule(StepOp step, Random &random);

} // namespace bagua::proofs

#endif // BAGUA_UNITTESTS_PROOFS_SCHEDULEMUTATOR_H
