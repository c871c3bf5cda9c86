//===- Replay.h - Runs a plan with synthetic compute ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One thread a rank runs the plan's program section: waits, synthetic compute
// (it sleeps), gifts. Communication is the session's. Ranks are threads of this
// process, or one of them is.
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

/// Steps that a check goes by.
inline constexpr int64_t kCheckedSteps = 3;

/// What a rank's process comes to before it runs an instruction, and warns of
/// with the time.
struct Mishap {
  enum class Kind {
    Kill,
    Stop,
    Exit,
    Disconnect,
    Garbage,
    /// The thread that is at the instruction hangs there.
    Stick,
    /// All threads but the control plane's hang, wherever they are a little
    /// later.
    Freeze,
    /// One path to another host loses what comes by it: all, or what is large.
    Cut,
    Eat
  };
  Kind kind = Kind::Kill;
  int64_t rank = 0;
  int64_t step = 0;
  /// Its number in the plan.
  int64_t instruction = 0;
};

/// "RANK:STEP:INSTRUCTION:HOW", where HOW is a kind in small letters; nothing
/// for another text.
std::optional<Mishap> parseMishap(const std::string &text);

struct ReplayOptions {
  /// Of the sessions.
  std::chrono::nanoseconds timeout = std::chrono::seconds(600);
  /// Whether kCheckedSteps come first, in which every number is looked at.
  bool check = false;
  /// Arenas are written to before the first step and their surroundings looked
  /// at after the last, as a check does. Pages that are only read are else one
  /// page of zeros, which caches hold.
  bool checksMemory = false;
  /// That are timed.
  int64_t steps = 10;
  /// Of the durations that compute sleeps; 0: none.
  double timeScale = 1;
  /// Standard deviation of the factor on each op's duration, which is drawn by
  /// rank and step, at least 0.2, and the same in each run.
  double jitter = 0;
  /// A rank that throws, for tests of how a run ends; -1: none.
  int64_t throwOnRank = -1;
  /// For tests of how a run ends.
  std::optional<Mishap> mishap;
  /// What the sessions warn of, on any thread. May be empty.
  std::function<void(const std::string &)> onWarning;
  /// Where instructions, waits and gifts are recorded; null: nowhere.
  TraceWriter *trace = nullptr;
};

/// Of the timed steps, which follow one step (or the checked ones) of warm-up.
struct ReplayResult {
  /// That ranks are on as processes; 0: they are threads.
  int hosts = 0;
  /// By step: the longest of all ranks.
  std::vector<int64_t> stepNs;
  /// By step: what the program's threads were blocked in wait, mean of ranks.
  std::vector<int64_t> exposedNs;
  /// Of the rank that sends most, in one step.
  int64_t bytesSent = 0;
  /// Of the runtime's memory on the rank that allocates most.
  int64_t arenaBytes = 0;
  std::optional<CheckResult> check;
};

/// Runs all ranks of the plan in this process. The error is the first one of
/// any rank; an exception on a rank becomes one that names the rank.
absl::StatusOr<ReplayResult> replayPlan(const std::shared_ptr<const Plan> &plan,
                                        const ReplayOptions &options);

/// Runs this process's rank of the plan; collective over the world. The result
/// of all is rank 0's, and nothing elsewhere.
absl::StatusOr<std::optional<ReplayResult>>
replayRank(const std::shared_ptr<const Plan> &plan,
           const std::shared_ptr<runtime::World> &world,
           const ReplayOptions &options);

} // namespace bagua::replay

#endif // BAGUA_REPLAY_REPLAY_H
