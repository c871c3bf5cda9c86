//===- Report.h - What bagua-run prints -----------------------------------===//
//
// The summary of a run, for people and as JSON.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_TOOLS_BAGUA_RUN_REPORT_H
#define BAGUA_TOOLS_BAGUA_RUN_REPORT_H

#include "Replay.h"

#include <string>

namespace bagua::run {

std::string reportText(const Plan &plan, const ReplayOptions &options,
                       const ReplayResult &result);
std::string reportJson(const Plan &plan, const ReplayOptions &options,
                       const ReplayResult &result);

} // namespace bagua::run

#endif // BAGUA_TOOLS_BAGUA_RUN_REPORT_H
