//===- Run.h - A run as one rank's process knows it -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The data that a rank's world shares with its backends and their
// communicators. Kinds of worlds add to it the data that their ranks have in
// common: processes add a connection to rank 0 and shared memory.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_COMMUNICATION_RUN_H
#define BAGUA_LIB_RUNTIME_COMMUNICATION_RUN_H

#include "Communication/Memory/RunState.h"

#include "absl/status/status.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

namespace bagua::runtime {

struct Run {
  Run() = default;
  Run(int ownRank, std::shared_ptr<RunState> shared)
      : rank(ownRank), state(std::move(shared)) {}
  virtual ~Run() = default;

  /// FailedPrecondition in a process that may not use the run.
  virtual absl::Status check() const { return absl::OkStatus(); }

  int rank = 0;
  std::shared_ptr<RunState> state;
};

/// The index of `rank` in `members`; their number if it is not among them.
inline int placeIn(const std::vector<int> &members, int rank) {
  return static_cast<int>(std::find(members.begin(), members.end(), rank) -
                          members.begin());
}

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_COMMUNICATION_RUN_H
