//===- RankReport.h - The report of one rank of a replay ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A report has the measurements and findings of one rank, which may come from
// another process. All reports together make the result of the run.
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

/// The timed steps of a rank, and the findings of its check.
struct RankReport {
  std::vector<int64_t> stepNs;
  std::vector<int64_t> exposedNs;
  int64_t bytesSent = 0;
  int64_t arenaBytes = 0;
  RankFindings check;
};

/// How many iterations a check looks at: those that are timed, if the plan has
/// several steps, and else kCheckedSteps.
int64_t checkedSteps(const Plan &plan, const ReplayOptions &options);

/// Merges the reports, which are indexed by rank.
ReplayResult mergeReports(const Plan &plan, const ReplayOptions &options,
                          const std::vector<RankReport> &reports);

/// Collective over the world. On rank 0, returns the reports of all ranks, by
/// rank; elsewhere an empty list.
absl::StatusOr<std::vector<RankReport>> gatherReports(runtime::World &world,
                                                      const RankReport &own);

} // namespace bagua::replay

#endif // BAGUA_LIB_REPLAY_RANKREPORT_H
