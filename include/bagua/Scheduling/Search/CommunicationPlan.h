//===- CommunicationPlan.h - All decisions about a step's gradients -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A step whose gradients are to be reduced, and a plan: which gradients share a
// bucket, into how many parts the bucket is cut, by which collectives each part
// goes, and how all of that is scheduled. Pipelines carry the text of a plan;
// PlanGraph.h computes its graph, time and memory without IR.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_SCHEDULING_SEARCH_COMMUNICATIONPLAN_H
#define BAGUA_SCHEDULING_SEARCH_COMMUNICATIONPLAN_H

#include "bagua/Scheduling/Prices/LaunchScheduling.h"
#include "bagua/Scheduling/Prices/Message.h"
#include "bagua/Scheduling/Search/BucketRules.h"

#include <algorithm>

namespace bagua {

/// An update that each rank can run on its part of a param, between the halves
/// of the gradient's all_reduce: elementwise, but for norms that ranks sum.
struct CuttableUpdate {
  /// The ops that make the norms by which the update scales a direction. In the
  /// update, the norms of param and direction follow the gradient.
  struct Norms {
    int32_t direction = 0;
    int32_t ofParam = 0;
    int32_t ofDirection = 0;
    /// Bytes that the direction reads and writes for each element.
    int64_t directionElementBytes = 0;
    /// The kind of work of a norm; the direction's is the update's.
    std::string work;
  };

  /// Its number in `CommunicationProblem::byRuntime`, where the update's first
  /// operand is the param and operand `gradientOperand` the reduced gradient.
  int32_t op;
  int32_t gradientOperand;
  int64_t paramElementBytes;
  /// Bytes read and written for each element of the param, and besides these.
  int64_t movedElementBytes;
  int64_t otherBytes;
  /// The kind of work (ClusterModel::localNs).
  std::string work;
  std::optional<Norms> norms = {};
};

/// A gradient that is all-reduced, or a statistic that nothing in the step
/// waits for.
struct StepGradient {
  /// The number of its all_reduce in the step's graph.
  int32_t op;
  int64_t count;
  int64_t elementBytes;
  AxisSet over;
  /// A float32 gradient, which may be sent in a narrower type.
  bool isNarrowable;
  /// A statistic, which the ranks themselves reduce (never servers).
  bool isStatistic = false;
  std::optional<CuttableUpdate> update = {};
};

/// Another all_reduce of the step. No bucket takes it, but a plan decides its
/// form and its type on the wire.
struct StepReduce {
  /// Its number in the step's graph, and the message that it sends.
  int32_t op;
  Message message;
  /// Whether it reduces a gradient, which servers may sum, and whether that
  /// gradient is float32, which may be sent in a narrower type.
  bool isGradient = false;
  bool isNarrowable = false;
  /// All ranks have the whole tensor, so that it can be cut.
  bool isWhole = true;
  /// Servers can sum it: all ranks reduce it, or store other parts of it.
  bool canBeServed = true;
};

struct CommunicationProblem {
  ClusterModel cluster;
  /// The step with one all_reduce for each gradient, its updates run by the
  /// program or by the runtime. Both graphs have the same ops under the same
  /// numbers.
  OpGraph byProgram, byRuntime;
  /// In order of readiness; `bucketing` has what bucketing needs to know of
  /// them.
  std::vector<StepGradient> gradients;
  BucketingProblem bucketing;
  /// In the order of the step.
  std::vector<StepReduce> others;
  /// Bytes that the runtime's arenas need besides those of gradients' messages:
  /// for what else the step sends, and for what updates by the runtime leave
  /// there.
  int64_t otherBytesByProgram = 0, otherBytesByRuntime = 0;

  /// Whether servers can sum the encoding in which gradients are sent.
  bool canServeWire = true;

  /// Describes what is wrong with the problem; nothing if it is sound.
  std::optional<std::string> check() const;
  /// Whether servers can sum all of the gradients.
  bool canServeAll() const;
};

/// The forms that the parts of a bucket take in turn. Most buckets have one
/// form for all parts; several forms load links that one form leaves idle.
class FormCycle {
public:
  // NOLINTNEXTLINE(google-explicit-constructor): one form is the common case.
  FormCycle(FormKind form = FormKind::Flat) : forms{form} {}
  /// `list` has at least one form; a list of equal forms becomes one form.
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

/// A plan's decisions about some gradients that follow each other.
struct PlannedBucket {
  int32_t gradients = 1;
  /// The number of messages; they differ by at most one element.
  int64_t parts = 1;
  FormCycle form = {};
  /// For float32 gradients; others travel as they are.
  Encoding wire = {};

