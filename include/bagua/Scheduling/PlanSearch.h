//===- PlanSearch.h - The best plan of a step's communication -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Merging and splitting per gradient, form per bucket, and the schedule of it
// all, jointly: the search that Shi et al. (arXiv 2005.13247, sections 5.2 and
// 5.3) ask for. The simulator is the judge, the lower bound says when to stop.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_SCHEDULING_PLANSEARCH_H
#define BAGUA_SCHEDULING_PLANSEARCH_H

#include "bagua/Scheduling/Strategy.h"

#include <functional>

namespace bagua {

struct StartingPlan {
  const Strategy *strategy;
  CommunicationPlan plan;
};

/// The published strategies with the user's choices, as far as the cluster has
/// what they need.
std::vector<StartingPlan> startingPlans(const CommunicationProblem &problem,
                                        const UserChoices &choices = {});

/// Every gradient by itself, as a whole, by one all_reduce, updates by who is
/// allowed and needs less for them: no plan needs less memory.
CommunicationPlan leanestPlan(const CommunicationProblem &problem,
                              const UserChoices &choices);

/// A plan of so many times the time counts as as fast, for no prediction tells
/// them apart. Then fewer collectives decide: each costs cores and switches
/// more than any price knows.
inline constexpr double kAsFast = 1.002;

struct PlanSearchOptions {
  /// Simulations at most, and tasks and uses of links played in them, which is
  /// some seconds: the result doesn't depend on the machine's speed.
  int64_t evaluations = kDefaultEvaluations;
  int64_t work = 40000000;
  /// The leanest plan must fit. A limit of memory changes nothing in what is
  /// tried without one; where the best of that does not fit, leaner plans are
  /// looked for under limits of the search's own, up to the user's. So more
  /// memory never leads to a slower plan.
  UserChoices choices = {};
  /// Nothing is faster than that; within a thousandth of it the search ends.
  double boundNs = 0;
  /// Called after each simulation.
  std::function<void(int64_t evaluations, double bestNs)> progress;
};

struct PlanSearchResult {
  /// The one of fewest collectives among the plans that are as fast as the
  /// fastest (kAsFast).
  CommunicationPlan plan;
  double stepNs = 0;
  int64_t collectives = 0;
  /// Before collectives were taken away.
  double fastestNs = 0;
  int64_t evaluations = 0;
  /// A plan and its time, infinite where memory doesn't allow it: what was
  /// started from.
  struct Rated {
    std::string name;
    double stepNs;
    int64_t collectives = 0;
  };
  std::vector<Rated> presets;
  /// What the step would take without one kind of decision: all messages on
  /// one form, nothing cut, nothing merged, first come first served, updates in
  /// the program.
  std::vector<Rated> without;
};

/// Starts from the presets and from plans by rules, drawn by chance for every
/// form and for mixes that load links alike; changes one number of the best
/// rules at a time while that helps, then one decision of the best plan: its
/// schedule, its parts, shares of one form's messages in another, single
/// buckets, the largest first. In the end, fewer collectives, as long as that
/// is as fast. Never slower than the best preset, but for that. A local
/// optimum; nothing is known about its distance from the best plan but the
/// bound. O(evaluations * simulation). Of at least one gradient.
PlanSearchResult searchPlan(const CommunicationProblem &problem,
                            const PlanSearchOptions &options);

/// What may be compiled in the end, as text and rated without IR.
struct PlanCandidate {
  std::string text;
  double stepNs;
  int64_t collectives;
};

/// The candidate to take: the plan that was found, by a preset's name where one
/// is rated the same; or the preset of the best rating that can be compiled, if
/// the plan can't or is slower than it, by more than kAsFast where the plan has
/// fewer collectives. `measure` compiles one and says how long its step takes;
/// nothing where it can't be compiled. The place of `found` is
/// `presets.size()`. Nothing where none compiles.
std::optional<size_t>
pickCandidate(const std::vector<PlanCandidate> &presets,
              const PlanCandidate &found,
              const std::function<std::optional<double>(size_t)> &measure);

} // namespace bagua

#endif // BAGUA_SCHEDULING_PLANSEARCH_H
