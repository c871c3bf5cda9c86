//===- ForkedRanks.h - Ranks as processes, without a launcher -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program forks copies of itself as ranks, to try a plan on one host.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_REPLAY_FORKEDRANKS_H
#define BAGUA_REPLAY_FORKEDRANKS_H

#include "bagua/Runtime/Launch.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace bagua::replay {

class ForkedRanks {
public:
  /// Copies this process, which must not have started threads. Returns as rank
  /// 0, and `size` - 1 times as another rank, in a copy. Copies end when rank 0
  /// does.
  static absl::StatusOr<ForkedRanks> fork(int size);

  /// The name of the host that a rank forked by bagua-run pretends to be on:
  /// `hosts` hosts have the same number of ranks each, in order; 0 gives each
  /// rank its own host. Empty for a rank that a launcher has started.
  static std::string hostOf(const runtime::Launch &launch, int64_t hosts);

  /// The place of the calling process in the run.
  const runtime::Launch &launch() const { return place; }
  /// On rank 0: waits until the copies have ended, and kills them after
  /// `patience`. Unknown names those that did not exit with status 0.
  absl::Status join(std::chrono::nanoseconds patience);

private:
  runtime::Launch place;
  /// On rank 0: the process of each other rank, from rank 1.
  std::vector<pid_t> copies;
};

} // namespace bagua::replay

#endif // BAGUA_REPLAY_FORKEDRANKS_H
