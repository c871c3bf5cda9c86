//===- PlanRules.cpp - Plans that a few numbers describe ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Applies rules, and computes shares of forms from the links' loads.
//
//===----------------------------------------------------------------------===//
#include "bagua/Scheduling/Search/PlanRules.h"

#include "bagua/Scheduling/Search/PlanGraph.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

using namespace bagua;

std::vector<int64_t>
bagua::bytesOfBuckets(const CommunicationProblem &problem,
                      const std::vector<PlannedBucket> &buckets) {
  std::vector<int32_t> order = planOrder(problem.bucketing);
  auto next = order.begin();
  std::vector<int64_t> bytes;
  bytes.reserve(buckets.size());
  for (const PlannedBucket &bucket : buckets) {
    int64_t &sum = bytes.emplace_back(0);
    for (int32_t i = 0; i < bucket.gradients; ++i)
      sum += problem.bucketing.tensors[*next++].bytes;
  }
  return bytes;
}

int bagua::sizeClassOf(const PlannedBucket &bucket, int64_t bytes) {
  return std::ilogb(static_cast<double>(bytes / bucket.parts + 1));
}

std::vector<FormKind> bagua::usefulForms(const CommunicationProblem &problem) {
  const ClusterModel &cluster = problem.cluster;
  std::vector<FormKind> forms{FormKind::Flat};
  auto levels =
      std::count_if(cluster.axes.begin(), cluster.axes.end(),
                    [](const AxisModel &axis) { return axis.size > 1; });
  if (levels > 1)
    forms.insert(forms.end(),
                 {FormKind::Rail, FormKind::Multilevel, FormKind::Leader});
  if (problem.canServeAll()) {
    forms.push_back(FormKind::Servers);
    if (levels > 1)
      forms.push_back(FormKind::RailServers);
  }
  forms.push_back(FormKind::Halves);
  return forms;
}

/// The plan with each gradient of some buckets in a bucket of its own.
static CommunicationPlan takeApart(const CommunicationPlan &plan,
                                   const std::vector<bool> &isApart,
                                   bool isFlat) {
  CommunicationPlan result = plan;
  result.buckets.clear();
  for (size_t i = 0; i < plan.buckets.size(); ++i) {
    PlannedBucket bucket = plan.buckets[i];
    int32_t times = 1;
    if (isApart[i]) {
      times = std::exchange(bucket.gradients, 1);
      bucket.parts = 1;
      bucket.form = isFlat ? FormKind::Flat : bucket.form.ofPart(0);
    }
    result.buckets.insert(result.buckets.end(), times, bucket);
  }
  return result;
}

std::vector<CommunicationPlan>
bagua::leanerPlans(const CommunicationProblem &problem,
                   const CommunicationPlan &plan) {
  constexpr int64_t kStages = 12;
  std::vector<int64_t> bytes = arenaBytesOfBuckets(problem, plan);
  std::vector<size_t> order(bytes.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return bytes[a] > bytes[b]; });
  int64_t total = std::accumulate(bytes.begin(), bytes.end(), int64_t(0));
  std::vector<CommunicationPlan> plans;
  std::vector<bool> isApart(bytes.size(), false);
  int64_t saved = 0, stage = 1;
  for (size_t bucket : order) {
    isApart[bucket] = true;
    saved += bytes[bucket];
    if (saved * kStages < stage * total && bucket != order.back())
      continue;
    while (stage < kStages && saved * kStages >= stage * total)
      ++stage;
    for (bool isFlat : {false, true})
      plans.push_back(takeApart(plan, isApart, isFlat));
  }
  return plans;
}

/// Forms in turn from a place in the cycle on, one for each part of a bucket.
static FormCycle cycleFrom(const std::vector<FormKind> &mix, int64_t from,
                           int64_t parts) {
  auto size = std::min(parts, static_cast<int64_t>(mix.size()));
  std::vector<FormKind> forms;
  forms.reserve(size);
  for (int64_t i = 0; i < size; ++i)
    forms.push_back(mix[(from + i) % static_cast<int64_t>(mix.size())]);
  return FormCycle(std::move(forms));
}

void bagua::keepStatisticsFromServers(const CommunicationProblem &problem,
                                      CommunicationPlan &plan) {
  if (problem.cluster.servers() == 0)
    return;
  std::vector<int32_t> order = planOrder(problem.bucketing);
  size_t next = 0;
  for (PlannedBucket &bucket : plan.buckets) {
    if (problem.gradients[order[next]].isStatistic) {
      std::vector<FormKind> forms = bucket.form.kinds();
      std::transform(forms.begin(), forms.end(), forms.begin(), hierarchyOf);
      bucket.form = FormCycle(std::move(forms));
    }
    next += bucket.gradients;
  }
}

