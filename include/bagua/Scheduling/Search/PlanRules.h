//===- PlanRules.h - Plans that a few numbers describe --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plans that a search tries before it looks at single buckets: plans that cut,
// merge and send all gradients by one rule, and mixes of forms that load a
// cluster's links evenly.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_SCHEDULING_SEARCH_PLANRULES_H
#define BAGUA_SCHEDULING_SEARCH_PLANRULES_H

#include "bagua/Scheduling/Search/CommunicationPlan.h"

#include <map>

namespace bagua {

/// The share of each form; all shares add up to kMixShares.
using FormMix = std::array<int, kFormKindCount>;
inline constexpr int kMixShares = 8;

/// A cycle of forms that has each form as often as its share says, spread
/// evenly.
std::vector<FormKind> spreadForms(const FormMix &mix);

/// How messages of one plan are made of collectives.
struct FormRule {
  /// Messages take the cheapest of these forms.
  FormSet forms = formBit(FormKind::Flat);
  /// The mix of forms for messages of at least `mixedBytes`, across buckets.
  /// Without shares, these messages are no exception.
  FormMix mix = {};
  int64_t mixedBytes = 1 << 18;

  bool isMixed() const { return mix != FormMix(); }
};

struct PlanRule {
  /// Neighbours are merged until a bucket has so many bytes; 0: never.
  int64_t mergeBytes = 1 << 20;
  /// Larger buckets are cut; 0: none are.
  int64_t partitionBytes = 4 << 20;
  FormRule form;
  /// The form by the binary logarithm of a message's bytes; takes precedence
  /// over `form`.
  std::map<int, FormKind> formsBySize;
  SchedulingOptions scheduling = {SchedulePolicy::Priority, 8 << 20};
  bool isUpdatedByRuntime = true;
};

/// Gives each bucket of statistics the hierarchies of its forms, as only the
/// ranks themselves reduce statistics. O(gradients).
void keepStatisticsFromServers(const CommunicationProblem &problem,
                               CommunicationPlan &plan);

CommunicationPlan planByRule(const CommunicationProblem &problem,
                             const PlanRule &rule, Encoding wire);

/// The key of a bucket's messages in `formsBySize`.
int sizeClassOf(const PlannedBucket &bucket, int64_t bytes);

/// The bytes of each of a plan's buckets.
std::vector<int64_t> bytesOfBuckets(const CommunicationProblem &problem,
                                    const std::vector<PlannedBucket> &buckets);

/// Plans between `plan` and a plan that needs hardly any memory; the first of
/// them are leaner by little. Gradients of ever more buckets go by themselves
/// and uncut, in the form of the bucket's first part and in the flat form. The
/// buckets that take most memory change first.
std::vector<CommunicationPlan> leanerPlans(const CommunicationProblem &problem,
                                           const CommunicationPlan &plan);

/// The forms that differ on the problem's cluster and that all gradients can
/// take, flat first.
std::vector<FormKind> usefulForms(const CommunicationProblem &problem);

/// Mixes of two or three forms with which the fullest link carries less, for
/// messages of `bytes`, than with any single one of `forms`. The best mix comes
/// first; there are at most `most`. Each form loads links in proportion to its
/// share; latencies, and how messages share links for a while, are left out.
std::vector<FormMix> balancedMixes(const ClusterModel &cluster, int64_t bytes,
                                   AxisSet over,
                                   const std::vector<FormKind> &forms,
                                   size_t most);

} // namespace bagua

#endif // BAGUA_SCHEDULING_SEARCH_PLANRULES_H
