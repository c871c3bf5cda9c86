//===- PlanSearch.h - The best plan of a step's communication -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Searches merges and cuts of gradients, a form for each bucket, and the
// schedule, all jointly, as Shi et al. (arXiv 2005.13247, sections 5.2 and 5.3)
// ask for. The simulator rates plans, and the lower bound says when to stop.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_SCHEDULING_SEARCH_PLANSEARCH_H
#define BAGUA_SCHEDULING_SEARCH_PLANSEARCH_H

#include "bagua/Scheduling/Search/Strategy.h"

#include <functional>

namespace bagua {

struct StartingPlan {
  const Strategy *strategy;
  CommunicationPlan plan;
};

/// The plans of the published strategies with the user's choices, for those
/// strategies that the cluster has the servers for.
std::vector<StartingPlan> startingPlans(const CommunicationProblem &problem,
                                        const UserChoices &choices = {});

/// The plan that needs least memory: each gradient by itself, uncut, by one
/// flat all_reduce. Of the allowed sides, the one whose updates need less
/// memory runs them.
CommunicationPlan leanestPlan(const CommunicationProblem &problem,
                              const UserChoices &choices);

/// A plan that takes at most so many times the best time counts as equally
/// fast, because no prediction tells the two apart. Fewer collectives then
/// decide: each costs cores and switches more than any price knows.
inline constexpr double kAsFast = 1.002;

struct PlanSearchOptions {
  /// Limits: simulations, and tasks and uses of links played in them (some
  /// seconds). So the result doesn't depend on the machine's speed.
  int64_t evaluations = kDefaultEvaluations;
  int64_t work = 40000000;
  /// The leanest plan must fit. A memory limit does not change the search that
  /// runs without one. If the best plan of that search does not fit, leaner
  /// plans are searched under limits of the search's own, up to the user's. So
  /// more memory never leads to a slower plan.
  UserChoices choices = {};
  /// No plan is faster than this; the search ends within a thousandth of it.
  double boundNs = 0;
  /// Called after each simulation.
  std::function<void(int64_t evaluations, double bestNs)> progress;
};

struct PlanSearchResult {
  /// Among the plans that are as fast as the fastest (kAsFast), the one with
  /// the fewest collectives.
  CommunicationPlan plan;
  double stepNs = 0;
  int64_t collectives = 0;
  /// The time of the fastest plan, before collectives were taken away.
  double fastestNs = 0;
  int64_t evaluations = 0;
  /// A starting plan and its time; the time is infinite if memory doesn't allow
  /// the plan.
  struct Rated {
    std::string name;
    double stepNs;
    int64_t collectives = 0;
  };
  std::vector<Rated> presets;
  /// The step times of `plan` without one kind of decision: all messages in the
  /// flat form, nothing cut, nothing merged, first come first served, updates
  /// by the program.
  std::vector<Rated> without;
};

/// The search starts from the presets and from random plans by rule, for every
/// form and for mixes that load links evenly. It changes one number of the best
/// rules at a time while that helps, then one decision of the best plan: its
/// schedule, its parts, the share of one form's messages that takes another
/// form, single buckets, the largest first. At the end it takes collectives
/// away as long as the plan stays as fast (kAsFast); but for that, the result
/// is never slower than the best preset. The result is a local optimum; only
/// the bound limits its distance from the best plan. O(evaluations *
/// simulation). The problem has at least one gradient.
PlanSearchResult searchPlan(const CommunicationProblem &problem,
                            const PlanSearchOptions &options);

/// A plan that may be compiled at the end, as text, rated without IR.
struct PlanCandidate {
  std::string text;
  double stepNs;
  int64_t collectives;
};

/// The candidate to take, as an index into `presets`; `presets.size()` stands
/// for `found`. A preset with the same rating and number of collectives stands
/// in for `found`. The best-rated preset that can be compiled is taken if
/// `found` can't be compiled or is slower than it (by more than kAsFast if
/// `found` has fewer collectives). `measure` compiles a candidate and returns
/// the time of its step, or nothing if it can't be compiled. Nothing if none
/// compiles.
std::optional<size_t>
pickCandidate(const std::vector<PlanCandidate> &presets,
              const PlanCandidate &found,
              const std::function<std::optional<double>(size_t)> &measure);

} // namespace bagua

#endif // BAGUA_SCHEDULING_SEARCH_PLANSEARCH_H
