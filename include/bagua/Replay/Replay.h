//===- Replay.h - Runs a plan with synthetic compute ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One thread for each rank runs the plan's program section: it waits for
// tensors, sleeps in place of compute, and gives tensors. The session
// communicates. Either all ranks are threads of this process, or this process
// is one rank.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_REPLAY_REPLAY_H
#define BAGUA_REPLAY_REPLAY_H

#include "bagua/Replay/CheckResult.h"

#include "bagua/Runtime/Communicator.h"
#include "bagua/Runtime/Plan.h"
#include "bagua/Support/TraceWriter.h"

#include "absl/status/statusor.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace bagua::replay {

using runtime::Plan;

/// The number of steps that a check looks at.
inline constexpr int64_t kCheckedSteps = 3;

/// A fault for a test: what happens to a rank's process right before it runs an
/// instruction. The process prints a warning with the time first.
struct Mishap {
  enum class Kind {
    Kill,
    Stop,
    Exit,
    Disconnect,
    Garbage,
    /// The thread that runs the instruction hangs there.
    Stick,
    /// All threads except the control plane's hang, wherever they are a little
    /// later.
    Freeze,
    /// One connection to another host loses its incoming packets: all of them,
    /// or the large ones.
    Cut,
    Eat
  };
  Kind kind = Kind::Kill;
  int64_t rank = 0;
  int64_t step = 0;
  /// The number of the instruction in the plan.
  int64_t instruction = 0;
};

/// Parses "RANK:STEP:INSTRUCTION:HOW", where HOW is a kind in small letters.
/// Returns nothing for any other text.
std::optional<Mishap> parseMishap(const std::string &text);

struct ReplayOptions {
  /// The timeout of the sessions.
  std::chrono::nanoseconds timeout = std::chrono::seconds(600);
  /// Whether kCheckedSteps steps (of a plan of several steps: as many as are
  /// timed) come first in which every number is checked.
  bool check = false;
  /// Writes to arenas before the first step, and checks their surroundings
  /// after the last, as a check does. Without it, pages that are only read
  /// would all be one page of zeros, which caches hold.
  bool checksMemory = false;
  /// The number of timed steps.
  int64_t steps = 10;
  /// The factor on the durations of compute; 0: no compute.
  double timeScale = 1;
  /// The standard deviation of a random factor on each op's duration. The
  /// factor is drawn for each rank and step, is at least 0.2, and is the same
  /// in each run.
  double jitter = 0;
  /// A rank that throws, for tests of how a run ends; -1: no rank.
  int64_t throwOnRank = -1;
  /// A mishap, for tests of how a run ends.
  std::optional<Mishap> mishap;
  /// Called with the warnings of the sessions, on any thread. May be empty.
  std::function<void(const std::string &)> onWarning;
  /// The writer that records instructions, waits and given tensors; null: none.
  TraceWriter *trace = nullptr;
};

/// The results of the timed steps, which follow one step (or the checked steps)
/// of warm-up.
struct ReplayResult {
  /// The number of hosts if ranks are processes; 0 if they are threads.
  int hosts = 0;
  /// By step: the duration on the slowest rank.
  std::vector<int64_t> stepNs;
  /// By step: how long wait blocked the program's thread, as a mean over ranks.
  std::vector<int64_t> exposedNs;
  /// Bytes sent in one step by the rank that sends most.
  int64_t bytesSent = 0;
  /// Bytes of the runtime's memory on the rank that allocates most.
  int64_t arenaBytes = 0;
  std::optional<CheckResult> check;
};

/// Runs all ranks of the plan in this process. Returns the first error of any
/// rank; an exception on a rank becomes an error that names the rank.
absl::StatusOr<ReplayResult> replayPlan(const std::shared_ptr<const Plan> &plan,
                                        const ReplayOptions &options);

/// Runs this process's rank of the plan; collective over the world. Rank 0 gets
/// the result of all ranks, other ranks get nothing.
absl::StatusOr<std::optional<ReplayResult>>
replayRank(const std::shared_ptr<const Plan> &plan,
           const std::shared_ptr<runtime::World> &world,
           const ReplayOptions &options);

} // namespace bagua::replay

#endif // BAGUA_REPLAY_REPLAY_H
