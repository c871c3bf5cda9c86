//===- Calibrate.h - What a step's work takes on this machine -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Measured times as a bagua.cluster, for bagua-sim and the passes to plan by.
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

/// Times float32 collectives of in-process ranks in sessions, from 1 KiB to 64
/// MiB in powers of 4: steps of messages of all sizes, on memory that has left
/// the caches since its last use, one behind the other; again beside programs
/// that compute in short and in long ops, for what that leaves of the rate, how
/// long, and what a stream takes that slept; messages in flight at once; and
/// updates and other work of a rank by itself. The text is a cluster of one
/// axis, `rank`, with table, rates, host and wake_ns; latency and rate are the
/// most that no measured time contradicts. It takes most of a minute. Errors:
/// less than 2 ranks, and those of the collectives.
absl::StatusOr<std::string> calibrate(int ranks,
                                      std::chrono::nanoseconds timeout);

/// The same for the ranks of a world, which are processes: an axis `host` over
/// its hosts, whose links are measured while all ranks of a host use them, and
/// an axis `rank` over the ranks of a host; an axis of size 1 is left out.
/// Sizes and numbers of messages are what the links can carry in about a
/// minute an axis; `onStart` is told on each rank once these can be measured.
/// Collective; the text is the same on all ranks. Errors: InvalidArgument for
/// one rank, FailedPrecondition for hosts of unequally many ranks, and those of
/// the collectives; each aborts the world.
absl::StatusOr<std::string>
calibrateWorld(const std::shared_ptr<runtime::World> &world,
               std::chrono::nanoseconds timeout,
               const std::function<void(const std::string &)> &onStart);

} // namespace bagua::replay

#endif // BAGUA_REPLAY_CALIBRATE_H
