//===- ForkedRanks.h - Ranks as processes, without a launcher -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program's own copies of itself, for a first try on one host.
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
  /// Copies this process, which must not have started threads: it returns as
  /// rank 0, and `size` - 1 times as another. Copies end when rank 0 does.
  static absl::StatusOr<ForkedRanks> fork(int size);

  /// A name for the host that a rank of bagua-run's own counts as being on:
  /// `hosts` have as many ranks each, in order; 0: each has one. Empty for a
  /// rank that a launcher has started.
  static std::string hostOf(const runtime::Launch &launch, int64_t hosts);

  /// Of the process that asks.
  const runtime::Launch &launch() const { return place; }
  /// On rank 0: waits for the copies' ends, and after `patience` ends them.
  /// Unknown names those that didn't exit with status 0.
  absl::Status join(std::chrono::nanoseconds patience);

private:
  runtime::Launch place;
  /// By rank, from 1; on rank 0.
  std::vector<pid_t> copies;
};

} // namespace bagua::replay

#endif // BAGUA_REPLAY_FORKEDRANKS_H
