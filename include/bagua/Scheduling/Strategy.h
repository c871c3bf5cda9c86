//===- Strategy.h - Published systems as rows of decisions ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One table: what each system decides about buckets, the wire, the hierarchy
// and the schedule, and which of that its user may change. StrategyText.h reads
// and prints a row with such changes, Decide.h says what it decides about a
// step.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_SCHEDULING_STRATEGY_H
#define BAGUA_SCHEDULING_STRATEGY_H

#include "bagua/Scheduling/BucketRules.h"
#include "bagua/Scheduling/CommunicationPlan.h"

#include <algorithm>
#include <array>

namespace bagua {

/// Simulations that a search takes at most.
inline constexpr int64_t kDefaultEvaluations = 2000;

/// The algorithm of all lossless and lossy strategies: synchronous data
/// parallelism, every gradient the mean of all ranks'.
inline constexpr std::string_view kDataParallel = "all-reduce";

/// What a strategy may do to the numbers.
enum class StrategyClass {
  /// The step's own, up to the order of sums.
  Lossless,
  /// Gradients are rounded on their way.
  Lossy,
  /// Another algorithm than synchronous data parallelism.
  Relaxed,
};

template <>
inline constexpr std::array<std::string_view, 3> kWordsOf<StrategyClass> = {
    "lossless", "lossy", "relaxed"};

/// Who sums gradients where a pass may choose: the ranks, all servers a part
/// each, or one server each gradient.
enum class ServerUse { None, Spread, Balanced };

template <>
inline constexpr std::array<std::string_view, 3> kWordsOf<ServerUse> = {
    "none", "spread", "balanced"};

/// Who runs the updates of whole tensors: the program at the end of its step,
/// the program right before it needs them in the next one (LateOps.h), or the
/// runtime.
enum class UpdatesBy { Program, Late, Runtime };

template <>
inline constexpr std::array<std::string_view, 3> kWordsOf<UpdatesBy> = {
    "program", "late", "runtime"};

/// Who may run them: what a search chooses from. Not every program can run them
/// late, so that has to be asked for.
enum class AllowedUpdates { Any, Program, Late, Runtime };

template <>
inline constexpr std::array<std::string_view, 4> kWordsOf<AllowedUpdates> = {
    "any", "program", "late", "runtime"};

/// What a user fixes for all strategies alike.
struct UserChoices {
  /// As what float32 gradients are sent.
  Encoding wire = {};
  AllowedUpdates updates = AllowedUpdates::Any;
  /// The most bytes that the runtime's arenas may have; 0: any.
  int64_t memoryBytes = 0;

  /// A program that may run them late still runs those in time that can't wait.
  bool allows(UpdatesBy side) const {
    switch (side) {
    case UpdatesBy::Program:
      return updates != AllowedUpdates::Runtime;
    case UpdatesBy::Late:
      return updates == AllowedUpdates::Late;
    case UpdatesBy::Runtime:
      return updates == AllowedUpdates::Any ||
             updates == AllowedUpdates::Runtime;
    }
    return false;
  }
};

/// A decision that users may change, by whatever name the system has for it.
enum class Setting {
  BucketPolicy,
  FirstBytes,
  CapBytes,
  CycleNs,
  PartitionBytes,
  Buckets,
  Others,
  WireType,
  Form,
  Servers,
  ShardedUpdate,
  Schedule,
  CreditBytes,
  UpdatesBy,
  AllowedUpdates,
  MemoryBytes,
  Evaluations,
};

struct StrategyOption {
  std::string_view name;
  Setting setting;
};

/// Up to nine options, in the order in which messages list them.
struct StrategyOptions {
  std::array<StrategyOption, 9> list;

  const StrategyOption *begin() const { return list.data(); }
  /// Behind the last with a name.
  const StrategyOption *end() const {
    return std::find_if(
        list.data(), list.data() + list.size(),
        [](const StrategyOption &option) { return option.name.empty(); });
  }
};

struct Strategy {
  /// What a row is good for.
  enum class Use {
    /// Means something as it is: compared, and where a search starts.
    Published,
    /// Finds its decisions by itself.
    Search,
    /// Has them all from its options: what a search has found.
    Explicit,
  };

  std::string_view name;
  std::string_view paper;
  StrategyClass strategyClass = StrategyClass::Lossless;
  /// Of bagua-relax: the algorithm.
  std::string_view relaxation = kDataParallel;
  BucketRule buckets = {};
  Encoding wire = {};
  FormKind form = FormKind::Flat;
  SchedulingOptions schedule = {};
  /// Updates that the runtime can run are its own.
  bool isUpdatedByRuntime = false;
  StrategyOptions options = {};
  Use use = Use::Published;

  /// The option by which a setting is changed; null where none does.
  const StrategyOption *findOption(Setting setting) const;
};

/// The table, in alphabetical order.
struct StrategyList {
  const Strategy *first, *last;
  const Strategy *begin() const { return first; }
  const Strategy *end() const { return last; }
};
StrategyList getStrategies();
/// Null where there is none of this name.
const Strategy *findStrategy(std::string_view name);

} // namespace bagua

#endif // BAGUA_SCHEDULING_STRATEGY_H
