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

/// Writes the trace if `path` is not empty. For a rank other than 0, the rank's
/// number is appended to the name. Unavailable if the file can't be written.
absl::Status writeTrace(const std::string &path, const TraceWriter &trace,
                        int rank);

} // namespace bagua::replay

#endif // BAGUA_REPLAY_RUNREPORT_H
