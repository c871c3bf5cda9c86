//===- StrategyText.h - Strategies as users ask for them ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads and prints `NAME` or `NAME{option=value ...}`: a row of the table with
// some of its decisions changed. No other file does so. Pipelines are built
// from the result of parseStrategy.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_SCHEDULING_SEARCH_STRATEGYTEXT_H
#define BAGUA_SCHEDULING_SEARCH_STRATEGYTEXT_H

#include "bagua/Scheduling/Search/Strategy.h"

#include <string>
#include <string_view>

namespace bagua {

/// A strategy's decisions before the step is known.
struct StrategySettings {
  BucketRule buckets = {};
  /// For the policy List: the buckets, and the other all_reduces in the same
  /// words (parseBuckets). If the second is empty, they are flat.
  std::string bucketList, otherList;
  Encoding wire = {};
  /// Whether an all_reduce is made of reduce_scatter and all_gather, and over
  /// which axes these go at once.
  bool isHalved = false;
  HalvesChoice halves = HalvesChoice::Flat;
  /// The form of an all_reduce that is not.
  FormChoice form = static_cast<FormChoice>(FormKind::Flat);
  ServerUse servers = ServerUse::None;
  UpdatedPart updatedPart = UpdatedPart::Whole;
  SchedulingOptions schedule = {};
  UpdatesBy updates = UpdatesBy::Program;
  /// A search may choose `updates` from these.
  AllowedUpdates allowedUpdates = AllowedUpdates::Any;
  /// The most bytes that the runtime's arenas may have; 0: no limit.
  int64_t memoryBytes = 0;
  /// The most plans that a search simulates.
  int64_t evaluations = kDefaultEvaluations;
};

/// The settings of a row as the table has it.
StrategySettings settingsOf(const Strategy &row);
/// The settings of a row with the choices that the user has made for all
/// strategies.
StrategySettings settingsOf(const Strategy &row, const UserChoices &choices);

/// A setting as text, in the words of the passes' options.
std::string print(const StrategySettings &settings, Setting setting);

struct ParsedStrategy {
  const Strategy *row = nullptr;
  StrategySettings settings;
  /// Which part of the text is wrong, and which names or words there are; empty
  /// if the text is right.
  std::string error;
};
ParsedStrategy parseStrategy(std::string_view text);

/// The strategy as text, with the user's choices; choices that the row makes
/// anyway are left out. The row must have an option for each other choice.
std::string textOf(const Strategy &row, const UserChoices &choices);
/// A plan as text, under the name of the row that takes a plan.
std::string textOf(const CommunicationPlan &plan, const UserChoices &choices);

} // namespace bagua

#endif // BAGUA_SCHEDULING_SEARCH_STRATEGYTEXT_H
