//===- ProcessRanks.cpp - A tool's ranks as processes ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ranks are processes that a launcher has started, or forked copies.
//
//===----------------------------------------------------------------------===//
#include "bagua/Replay/ProcessRanks.h"

#include "bagua/Replay/ForkedRanks.h"
#include "bagua/Runtime/Processes.h"

#include "absl/strings/str_cat.h"

#include <cstdlib>
#include <utility>

namespace bagua::replay {

absl::StatusOr<std::shared_ptr<runtime::World>>
connectRank(const runtime::Launch &launch, const ProcessRanks &ranks) {
  runtime::ProcessOptions options;
  options.timeout = options.communicatorTimeout = ranks.timeout;
  options.patience = ranks.patience;
  options.interface = ranks.interface;
  const bool mayBeSeveral = ranks.communicator != "shared-memory";
  if (mayBeSeveral)
    options.host = ForkedRanks::hostOf(launch, ranks.hosts);
  auto world = connectLaunched(launch, ranks.rendezvous, options);
  if (!world.ok())
    return world.status();
  if (!mayBeSeveral && (*world)->hostCount() > 1)
    return absl::FailedPreconditionError(absl::StrCat(
        "ranks are on ", (*world)->hostCount(),
        " hosts: expected --communicator=gloo, found shared-memory"));
  return std::shared_ptr<runtime::World>(*std::move(world));
}

absl::StatusOr<bool> runOnProcesses(int64_t size, const OnRank &onRank) {
  auto launch = runtime::findLaunch(std::getenv);
  if (!launch.ok())
    return launch.status();
  if (*launch)
    return onRank(**launch);
  auto ranks = ForkedRanks::fork(static_cast<int>(size));
  if (!ranks.ok())
    return ranks.status();
  absl::StatusOr<bool> passed = onRank(ranks->launch());
  if (ranks->launch().rank > 0)
    std::exit(passed.ok() ? 0 : 1); // a copy has no caller of its own
  // A copy that is stopped would not end by itself.
  absl::Status ended = ranks->join(std::chrono::seconds(passed.ok() ? 60 : 2));
  return passed.ok() && !ended.ok() ? ended : passed;
}

} // namespace bagua::replay
