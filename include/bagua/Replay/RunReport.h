//===- RunReport.h - What bagua-run prints --------------------------------===//
//
// The summary of a run, for people and as JSON.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_REPLAY_RUNREPORT_H
#define BAGUA_REPLAY_RUNREPORT_H

#include "bagua/Replay/Replay.h"

#include <string>

namespace bagua::replay {

std::string reportText(const Plan &plan, const ReplayOptions &options,
                       const ReplayResult &result);
std::string reportJson(const Plan &plan, const ReplayOptions &options,
                       const ReplayResult &result);

} // namespace bagua::replay

#endif // BAGUA_REPLAY_RUNREPORT_H