  bool operator==(const PlannedBucket &other) const {
    return gradients == other.gradients && parts == other.parts &&
           form == other.form && wire == other.wire;
  }
};

/// Which part of a param a rank updates: the whole param after its gradient's
/// all_reduce, or the rank's part between the halves of the all_reduce.
enum class UpdatedPart { Whole, Shard };

template <>
inline constexpr std::array<std::string_view, 2> kWordsOf<UpdatedPart> = {
    "whole", "shard"};

/// Every decision about a step's communication.
struct CommunicationPlan {
  /// Gradients by class, then by readiness (planOrder).
  std::vector<PlannedBucket> buckets;
  /// Decisions about the problem's other all_reduces, one by one, each a bucket
  /// of one gradient and one part. Empty: each is flat, on `otherWire`.
  std::vector<PlannedBucket> others = {};
  Encoding otherWire = {};
  /// Each message that servers sum has one server, the largest message being
  /// assigned first. Otherwise each server sums a part of each message.
  bool isBalanced = false;
  UpdatedPart updatedPart = UpdatedPart::Whole;
  SchedulingOptions scheduling;
  /// Whether the runtime runs the updates (or the program).
  bool isUpdatedByRuntime = false;
};

/// Gradients in the order in which a plan names them: by class, then by
/// readiness.
std::vector<int32_t> planOrder(const BucketingProblem &problem);

/// Prices of the messages of each class of gradients. `axesOfClass` has the
/// axes over which each class is reduced. `cluster` must outlive the prices.
MessageCost messageCost(const ClusterModel &cluster,
                        std::map<int32_t, AxisSet> axesOfClass, Encoding wire,
                        AllowedForms forms);

/// The forms that the messages of a plan by rule may take: messages of
/// gradients, and messages that only the ranks themselves reduce.
struct MessageForms {
  // NOLINTNEXTLINE(google-explicit-constructor): mostly, one follows.
  MessageForms(FormSet forms)
      : gradients(forms), statistics(hierarchiesOf(forms)) {}
  MessageForms(AllowedForms gradients, FormSet statistics)
      : gradients(gradients), statistics(statistics) {}

  AllowedForms gradients;
  FormSet statistics;
};

/// Buckets by a rule, all of one wire, in the order of a plan: every rule puts
/// together gradients of one class that follow each other. Each bucket takes
/// the cheapest allowed form for its parts.
std::vector<PlannedBucket> planBuckets(const CommunicationProblem &problem,
                                       const BucketRule &rule,
                                       const MessageForms &forms,
                                       Encoding wire);

/// The message for `count` elements of a bucket whose gradients are like
/// `like`.
Message messageOf(const PlannedBucket &bucket, const StepGradient &like,
                  int64_t count);

/// checkParts for a plan's buckets.
std::optional<std::string>
checkParts(const std::vector<PlannedBucket> &buckets);

/// The wire that all buckets have; the default wire if they differ.
Encoding commonWire(const std::vector<PlannedBucket> &buckets);

/// Describes what is wrong with a plan's decisions about the `expected` (at
/// least one) other all_reduces; empty if nothing is.
std::string checkOthers(const std::vector<PlannedBucket> &others,
                        size_t expected);

/// Buckets as text. `3*1,12:rail,1/8:servers+flat:bf16` is three gradients
/// alone, twelve in a bucket on rails, and one in eight parts, by way of
/// servers and among the ranks in turn, in 16 bits. Repetitions, `/1`, `:flat`
/// and the common wire may be left out.
std::string printBuckets(const std::vector<PlannedBucket> &buckets,
                         Encoding common = {});
/// Reads such a text; nothing if it is another text.
std::optional<std::vector<PlannedBucket>> parseBuckets(std::string_view text,
                                                       Encoding common = {});

/// The members of each bucket; or what is wrong with the buckets: they name
/// more or fewer gradients than there are, a bucket has gradients of two
/// classes, or more parts than elements.
struct ResolvedBuckets {
  std::vector<Bucket> members;
  std::string error;
};
ResolvedBuckets resolveBuckets(const std::vector<PlannedBucket> &buckets,
                               const BucketingProblem &problem,
                               const std::vector<int64_t> &counts);

} // namespace bagua

#endif // BAGUA_SCHEDULING_SEARCH_COMMUNICATIONPLAN_H
