//===- Decide.h - What a strategy decides about a step --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From the settings of any strategy to one plan of all its decisions. The
// pipeline of the strategy makes of a step what the pipeline of that plan makes
// of it.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_SCHEDULING_DECIDE_H
#define BAGUA_SCHEDULING_DECIDE_H

#include "bagua/Scheduling/StrategyText.h"

namespace bagua {

struct DecidedPlan {
  CommunicationPlan plan;
  /// Why there is none: a cluster without the servers that the settings ask
  /// for, a list of buckets that is not the step's, more parts than allowed.
  /// Empty if there is one.
  std::string error;
};

/// The plan of a strategy that is not a search. Limits of memory are left to
/// whoever places the step (bagua-place).
DecidedPlan decide(const StrategySettings &settings,
                   const CommunicationProblem &problem);

/// The same of a row with what the user has fixed for all. An error, too, where
/// the row is a search or a plan, changes the algorithm, or has no option for
/// another wire.
DecidedPlan decide(const Strategy &row, const CommunicationProblem &problem,
                   const UserChoices &choices = {});

} // namespace bagua

#endif // BAGUA_SCHEDULING_DECIDE_H
