//===- StrategyText.h - Strategies as users ask for them ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `NAME` or `NAME{option=value ...}` is read and printed here, and nowhere
// else: a row of the table with some of its decisions changed. Pipelines are
// made of what parseStrategy returns.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_SCHEDULING_STRATEGYTEXT_H
#define BAGUA_SCHEDULING_STRATEGYTEXT_H

#include "bagua/Scheduling/Strategy.h"

#include <string>
#include <string_view>

namespace bagua {

/// A strategy's decisions before the step is known.
struct StrategySettings {
  BucketRule buckets = {};
  /// With the policy List: each bucket, and each other all_reduce in the same
  /// words (parseBuckets); no word about those: flat.
  std::string bucketList, otherList;
  Encoding wire = {};
  /// Whether an all_reduce is made of reduce_scatter and all_gather, and over
  /// which axes at once.
  bool isHalved = false;
  HalvesChoice halves = HalvesChoice::Flat;
  /// Else: its form.
  FormChoice form = static_cast<FormChoice>(FormKind::Flat);
  ServerUse servers = ServerUse::None;
  UpdatedPart updatedPart = UpdatedPart::Whole;
  SchedulingOptions schedule = {};
  UpdatesBy updates = UpdatesBy::Program;
  /// A search may choose `updates` from these.
  AllowedUpdates allowedUpdates = AllowedUpdates::Any;
  /// The most bytes that the runtime's arenas may have; 0: any.
  int64_t memoryBytes = 0;
  /// A search simulates at most so many plans.
  int64_t evaluations = kDefaultEvaluations;
};

/// The settings of a row as the table has it.
StrategySettings settingsOf(const Strategy &row);
/// The same with the choices that the user has made for all strategies alike.
StrategySettings settingsOf(const Strategy &row, const UserChoices &choices);

/// A setting as text, in the words of the passes' options.
std::string print(const StrategySettings &settings, Setting setting);

struct ParsedStrategy {
  const Strategy *row = nullptr;
  StrategySettings settings;
  /// Says which part of the text is wrong, and which names or words there are;
  /// empty if the text is right.
  std::string error;
};
ParsedStrategy parseStrategy(std::string_view text);

/// The strategy as text, with the user's choices; what the row says anyway is
/// left out. The row has options for them, unless they are its own.
std::string textOf(const Strategy &row, const UserChoices &choices);
/// The same of a plan, by the row that takes a plan.
std::string textOf(const CommunicationPlan &plan, const UserChoices &choices);

} // namespace bagua

#endif // BAGUA_SCHEDULING_STRATEGYTEXT_H
