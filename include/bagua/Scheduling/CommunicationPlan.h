//===- CommunicationPlan.h - All decisions about a step's gradients -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A step whose gradients are to be reduced, and a plan: which gradients share a
// bucket, into how many parts it is cut, by which collectives each part goes,
// and how all of that is scheduled. The text of a plan is what a pipeline
// carries; what it leads to is simulated without IR.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_SCHEDULING_COMMUNICATIONPLAN_H
#define BAGUA_SCHEDULING_COMMUNICATIONPLAN_H

#include "bagua/Scheduling/BucketRules.h"
#include "bagua/Scheduling/LaunchScheduling.h"
#include "bagua/Scheduling/Message.h"
#include "bagua/Scheduling/Simulator.h"

#include <algorithm>

namespace bagua {

/// A gradient that is all-reduced, or a statistic that nothing in the step
/// waits for.
struct StepGradient {
  /// Its all_reduce in the step's graph.
  int32_t op;
  int64_t count;
  int64_t elementBytes;
  AxisSet over;
  /// A float32 gradient, which a narrower type on the wire stands for.
  bool isNarrowable;
  /// Statistics are reduced by the ranks themselves.
  bool isStatistic = false;
};

struct CommunicationProblem {
  ClusterModel cluster;
  /// The step with one all_reduce a gradient, updates run by the program or by
  /// the runtime; the same ops under the same numbers.
  OpGraph byProgram, byRuntime;
  /// In order of readiness, and what of them bucketing needs to know.
  std::vector<StepGradient> gradients;
  BucketingProblem bucketing;
  /// Bytes of the runtime's arenas besides those of gradients' messages: what
  /// else the step sends, and what updates by the runtime leave there.
  int64_t otherBytesByProgram = 0, otherBytesByRuntime = 0;

  /// Servers can sum the encoding in which gradients are sent.
  bool canServeWire = true;

  /// What is wrong with it; nothing if it is sound.
  std::optional<std::string> check() const;
  /// Whether servers can sum all of the gradients.
  bool canServeAll() const;
};

/// The forms that the parts of a bucket take in turn: one for all as a rule;
/// several load links that one alone would leave idle.
class FormCycle {
public:
  // NOLINTNEXTLINE(google-explicit-constructor): one form is the common case.
  FormCycle(FormKind form = FormKind::Flat) : forms{form} {}
  /// Of at least one; one that is all of them stands once.
  explicit FormCycle(std::vector<FormKind> list) : forms(std::move(list)) {
    if (std::all_of(forms.begin(), forms.end(),
                    [&](FormKind form) { return form == forms.front(); }))
      forms.resize(1);
  }

  /// The shortest cycle that gives each of a bucket's parts its form.
  static FormCycle ofParts(const std::vector<FormKind> &parts);

  FormKind ofPart(int64_t part) const {
    return forms[static_cast<size_t>(part) % forms.size()];
  }
  const std::vector<FormKind> &kinds() const { return forms; }

  friend bool operator==(const FormCycle &a, const FormCycle &b) {
    return a.forms == b.forms;
  }

private:
  std::vector<FormKind> forms;
};

/// What becomes of some gradients that follow each other.
struct PlannedBucket {
  int32_t gradients = 1;
  /// As many messages, equal but for one element.
  int64_t parts = 1;
  FormCycle form = {};
  /// Of float32 gradients; others travel as they are.
  Encoding wire = {};

  bool operator==(const PlannedBucket &other) const {
    return gradients == other.gradients && parts == other.parts &&
           form == other.form && wire == other.wire;
  }
};

struct CommunicationPlan {
  /// Of the gradients by class, each class by readiness.
  std::vector<PlannedBucket> buckets;
  SchedulingOptions scheduling;
  /// Who runs the updates.
  bool isUpdatedByRuntime = false;
};

/// Gradients in the order in which a plan names them: by class, then by
/// readiness.
std::vector<int32_t> planOrder(const BucketingProblem &problem);

/// Prices of the messages of each class of gradients, by the axes that they are
/// reduced over. `cluster` outlives the prices.
MessageCost messageCost(const ClusterModel &cluster,
                        std::map<int32_t, AxisSet> axesOfClass, Encoding wire,
                        FormSet forms);

/// Buckets by a rule, of one wire, each of the form among those allowed that is
/// cheapest for its parts, in the order of a plan: every rule puts gradients of
/// one class together that follow each other.
std::vector<PlannedBucket> planBuckets(const CommunicationProblem &problem,
                                       const BucketRule &rule, FormSet forms,
                                       Encoding wire);

/// checkParts of a plan's buckets.
std::optional<std::string>
checkParts(const std::vector<PlannedBucket> &buckets);

/// `3*1,12:rail,1/8:servers+flat:bf16`: three gradients alone, twelve in a
/// bucket on rails, one in eight parts, by way of servers and among the ranks
/// in turn, in 16 bits. Repetitions, `/1`, `:flat` and the wire that is common
/// may be left out.
std::string printBuckets(const std::vector<PlannedBucket> &buckets,
                         Encoding common = {});
/// Nothing for another text.
std::optional<std::vector<PlannedBucket>> parseBuckets(std::string_view text,
                                                       Encoding common = {});

/// The buckets' members; or what is wrong with them: other gradients than there
/// are, a bucket of two classes, more parts than elements.
struct ResolvedBuckets {
  std::vector<Bucket> members;
  std::string error;
};
ResolvedBuckets resolveBuckets(const std::vector<PlannedBucket> &buckets,
                               const BucketingProblem &problem,
                               const std::vector<int64_t> &counts);

/// The step with the plan's communication in place of the all_reduces, as the
/// passes write it. O(n log n).
OpGraph applyPlan(const CommunicationProblem &problem,
                  const CommunicationPlan &plan);

/// What of each bucket bagua-place will lay into the runtime's arenas: all of
/// it where it has several gradients or parts, narrowed copies, and what the
/// phases of a form leave on a rank or server.
std::vector<int64_t> arenaBytesOfBuckets(const CommunicationProblem &problem,
                                         const CommunicationPlan &plan);
/// The arenas' size, at most 63 bytes more.
int64_t arenaBytes(const CommunicationProblem &problem,
                   const CommunicationPlan &plan);

/// Schedules and simulates a sound plan.
struct PlanTime {
  double stepNs;
  /// What it took to find out: tasks and their uses of links, as often as they
  /// were played.
  int64_t work;
  /// As many as the whole step has.
  int64_t collectives;
};
PlanTime simulatePlan(const CommunicationProblem &problem,
                      const CommunicationPlan &plan, CollectivePrices &prices);

} // namespace bagua

#endif // BAGUA_SCHEDULING_COMMUNICATIONPLAN_H
