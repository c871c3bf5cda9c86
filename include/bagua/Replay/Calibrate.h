//===- Calibrate.h - Measures a cluster's links and work ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Measures times and returns them as a bagua.cluster, for bagua-sim and for
// passes that plan by it.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_REPLAY_CALIBRATE_H
#define BAGUA_REPLAY_CALIBRATE_H

#include "bagua/Runtime/Communicator.h"

#include "absl/status/statusor.h"

#include <chrono>
#include <functional>
#include <memory>
#include <string>

namespace bagua::replay {

/// Measures float32 collectives of in-process ranks in sessions, from 1 KiB to
/// 64 MiB in powers of 4. Each step has messages of all sizes, one after the
/// other, on memory that has left the caches since its last use. The same is
/// measured beside programs that compute in short and in long ops, which shows
/// what compute leaves of the rate, how long an op disturbs messages, and what
/// a sleeping stream costs. Messages in flight at once are measured, too, and a
/// rank's updates and other work by itself. Returns the text of a cluster with
/// one axis, `rank`, with table, rates, host and wake_ns; latency and rate are
/// the most that no measured time contradicts. Takes most of a minute. Errors:
/// fewer than 2 ranks, and those of the collectives.
absl::StatusOr<std::string> calibrate(int ranks,
                                      std::chrono::nanoseconds timeout);

/// The same for the ranks of a world, which are processes. There is an axis
/// `host` over the hosts, whose links are measured while all ranks of a host
/// use them, and an axis `rank` over the ranks of a host; an axis of size 1 is
/// left out. Sizes and numbers of messages are chosen so that each axis takes
/// about a minute. `onStart` is called on each rank when the links are about to
/// be measured. Collective; the text is the same on all ranks. Errors:
/// InvalidArgument for one rank, FailedPrecondition if hosts have different
/// numbers of ranks, and those of the collectives; each aborts the world.
absl::StatusOr<std::string>
calibrateWorld(const std::shared_ptr<runtime::World> &world,
               std::chrono::nanoseconds timeout,
               const std::function<void(const std::string &)> &onStart);

} // namespace bagua::replay

#endif // BAGUA_REPLAY_CALIBRATE_H
