//===- CommunicationPlan.h - All decisions about a step's gradients -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A step whose gradients are to be reduced, and a plan: which gradients share a
// bucket, into how many parts it is cut, by which collectives each part goes,
// and how all of that is scheduled. The text of a plan is what a pipeline
// carries; PlanGraph.h says what it leads to, without IR.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_SCHEDULING_COMMUNICATIONPLAN_H
#define BAGUA_SCHEDULING_COMMUNICATIONPLAN_H

#include "bagua/Scheduling/BucketRules.h"
#include "bagua/Scheduling/LaunchScheduling.h"
#include "bagua/Scheduling/Message.h"

#include <algorithm>

namespace bagua {

/// An elementwise update that each rank can run on its part of a param, between
/// the halves of the gradient's all_reduce.
struct CuttableUpdate {
  /// Its number in the step's graph with updates by the runtime, where the
  /// param is its first operand and the reduced gradient this one.
  int32_t op;
  int32_t gradientOperand;
  int64_t paramElementBytes;
  /// What it reads and writes for an element of the param, and besides.
  int64_t movedElementBytes;
  int64_t otherBytes;
  /// The kind of work (ClusterModel::localNs).
  std::string work;
};

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
  std::optional<CuttableUpdate> update = {};
};

/// Another all_reduce of the step: no bucket takes it, but how it is made and
/// what is on the wire can be decided.
struct StepReduce {
  /// Its number in the step's graph, and what it sends there.
  int32_t op;
  Message message;
  /// A gradient's, which a narrower type on the wire may stand for where it is
  /// of float32, and which servers may sum.
  bool isGradient = false;
  bool isNarrowable = false;
  /// All ranks have the tensor as a whole, so that it can be cut.
  bool isWhole = true;
  std::optional<CuttableUpdate> update = {};
};

struct CommunicationProblem {
  ClusterModel cluster;
  /// The step with one all_reduce a gradient, updates run by the program or by
  /// the runtime; the same ops under the same numbers.
  OpGraph byProgram, byRuntime;
  /// In order of readiness, and what of them bucketing needs to know.
  std::vector<StepGradient> gradients;
  BucketingProblem bucketing;
  /// In the order of the step.
  std::vector<StepReduce> others;
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

/// What of a param a rank updates between the halves of its gradient's
/// all_reduce: all of it behind both, or its part between them.
enum class UpdatedPart { Whole, Shard };

template <>
inline constexpr std::array<std::string_view, 2> kWordsOf<UpdatedPart> = {
    "whole", "shard"};

/// Every decision about a step's communication.
struct CommunicationPlan {
  /// Of the gradients by class, each class by readiness.
  std::vector<PlannedBucket> buckets;
  /// Of the problem's other all_reduces, one by one, each a bucket of one
  /// gradient and one part; empty: flat, on the wire that all buckets have.
  std::vector<PlannedBucket> others = {};
  /// Each message that servers sum has one server, the largest first; else each
  /// server has a part of each.
  bool isBalanced = false;
  UpdatedPart updatedPart = UpdatedPart::Whole;
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
                        AllowedForms forms);

/// Which forms the messages of a plan by rule may take: those of gradients, and
/// those of what only the ranks themselves reduce.
struct MessageForms {
  // NOLINTNEXTLINE(google-explicit-constructor): mostly, one follows.
  MessageForms(FormSet forms)
      : gradients(forms), statistics(hierarchiesOf(forms)) {}
  MessageForms(AllowedForms gradients, FormSet statistics)
      : gradients(gradients), statistics(statistics) {}

  AllowedForms gradients;
  FormSet statistics;
};

/// Buckets by a rule, of one wire, each of the form among those allowed that is
/// cheapest for its parts, in the order of a plan: every rule puts gradients of
/// one class together that follow each other.
std::vector<PlannedBucket> planBuckets(const CommunicationProblem &problem,
                                       const BucketRule &rule,
                                       const MessageForms &forms,
                                       Encoding wire);

/// A part of a bucket of gradients that are like one, as it is sent.
Message messageOf(const PlannedBucket &bucket, const StepGradient &like,
                  int64_t count);

/// checkParts of a plan's buckets.
std::optional<std::string>
checkParts(const std::vector<PlannedBucket> &buckets);

/// The wire of all buckets, if they have one; else none.
Encoding commonWire(const std::vector<PlannedBucket> &buckets);

/// What is wrong with a plan's decisions about so many other all_reduces, of
/// which there is at least one; empty if nothing is.
std::string checkOthers(const std::vector<PlannedBucket> &others,
                        size_t expected);

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

} // namespace bagua

#endif // BAGUA_SCHEDULING_COMMUNICATIONPLAN_H
