//===- RankReport.h - What a rank of a replay hands in --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Measurements and findings of one rank, which may come from another process,
// and what all of them together say of the run.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_REPLAY_RANKREPORT_H
#define BAGUA_LIB_REPLAY_RANKREPORT_H

#include "Checker.h"

#include "bagua/Replay/Replay.h"
#include "bagua/Runtime/Communicator.h"

#include "absl/status/statusor.h"

#include <cstdint>
#include <vector>

namespace bagua::replay {

/// Of the timed steps, but for what the check found.
struct RankReport {
  std::vector<int64_t> stepNs;
  std::vector<int64_t> exposedNs;
  int64_t bytesSent = 0;
  int64_t arenaBytes = 0;
  RankFindings check;
};

/// `reports` by rank.
ReplayResult mergeReports(const Plan &plan, const ReplayOptions &options,
                          const std::vector<RankReport> &reports);

/// Collective over the world: on rank 0 the reports of all, by rank; elsewhere
/// none.
absl::StatusOr<std::vector<RankReport>> gatherReports(runtime::World &world,
                                                      const RankReport &own);

} // namespace bagua::replay

#endif // BAGUA_LIB_REPLAY_RANKREPORT_H
