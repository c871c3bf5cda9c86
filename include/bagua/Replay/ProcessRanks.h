//===- ProcessRanks.h - A tool's ranks as processes -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How bagua-run becomes one rank of several: its options for this, and ranks
// that a launcher has started or that are copies of this process.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_REPLAY_PROCESSRANKS_H
#define BAGUA_REPLAY_PROCESSRANKS_H

#include "bagua/Runtime/Communicator.h"
#include "bagua/Runtime/Launch.h"

#include "absl/status/statusor.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace bagua::replay {

struct ProcessRanks {
  /// shared-memory if all ranks are on one host; gloo, or any other text, if
  /// they may be on several.
  std::string communicator;
  /// Where processes meet; empty: where the launcher says.
  std::string rendezvous;
  /// The interface to other hosts; empty: the one on which the rank reaches
  /// rank 0.
  std::string interface;
  /// With gloo and copies of this process: how many hosts the copies pretend to
  /// be on; 0: each on its own.
  int64_t hosts = 0;
  /// How long a rank waits for others, and how long a rank may be silent.
  std::chrono::nanoseconds timeout = std::chrono::seconds(600);
  std::chrono::nanoseconds patience = std::chrono::seconds(10);
};

/// FailedPrecondition if shared memory is asked for and ranks are on several
/// hosts. Other errors are those of connectLaunched.
absl::StatusOr<std::shared_ptr<runtime::World>>
connectRank(const runtime::Launch &launch, const ProcessRanks &ranks);

/// Runs a rank; returns whether its result is good.
using OnRank = std::function<absl::StatusOr<bool>(const runtime::Launch &)>;

/// Calls `onRank` once. If a launcher has started this process, `onRank` runs
/// as the launcher's rank. Otherwise it runs as rank 0 of `size`, and copies of
/// this process, which end with it, run the other ranks. Rank 0 returns the
/// answer, or an error if a copy ended by one.
absl::StatusOr<bool> runOnProcesses(int64_t size, const OnRank &onRank);

} // namespace bagua::replay

#endif // BAGUA_REPLAY_PROCESSRANKS_H
