//===- Strategy.h - Published systems as rows of decisions ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One table: what each system decides about buckets, the wire, the hierarchy
// and the schedule, and which of these its user may change. StrategyText.h
// reads and prints a row with such changes; Decide.h computes what a row
// decides about a step.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_SCHEDULING_SEARCH_STRATEGY_H
#define BAGUA_SCHEDULING_SEARCH_STRATEGY_H

#include "bagua/Scheduling/Search/BucketRules.h"
#include "bagua/Scheduling/Search/CommunicationPlan.h"

#include <algorithm>
#include <array>

namespace bagua {

/// The most simulations that a search takes by default.
inline constexpr int64_t kDefaultEvaluations = 2000;

/// The algorithm of all lossless and lossy strategies: synchronous data
/// parallelism, in which each gradient becomes the mean over all ranks.
inline constexpr std::string_view kDataParallel = "all-reduce";

/// The effects that a strategy may have on the numbers of a step.
enum class StrategyClass {
  /// They stay the same, up to the order of sums.
  Lossless,
  /// Gradients are rounded for sending.
  Lossy,
  /// They follow another algorithm than synchronous data parallelism.
  Relaxed,
};

template <>
inline constexpr std::array<std::string_view, 3> kWordsOf<StrategyClass> = {
    "lossless", "lossy", "relaxed"};

/// The processes that sum gradients if a pass may choose: the ranks, all
/// servers a part each, or one server for each gradient.
enum class ServerUse { None, Spread, Balanced };

template <>
inline constexpr std::array<std::string_view, 3> kWordsOf<ServerUse> = {
    "none", "spread", "balanced"};

/// The side that runs the updates of whole tensors: the program at the end of
/// its step, the program right before the next step needs them (LateOps.h), or
/// the runtime.
enum class UpdatesBy { Program, Late, Runtime };

template <>
inline constexpr std::array<std::string_view, 3> kWordsOf<UpdatesBy> = {
    "program", "late", "runtime"};

/// The sides that may run the updates: a search chooses from these. Not every
/// program can run updates late, so a user has to ask for that.
enum class AllowedUpdates { Any, Program, Late, Runtime };

template <>
inline constexpr std::array<std::string_view, 4> kWordsOf<AllowedUpdates> = {
    "any", "program", "late", "runtime"};

/// The choices that a user makes for all strategies alike.
struct UserChoices {
  /// The encoding in which float32 gradients are sent.
  Encoding wire = {};
  AllowedUpdates updates = AllowedUpdates::Any;
  /// The most bytes that the runtime's arenas may have; 0: no limit.
  int64_t memoryBytes = 0;

  /// Under `Late`, the program still runs updates that can't wait in their own
  /// step.
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

/// A decision that users may change; each system has its own name for it.
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
  /// One past the last option that has a name.
  const StrategyOption *end() const {
    return std::find_if(
        list.data(), list.data() + list.size(),
        [](const StrategyOption &option) { return option.name.empty(); });
  }
};

struct Strategy {
  /// The purpose of a row.
  enum class Use {
    /// A published system: listed by --compare, and a starting point for auto.
    Published,
    /// The row searches its decisions itself.
    Search,
    /// The row takes all its decisions from its options: a plan that a search
    /// has found.
    Explicit,
  };

  std::string_view name;
  std::string_view paper;
  StrategyClass strategyClass = StrategyClass::Lossless;
  /// The algorithm that bagua-relax applies.
  std::string_view relaxation = kDataParallel;
  BucketRule buckets = {};
  Encoding wire = {};
  FormKind form = FormKind::Flat;
  SchedulingOptions schedule = {};
  /// The runtime runs all updates that it can run.
  bool isUpdatedByRuntime = false;
  StrategyOptions options = {};
  Use use = Use::Published;

  /// The option that changes a setting; null if none does.
  const StrategyOption *findOption(Setting setting) const;
};

/// The table, in alphabetical order.
struct StrategyList {
  const Strategy *first, *last;
  const Strategy *begin() const { return first; }
  const Strategy *end() const { return last; }
};
StrategyList getStrategies();
/// Null if no strategy has this name.
const Strategy *findStrategy(std::string_view name);

} // namespace bagua

#endif // BAGUA_SCHEDULING_SEARCH_STRATEGY_H
