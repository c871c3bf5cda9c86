//===- Options.h - The command line of bagua-run --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One table has all flags; the parser and --help are both made from it.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_TOOLS_BAGUA_RUN_OPTIONS_H
#define BAGUA_TOOLS_BAGUA_RUN_OPTIONS_H

#include "bagua/Replay/ProcessRanks.h"
#include "bagua/Replay/Replay.h"

#include "absl/status/statusor.h"

#include <cstdint>
#include <string>
#include <vector>

namespace bagua::run {

struct Options {
  /// The plan's file; "-" is standard input.
  std::string plan = "-";
  /// The number of ranks; 0 means as many as the plan is for.
  int64_t ranks = 0;
  /// How ranks are started. An empty communicator means that the tool chooses.
  replay::ProcessRanks processes;
  /// The options of the replay, except those that main() fills in.
  replay::ReplayOptions replay;
  /// The file of the trace; empty for none.
  std::string trace;
  bool json = false;
  /// Whether to measure the cluster instead of running a plan.
  bool calibrate = false;
  /// The file for the measured cluster; empty for standard output.
  std::string output;
  bool help = false;
  bool version = false;
};

/// InvalidArgument names the flag and the values that it takes.
absl::StatusOr<Options> parseOptions(const std::vector<std::string> &arguments);

std::string helpText();
std::string versionText();

} // namespace bagua::run

#endif // BAGUA_TOOLS_BAGUA_RUN_OPTIONS_H
