//===- Options.h - The command line of bagua-run --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Flags in one table, from which both the parser and --help are made.
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
  /// "-": standard input.
  std::string plan = "-";
  /// 0: as many as the plan is for.
  int64_t ranks = 0;
  /// With an empty communicator: what suits.
  replay::ProcessRanks processes;
  /// But for what main() fills in.
  replay::ReplayOptions replay;
  /// Empty: none.
  std::string trace;
  bool json = false;
  /// Measure instead of running a plan.
  bool calibrate = false;
  /// Where the cluster goes; empty: standard output.
  std::string output;
  bool help = false;
  bool version = false;
};

/// InvalidArgument names the flag and what it takes.
absl::StatusOr<Options> parseOptions(const std::vector<std::string> &arguments);

std::string helpText();
std::string versionText();

} // namespace bagua::run

#endif // BAGUA_TOOLS_BAGUA_RUN_OPTIONS_H
