//===- Decide.cpp - What a strategy decides about a step ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Buckets by rule or list, and the other all_reduces by the same forms.
//
//===----------------------------------------------------------------------===//
#include "bagua/Scheduling/Search/Decide.h"

#include <algorithm>

using namespace bagua;

/// The forms that a strategy allows.
static MessageForms messageFormsOf(const StrategySettings &settings) {
  if (settings.isHalved) // gradients alone
    return {halvedForms(settings.halves), formBit(FormKind::Flat)};
  FormSet forms = formsOf(settings.form);
  if (settings.servers != ServerUse::None)
    return {servedForms(settings.form), hierarchiesOf(forms)};
  return {AllowedForms(forms), hierarchiesOf(forms)};
}

/// Decides about an all_reduce that is in no bucket. Parts of a tensor are
/// never reduced in several phases, neither by ranks nor by servers.
static PlannedBucket decideOther(const StepReduce &reduce,
                                 const MessageForms &forms,
                                 const CommunicationProblem &problem,
                                 const StrategySettings &settings) {
  PlannedBucket decided{1, 1, {}, settings.wire};
  AllowedForms allowed =
      reduce.isGradient ? forms.gradients : AllowedForms(forms.statistics);
  if (!reduce.isWhole && settings.servers == ServerUse::None)
    return decided;
  if (!reduce.isWhole)
    allowed = reduce.isGradient ? servedForms(FormChoice(FormKind::Flat))
                                : AllowedForms(formBit(FormKind::Flat));
  Message message = reduce.message;
  if (reduce.isNarrowable)
    message.wire = settings.wire;
  decided.form = cheapestForm(problem.cluster, message,
                              formsForWire(allowed, message.wire))
                     .form.kind;
  return decided;
}

/// What the problem lacks for servers to sum its gradients; empty if it lacks
/// nothing.
static std::string whatServersLack(const CommunicationProblem &problem) {
  if (problem.cluster.servers() == 0)
    return "expected a cluster with servers, found none";
  if (!problem.canServeAll())
    return "expected gradients that are reduced over all axes, as servers sum "
           "what all ranks push";
  return "";
}

static bool isServed(const PlannedBucket &bucket) {
  return std::any_of(
      bucket.form.kinds().begin(), bucket.form.kinds().end(),
      [](FormKind form) { return (formBit(form) & kServerForms) != 0; });
}

/// What is wrong with what a plan leaves to servers; empty if nothing.
static std::string checkServed(const CommunicationPlan &plan,
                               const CommunicationProblem &problem) {
  const std::vector<int32_t> order = planOrder(problem.bucketing);
  size_t next = 0;
  bool isAny = false, areSums = true;
  auto see = [&](const PlannedBucket &bucket, bool isNarrowable) {
    isAny |= isServed(bucket);
    areSums &= !isServed(bucket) || !isNarrowable || isReducible(bucket.wire);
  };
  for (const PlannedBucket &bucket : plan.buckets) {
    see(bucket, problem.gradients[order[next]].isNarrowable);
    next += bucket.gradients;
  }
  for (size_t i = 0; i < plan.others.size(); ++i)
    see(plan.others[i], problem.others[i].isNarrowable);
  if (!areSums)
    return "expected a wire whose values servers can sum";
  return isAny ? whatServersLack(problem) : "";
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
  return error;
}

/// Decides buckets by a rule, and the other all_reduces by the same forms.
static void decideByRule(const StrategySettings &settings,
                         const CommunicationProblem &problem,
                         CommunicationPlan &plan) {
  MessageForms forms = messageFormsOf(settings);
  plan.buckets = planBuckets(problem, settings.buckets, forms, settings.wire);
  for (const StepReduce &reduce : problem.others)
    plan.others.push_back(decideOther(reduce, forms, problem, settings));
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
  bool isServed = settings.servers != ServerUse::None ||
                  formsOf(settings.form) & kServerForms;
  if (isServed)
    decided.error = whatServersLack(problem);
  if (!decided.error.empty())
    return decided;
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
