//===- CommunicationPlan.h - All decisions about a step's gradients -------===//
//
// A step whose gradients are to be reduced, and a plan: which gradients share a
// bucket, into how many parts it is cut, by which collectives each part goes,
// and how all of that is scheduled. The text of a plan is what a pipeline
// carries; what it leads to is simulated without IR.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_SCHEDULING_COMMUNICATIONPLAN_H
#define BAGUA_SCHEDULING_COMMUNICATIONPLAN_H

#include "bagua/Scheduling/Bucketing.h"
#include "bagua/Scheduling/LaunchScheduling.h"
#include "bagua/Scheduling/Simulator.h"

namespace bagua {

/// A gradient that is all-reduced.
struct StepGradient {
  /// Its all_reduce in the step's graph.
  int32_t op;
  int64_t count;
  int64_t elementBytes;
  AxisSet over;
  /// float32, which a narrower type on the wire stands for.
  bool isNarrowable;
};

struct CommunicationProblem {
  ClusterModel cluster;
  /// The step with one all_reduce a gradient, updates run by the program or by
  /// the runtime; the same ops under the same numbers.
  OpGraph byProgram, byRuntime;
  /// In order of readiness, and what of them bucketing needs to know.
  std::vector<StepGradient> gradients;
  BucketingProblem bucketing;

  /// What is wrong with it; nothing if it is sound.
  std::optional<std::string> check() const;
};

/// What becomes of some gradients that follow each other.
struct PlannedBucket {
  int32_t gradients = 1;
  /// As many messages, equal but for one element.
  int64_t parts = 1;
  FormKind form = FormKind::Flat;

  bool operator==(const PlannedBucket &other) const {
    return gradients == other.gradients && parts == other.parts &&
           form == other.form;
  }
};

struct CommunicationPlan {
  /// Of the gradients by class, each class by readiness.
  std::vector<PlannedBucket> buckets;
  SchedulingOptions scheduling;
  /// Who runs the updates.
  bool isUpdatedByRuntime = false;
  /// Float32 gradients take so many times fewer bytes on the wire: 1 or 2.
  int64_t narrowing = 1;
};

/// Gradients in the order in which a plan names them: by class, then by
/// readiness.
std::vector<int32_t> planOrder(const BucketingProblem &problem);

/// `3*1,12:rail,1/8:servers`: three gradients alone, twelve in a bucket on
/// rails, one in eight parts by way of servers. Repetitions, `/1` and `:flat`
/// may be left out.
std::string printBuckets(const std::vector<PlannedBucket> &buckets);
/// Nothing for another text.
std::optional<std::vector<PlannedBucket>> parseBuckets(std::string_view text);

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

/// What bagua-place will lay into the runtime's arenas, at most 63 bytes more:
/// buckets of several gradients or parts, narrowed copies, and what the phases
/// of a form leave on a rank or server.
int64_t arenaBytes(const CommunicationProblem &problem,
                   const CommunicationPlan &plan);

/// Schedules and simulates a sound plan.
struct PlanTime {
  double stepNs;
  /// What it took to find out.
  int64_t simulatedTasks;
};
PlanTime simulatePlan(const CommunicationProblem &problem,
                      const CommunicationPlan &plan, CollectivePrices &prices);

} // namespace bagua

#endif // BAGUA_SCHEDULING_COMMUNICATIONPLAN_H
