//===- Decide.h - What a strategy decides about a step --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Turns the settings of any strategy into one plan that has all of its
// decisions. The pipeline of the strategy and the pipeline of that plan write
// the same step.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_SCHEDULING_SEARCH_DECIDE_H
#define BAGUA_SCHEDULING_SEARCH_DECIDE_H

#include "bagua/Scheduling/Search/StrategyText.h"

namespace bagua {

struct DecidedPlan {
  CommunicationPlan plan;
  /// Why there is no plan: the cluster lacks servers that the settings ask for,
  /// a list of buckets does not match the step, or there are more parts than
  /// allowed. Empty if there is a plan.
  std::string error;
};

/// The plan of a strategy that is not a search. Memory limits are not checked
/// here: bagua-place, which places the step, checks them.
DecidedPlan decide(const StrategySettings &settings,
                   const CommunicationProblem &problem);

/// The plan of a row of the table with the choices that the user has made for
/// all strategies. Also an error: the row is a search or a plan, changes the
/// algorithm, or has no option for another wire.
DecidedPlan decide(const Strategy &row, const CommunicationProblem &problem,
                   const UserChoices &choices = {});

} // namespace bagua

#endif // BAGUA_SCHEDULING_SEARCH_DECIDE_H
