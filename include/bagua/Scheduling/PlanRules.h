//===- PlanRules.h - Plans by a few numbers -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a search tries before it looks at single buckets: plans that cut, merge
// and send all gradients by one rule, and the mixes of forms that load a
// cluster's links alike.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_SCHEDULING_PLANRULES_H
#define BAGUA_SCHEDULING_PLANRULES_H

#include "bagua/Scheduling/CommunicationPlan.h"

#include <map>

namespace bagua {

/// Forms and how often each is taken, in shares that make kMixShares together.
using FormMix = std::array<int, kFormKindCount>;
inline constexpr int kMixShares = 8;

/// Each form as often as its share says, spread evenly.
std::vector<FormKind> spreadForms(const FormMix &mix);

/// How messages of one plan are made of collectives.
struct FormRule {
  /// The cheapest of these.
  FormSet forms = formBit(FormKind::Flat);
  /// By what mix messages of at least `mixedBytes` go, across buckets; no
  /// shares: they are no exception.
  FormMix mix = {};
  int64_t mixedBytes = 1 << 18;

  bool isMixed() const { return mix != FormMix(); }
};

struct PlanRule {
  /// Neighbours are merged until they have as much; 0: alone.
  int64_t mergeBytes = 1 << 20;
  /// What is larger is cut; 0: nothing.
  int64_t partitionBytes = 4 << 20;
  FormRule form;
  /// By the binary logarithm of a message's bytes; before all else.
  std::map<int, FormKind> formsBySize;
  SchedulingOptions scheduling = {SchedulePolicy::Priority, 8 << 20};
  bool isUpdatedByRuntime = true;
};

CommunicationPlan planByRule(const CommunicationProblem &problem,
                             const PlanRule &rule, Encoding wire);

/// The number under which a rule has the form of a bucket's messages.
int sizeClassOf(const PlannedBucket &bucket, int64_t bytes);

/// The bytes of each of a plan's buckets.
std::vector<int64_t> bytesOfBuckets(const CommunicationProblem &problem,
                                    const std::vector<PlannedBucket> &buckets);

/// Plans on the way from one to another that needs hardly any memory, the first
/// ones leaner by little: gradients of ever more buckets go by themselves and
/// as a whole, in the form that most of them had and in a flat one. Those that
/// take most memory change first.
std::vector<CommunicationPlan> leanerPlans(const CommunicationProblem &problem,
                                           const CommunicationPlan &plan);

/// Forms that differ on the problem's cluster and that all gradients can take,
/// flat first.
std::vector<FormKind> usefulForms(const CommunicationProblem &problem);

/// Mixes of two or three forms such that, of messages of `bytes`, the fullest
/// link has less to carry than by any one of `forms`; the best first, `most` at
/// most. Each form loads links in proportion to its share; latencies, and how
/// messages share links for a while, are left out.
std::vector<FormMix> balancedMixes(const ClusterModel &cluster, int64_t bytes,
                                   AxisSet over,
                                   const std::vector<FormKind> &forms,
                                   size_t most);

} // namespace bagua

#endif // BAGUA_SCHEDULING_PLANRULES_H
