//===- ProcessRanks.h - A tool's ranks as processes -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ranks that a launcher has started, or copies of this process: what
// bagua-run's options say of them, and how it becomes one of them.
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
  /// shared-memory: ranks of one host; gloo, or anything else: of several.
  std::string communicator;
  /// Where processes meet; empty: as their launcher says.
  std::string rendezvous;
  /// By which they reach other hosts; empty: by which they reach rank 0.
  std::string interface;
  /// As many hosts do copies of this process count for, with gloo; 0: one each.
  int64_t hosts = 0;
  /// How long a rank waits for others, and how long one may be silent.
  std::chrono::nanoseconds timeout = std::chrono::seconds(600);
  std::chrono::nanoseconds patience = std::chrono::seconds(10);
};

/// FailedPrecondition where shared memory is asked for, and ranks are on
/// several hosts; else as connectLaunched.
absl::StatusOr<std::shared_ptr<runtime::World>>
connectRank(const runtime::Launch &launch, const ProcessRanks &ranks);

/// What a rank does, and whether its result is good.
using OnRank = std::function<absl::StatusOr<bool>(const runtime::Launch &)>;

/// Calls `onRank` once: where a launcher has started this process, as the rank
/// that it is; else as rank 0 of `size`, and in copies of this process as each
/// other, which end with it. What ends a copy by an error ends rank 0, which
/// has the answer.
absl::StatusOr<bool> runOnProcesses(int64_t size, const OnRank &onRank);

} // namespace bagua::replay

#endif // BAGUA_REPLAY_PROCESSRANKS_H
