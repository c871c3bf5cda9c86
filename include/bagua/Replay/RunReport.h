//===- RunReport.h - What bagua-run prints --------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The summary of a run, for people and as JSON.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_REPLAY_RUNREPORT_H
#define BAGUA_REPLAY_RUNREPORT_H

#include "bagua/Replay/Replay.h"

#include "absl/status/status.h"

#include <string>

namespace bagua::replay {

std::string reportText(const Plan &plan, const ReplayOptions &options,
                       const ReplayResult &result);
std::string reportJson(const Plan &plan, const ReplayOptions &options,
                       const ReplayResult &result);

/// Where a path is given. The trace of a process has its rank's number behind
/// the name, but for rank 0's. Unavailable where it can't be written.
absl::Status writeTrace(const std::string &path, const TraceWriter &trace,
                        int rank);

} // namespace bagua::replay

#endif // BAGUA_REPLAY_RUNREPORT_H
