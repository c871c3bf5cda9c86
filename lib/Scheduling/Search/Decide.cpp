//===- Decide.cpp - What a strategy decides about a step ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Buckets by rule or list, and the other all_reduces by the same forms.
//
//===----------------------------------------------------------------------===//
#include "bagua/Scheduling/Search/Decide.h"

#include <algorithm>

using namespace bagua;

/// The forms that a strategy allows a reduction.
static AllowedForms formsFor(const StrategySettings &settings,
                             ReductionTraits reduction) {
  if (!settings.isHalved)
    return formsFor(settings.form, settings.servers != ServerUse::None,
                    reduction);
  if (!reduction.isGradient || !reduction.isWhole)
    return formBit(FormKind::Flat);
  return halvedForms(settings.halves);
}

/// Decides about an all_reduce that is in no bucket.
static PlannedBucket decideOther(const StepReduce &reduce,
                                 const CommunicationProblem &problem,
                                 const StrategySettings &settings) {
  PlannedBucket decided{1, 1, {}, settings.wire};
  AllowedForms allowed =
      formsFor(settings, {reduce.isGradient, reduce.isWhole});
  Message message = reduce.message;
  if (reduce.isNarrowable)
    message.wire = settings.wire;
  decided.form = cheapestForm(problem.cluster, message,
                              formsForWire(allowed, message.wire))
                     .form.kind;
  return decided;
}

static bool isServed(const PlannedBucket &bucket) {
  return std::any_of(bucket.form.kinds().begin(), bucket.form.kinds().end(),
                     [](FormKind form) { return bagua::isServed(form); });
}

/// The reason why servers can't sum a bucket; empty if they can, or need not.
static std::string checkServed(const PlannedBucket &bucket, bool isNarrowable,
                               bool canBeServed, const ClusterModel &cluster) {
  if (!isServed(bucket))
    return "";
  if (cluster.servers() == 0)
    return "expected a cluster with servers, found none";
  if (!canBeServed)
    return "expected gradients that are reduced over all axes, as servers sum "
           "what all ranks push";
  if (isNarrowable && !isReducible(bucket.wire))
    return "expected a wire whose values servers can sum, found " +
           encodingText(bucket.wire);
  return "";
}

/// The same for all that a plan leaves to servers.
static std::string checkServed(const CommunicationPlan &plan,
                               const CommunicationProblem &problem) {
  const std::vector<int32_t> order = planOrder(problem.bucketing);
  size_t next = 0;
  std::string wrong;
  for (const PlannedBucket &bucket : plan.buckets) {
    const StepGradient &like = problem.gradients[order[next]];
    next += bucket.gradients;
    if (wrong.empty())
      wrong =
          checkServed(bucket, like.isNarrowable,
                      canServe(problem.cluster, like.over), problem.cluster);
  }
  for (size_t i = 0; i < plan.others.size() && wrong.empty(); ++i)
    wrong = checkServed(plan.others[i], problem.others[i].isNarrowable,
                        problem.others[i].canBeServed, problem.cluster);
  return wrong;
}

/// The reason why all_reduces of parts of tensors can't take their forms.
static std::string checkParts(const std::vector<PlannedBucket> &others,
                              const std::vector<StepReduce> &reduces) {
  for (size_t i = 0; i < others.size(); ++i)
    if (!reduces[i].isWhole && others[i].form != FormKind::Flat &&
        others[i].form != FormKind::Servers)
      return "expected flat or servers for all_reduce " + std::to_string(i) +
             " besides those of buckets, which is of a part of a tensor";
  return "";
}

/// Reads a list of buckets; returns what is wrong with it.
static std::string readList(const StrategySettings &settings,
                            const CommunicationProblem &problem,
                            CommunicationPlan &plan) {
  auto buckets = parseBuckets(settings.bucketList, settings.wire);
  auto others = parseBuckets(settings.otherList, settings.wire);
  if (!buckets || !others)
    return "expected buckets such as 3*1,12:rail,1/8, found '" +
           (buckets ? settings.otherList : settings.bucketList) + "'";
  plan.buckets = std::move(*buckets);
  plan.others = std::move(*others);
  std::vector<int64_t> counts;
  counts.reserve(problem.gradients.size());
  for (const StepGradient &gradient : problem.gradients)
    counts.push_back(gradient.count);
  std::string error =
      resolveBuckets(plan.buckets, problem.bucketing, counts).error;
  if (error.empty() && !plan.others.empty())
    error = checkOthers(plan.others, problem.others.size());
  if (error.empty())
    error = checkParts(plan.others, problem.others);
  return error;
}

/// Decides buckets by a rule, and the other all_reduces by the same forms.
static void decideByRule(const StrategySettings &settings,
                         const CommunicationProblem &problem,
                         CommunicationPlan &plan) {
  MessageForms forms(
      formsFor(settings, {/*isGradient=*/true, /*isWhole=*/true}),
      formsFor(settings, {/*isGradient=*/false, /*isWhole=*/true}).forms);
  plan.buckets = planBuckets(problem, settings.buckets, forms, settings.wire);
  for (const StepReduce &reduce : problem.others)
    plan.others.push_back(decideOther(reduce, problem, settings));
  bool isPlain = std::all_of(
      plan.others.begin(), plan.others.end(),
      [](const PlannedBucket &other) { return other.form == FormKind::Flat; });
  if (isPlain)
    plan.others.clear(); // what is not named is flat
}

DecidedPlan bagua::decide(const StrategySettings &settings,
                          const CommunicationProblem &problem) {
  DecidedPlan decided;
  CommunicationPlan &plan = decided.plan;
  plan.otherWire = settings.wire;
  if (settings.servers != ServerUse::None && problem.cluster.servers() == 0) {
    decided.error = "expected a cluster with servers, found none";
    return decided;
  }
  if (settings.buckets.policy == BucketPolicy::List)
    decided.error = readList(settings, problem, plan);
  else
    decideByRule(settings, problem, plan);
  if (decided.error.empty())
    decided.error = checkServed(plan, problem);
  if (decided.error.empty())
    decided.error = checkParts(plan.buckets).value_or("");
  plan.scheduling = settings.schedule;
  plan.isUpdatedByRuntime = settings.updates == UpdatesBy::Runtime;
  plan.isBalanced = settings.servers == ServerUse::Balanced;
  plan.updatedPart = settings.updatedPart;
  return decided;
}

DecidedPlan bagua::decide(const Strategy &row,
                          const CommunicationProblem &problem,
                          const UserChoices &choices) {
  DecidedPlan none;
  if (row.use != Strategy::Use::Published)
    none.error = "expected a strategy with decisions of its own";
  else if (row.relaxation != kDataParallel)
    none.error = "expected data parallelism";
  else if (choices.wire != row.wire && !row.findOption(Setting::WireType))
    none.error = "expected a strategy whose wire may be chosen";
  if (!none.error.empty())
    return none;
  return decide(settingsOf(row, choices), problem);
}