CommunicationPlan bagua::planByRule(const CommunicationProblem &problem,
                                    const PlanRule &rule, Encoding wire) {
  CommunicationPlan plan;
  plan.scheduling = rule.scheduling;
  plan.isUpdatedByRuntime = rule.isUpdatedByRuntime;
  plan.otherWire = wire;
  BucketRule buckets;
  buckets.policy =
      rule.mergeBytes == 0 ? BucketPolicy::None : BucketPolicy::Size;
  buckets.capBytes = rule.mergeBytes;
  buckets.partitionBytes = rule.partitionBytes;
  plan.buckets = planBuckets(problem, buckets, rule.form.forms, wire);
  std::vector<int64_t> bytes = bytesOfBuckets(problem, plan.buckets);
  std::vector<FormKind> cycle = spreadForms(rule.form.mix);
  int64_t mixed = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    PlannedBucket &bucket = plan.buckets[i];
    auto form = rule.formsBySize.find(sizeClassOf(bucket, bytes[i]));
    if (form != rule.formsBySize.end()) {
      bucket.form = form->second;
    } else if (rule.form.isMixed() &&
               bytes[i] / bucket.parts >= rule.form.mixedBytes) {
      bucket.form = cycleFrom(cycle, mixed, bucket.parts);
      mixed += bucket.parts;
    }
  }
  keepStatisticsFromServers(problem, plan);
  return plan;
}

//===----------------------------------------------------------------------===//
// Mixes
//===----------------------------------------------------------------------===//

std::vector<FormKind> bagua::spreadForms(const FormMix &mix) {
  std::vector<FormKind> cycle;
  if (mix == FormMix())
    return cycle;
  FormMix due = {};
  for (int place = 0; place < kMixShares; ++place) {
    for (size_t form = 0; form < due.size(); ++form)
      due[form] += mix[form];
    size_t next = std::max_element(due.begin(), due.end()) - due.begin();
    due[next] -= kMixShares;
    cycle.push_back(static_cast<FormKind>(next));
  }
  return cycle;
}

/// The load of a message on each link.
static std::vector<double> loadOf(const ClusterModel &cluster, int64_t bytes,
                                  AxisSet over, FormKind kind) {
  std::vector<double> load(linkCount(cluster), 0);
  AllReduceForm form = formOfKind(cluster, bytes, over, kind);
  for (const MessageStage &stage :
       expandMessage(cluster, {over, bytes, /*elementBytes=*/1}, form))
    for (const LinkUse &use : cheapestCost(cluster, stage.call).uses)
      load[use.link] += use.ns;
  return load;
}

namespace {
struct RatedMix {
  FormMix mix;
  double fullestNs;
};
} // namespace

/// The shares of three forms, or of two of them, with which the fullest link
/// carries least.
static RatedMix balance(const std::vector<std::vector<double>> &loads,
                        const std::array<FormKind, 3> &forms) {
  std::array<size_t, 3> numbers;
  std::transform(forms.begin(), forms.end(), numbers.begin(),
                 [](FormKind form) { return static_cast<size_t>(form); });
  RatedMix best{{}, std::numeric_limits<double>::infinity()};
  for (int first = 1; first < kMixShares; ++first)
    for (int second = forms[1] == forms[2] ? kMixShares - first : 1;
         second <= kMixShares - first; ++second) {
      std::array<int, 3> shares{first, second, kMixShares - first - second};
      double fullest = 0;
      for (size_t link = 0; link < loads[numbers[0]].size(); ++link) {
        double ns = 0;
        for (size_t i = 0; i < shares.size(); ++i)
          ns += shares[i] * loads[numbers[i]][link] / kMixShares;
        fullest = std::max(fullest, ns);
      }
      if (fullest >= best.fullestNs)
        continue;
      best = {{}, fullest};
      for (size_t i = 0; i < shares.size(); ++i)
        best.mix[numbers[i]] += shares[i];
    }
  return best;
}

std::vector<FormMix> bagua::balancedMixes(const ClusterModel &cluster,
                                          int64_t bytes, AxisSet over,
                                          const std::vector<FormKind> &forms,
                                          size_t most) {
  constexpr double kLeastGain = 0.98;
  std::vector<std::vector<double>> loads(kFormKindCount);
  double ofOne = std::numeric_limits<double>::infinity();
  for (FormKind form : forms) {
    std::vector<double> &load = loads[static_cast<size_t>(form)];
    load = loadOf(cluster, bytes, over, form);
    ofOne = std::min(ofOne, *std::max_element(load.begin(), load.end()));
  }
  std::vector<RatedMix> mixes;
  for (size_t a = 0; a < forms.size(); ++a)
    for (size_t b = a + 1; b < forms.size(); ++b)
      for (size_t c = b; c < forms.size(); ++c) {
        RatedMix rated = balance(loads, {forms[a], forms[b], forms[c]});
        if (rated.fullestNs < kLeastGain * ofOne)
          mixes.push_back(rated);
      }
  std::stable_sort(mixes.begin(), mixes.end(),
                   [](const RatedMix &a, const RatedMix &b) {
                     return a.fullestNs < b.fullestNs;
                   });
  std::vector<FormMix> best;
  for (const RatedMix &rated : mixes)
    if (best.size() < most &&
        std::find(best.begin(), best.end(), rated.mix) == best.end())
      best.push_back(rated.mix);
  return best;
}
