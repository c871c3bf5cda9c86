//===- Rivals.cpp - Plans that a search must not be behind ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Generators alone; nothing here is shared with the search.
//
//===----------------------------------------------------------------------===//
#include "Rivals.h"

#include "bagua/Scheduling/Search/Decide.h"
#include "bagua/Scheduling/Search/PlanGraph.h"
#include "bagua/Scheduling/Search/Strategy.h"

#include <cmath>
#include <ctime>

using namespace bagua;
using namespace bagua::test;

static constexpr int64_t kMiB = 1 << 20;

int64_t RivalRandom::between(int64_t least, int64_t most) {
  double part = static_cast<double>(below(1000)) / 999;
  return std::llround(
      static_cast<double>(least) *
      std::pow(static_cast<double>(most) / static_cast<double>(least), part));
}

//===----------------------------------------------------------------------===//
// Clusters
//===----------------------------------------------------------------------===//

ClusterModel bagua::test::randomCluster(RivalRandom &random) {
  static const char *const kNames[] = {"rack", "node", "gpu"};
  ClusterModel cluster;
  auto axes = static_cast<int>(1 + random.below(3));
  int64_t mostRanks = 1024;
  for (int axis = 0; axis < axes; ++axis) {
    bool isInner = axis > 0 && axis + 1 == axes;
    std::vector<int64_t> sizes =
        isInner     ? std::vector<int64_t>{2, 4, 8}
        : axes == 1 ? std::vector<int64_t>{4, 6, 8, 16, 64, 256, 1024}
                    : std::vector<int64_t>{2, 3, 4, 8, 16, 32};
    AxisModel model;
    model.name = kNames[3 - axes + axis];
    do
      model.size = random.oneOf(sizes);
    while (model.size > mostRanks);
    mostRanks /= model.size;
    model.latencyNs =
        isInner ? random.between(1000, 30000) : random.between(2000, 1000000);
    model.bytesPerS = isInner ? random.between(4000000000, 450000000000)
                              : random.between(1000000000, 50000000000);
    cluster.axes.push_back(model);
  }
  // A card for each node or rank, a bus or links of one's own.
  int64_t inside = 1;
  for (int axis = axes - 1; axis >= 0; --axis) {
    AxisModel &model = cluster.axes[axis];
    if (random.below(2))
      model.sharers = axis + 1 == axes && axes > 1 ? model.size : inside;
    inside *= model.size;
  }
  if (cluster.workers() < 4)
    cluster.axes[0].size *= 2;
  switch (random.below(3)) {
  case 0:
    break;
  case 1:
    cluster.dedicatedServers =
        std::max<int64_t>(1, cluster.axes[0].size / (1 + random.below(4)));
    break;
  default:
    cluster.serversOn = (1 << (1 + random.below(axes))) - 1;
  }
  cluster.launchNs = random.between(1000, 50000);
  cluster.memoryBytesPerS = 900000000000;
  cluster.hasRingsAndTreesOnly = random.below(2);
  // A bus that is slower beside compute, a system's own cost.
  if (random.below(4) == 0)
    cluster.axes.back().overlappedRate =
        0.25 * static_cast<double>(1 + random.below(3));
  if (random.below(3) == 0)
    cluster.messageNs = random.between(10000, 400000);
  return cluster;
}

std::string bagua::test::textOf(const ClusterModel &cluster) {
  std::string text = "axes [", on;
  for (int axis = 0; axis < cluster.axisCount(); ++axis) {
    const AxisModel &model = cluster.axes[axis];
    text += (axis > 0 ? ", " : "") + ("#bagua.axis<\"" + model.name) +
            "\", size = " + std::to_string(model.size) +
            ", latency_ns = " + std::to_string(model.latencyNs) +
            ", bytes_per_s = " + std::to_string(model.bytesPerS) +
            ", sharers = " + std::to_string(model.sharers);
    if (model.overlappedRate < 1)
      text += ", overlapped_rate = " + std::to_string(model.overlappedRate);
    text += ">";
    if (cluster.serversOn >> axis & 1)
      on += (on.empty() ? "" : ", ") + model.name;
  }
  text += "] device #bagua.device<flop_per_s = 15700000000000, bytes_per_s = " +
          std::to_string(cluster.memoryBytesPerS) +
          ", launch_ns = " + std::to_string(cluster.launchNs) + ">";
  if (cluster.messageNs > 0)
    text += " message_ns " + std::to_string(cluster.messageNs);
  if (cluster.dedicatedServers > 0)
    text += " servers " + std::to_string(cluster.dedicatedServers);
  if (!on.empty())
    text += " servers_on [" + on + "]";
  return text + (cluster.hasRingsAndTreesOnly ? " rings_and_trees" : "");
}

//===----------------------------------------------------------------------===//
// Variants of presets
//===----------------------------------------------------------------------===//

/// Which of the forms there is something for on a cluster.
static std::vector<FormKind> formsOn(const ClusterModel &cluster) {
  std::vector<FormKind> forms{FormKind::Flat, FormKind::Halves};
  if (cluster.axisCount() > 1)
    forms.insert(forms.end(),
                 {FormKind::Leader, FormKind::Rail, FormKind::Multilevel});
  if (cluster.servers() > 0) {
    forms.push_back(FormKind::Servers);
    if (cluster.axisCount() > 1)
      forms.push_back(FormKind::RailServers);
  }
  return forms;
}

namespace {
/// The values that a preset's options are tried with.
struct Choices {
  std::vector<BucketRule> rules;
  std::vector<std::pair<std::string, FormSet>> forms;
  std::vector<SchedulingOptions> schedulings;
};
} // namespace

static Choices choicesOf(const Strategy &preset, const ClusterModel &cluster) {
  Choices choices;
  auto change = [&](Setting setting, int64_t BucketRule::*value,
                    std::initializer_list<int64_t> list) {
    if (!preset.findOption(setting))
      return;
    for (int64_t number : list) {
      choices.rules.push_back(preset.buckets);
      choices.rules.back().*value = number;
    }
  };
  choices.rules.push_back(preset.buckets);
  change(Setting::CapBytes, &BucketRule::capBytes,
         {kMiB, 4 * kMiB, 50 * kMiB, 200 * kMiB});
  change(Setting::PartitionBytes, &BucketRule::partitionBytes,
         {kMiB, 16000000, 64000000});
  change(Setting::CycleNs, &BucketRule::cycleNs, {5000000});
  choices.forms.emplace_back(wordOf(preset.form), formBit(preset.form));
  if (preset.findOption(Setting::Form) && cluster.axisCount() > 1 &&
      preset.form != FormKind::Halves && preset.form != FormKind::RailServers) {
    choices.forms.emplace_back("cheapest", kHierarchyForms);
    for (FormKind form : {FormKind::Flat, FormKind::Leader, FormKind::Rail})
      if (form != preset.form)
        choices.forms.emplace_back(wordOf(form), formBit(form));
  }
  choices.schedulings.push_back(preset.schedule);
  if (preset.findOption(Setting::CreditBytes))
    for (int64_t creditBytes : {int64_t(0), 32 * kMiB, 256 * kMiB})
      choices.schedulings.push_back({SchedulePolicy::Priority, creditBytes});
  return choices;
}

std::vector<Rival>
bagua::test::presetVariants(const CommunicationProblem &problem) {
  std::vector<Rival> rivals;
  for (const Strategy &preset : getStrategies()) {
    bool needsServers = (formBit(preset.form) & kServerForms) != 0;
    if (preset.use != Strategy::Use::Published ||
        preset.relaxation != kDataParallel ||
        (needsServers && problem.cluster.servers() == 0))
      continue;
    Choices choices = choicesOf(preset, problem.cluster);
    for (const BucketRule &rule : choices.rules)
      for (const auto &[form, forms] : choices.forms) {
        Rival rival;
        rival.plan.buckets = planBuckets(problem, rule, forms, Encoding());
        for (const SchedulingOptions &scheduling : choices.schedulings)
          for (bool isUpdatedByRuntime : {false, true}) {
            rival.plan.scheduling = scheduling;
            rival.plan.isUpdatedByRuntime = isUpdatedByRuntime;
            rival.name = std::string(preset.name) + " cap " +
                         std::to_string(rule.capBytes) + " partition " +
                         std::to_string(rule.partitionBytes) + " " + form +
                         " credit " + std::to_string(scheduling.creditBytes) +
                         (isUpdatedByRuntime ? " runtime" : " program");
            rivals.push_back(rival);
          }
      }
  }
  return rivals;
}

//===----------------------------------------------------------------------===//
// Random plans
//===----------------------------------------------------------------------===//

/// A few forms in turn, one of them more often than others.
static FormCycle randomCycle(const std::vector<FormKind> &forms,
                             RivalRandom &random) {
  std::vector<FormKind> cycle;
  for (int64_t i = 0, size = 1 + random.below(6); i < size; ++i)
    cycle.push_back(random.below(2) ? forms.front() : random.oneOf(forms));
  return FormCycle(std::move(cycle));
}

static CommunicationPlan randomPlan(const CommunicationProblem &problem,
                                    RivalRandom &random) {
  std::vector<FormKind> all = formsOn(problem.cluster), forms;
  for (int64_t i = 0, size = 1 + random.below(3); i < size; ++i)
    forms.push_back(random.oneOf(all));
  BucketRule rule;
  if (random.below(3) > 0) {
    rule.policy = BucketPolicy::Size;
    rule.capBytes = random.between(kMiB / 16, 128 * kMiB);
  }
  if (random.below(3) > 0)
    rule.partitionBytes = random.between(kMiB / 4, 128 * kMiB);
  CommunicationPlan plan;
  plan.buckets = planBuckets(problem, rule, formBit(forms.front()), Encoding());
  // Forms by bucket, by runs of buckets, or within each.
  int64_t mix = random.below(4), run = 1 + random.below(16);
  FormCycle cycle = randomCycle(forms, random);
  for (size_t i = 0; i < plan.buckets.size(); ++i) {
    PlannedBucket &bucket = plan.buckets[i];
    if (mix == 0)
      bucket.form = random.oneOf(forms);
    else if (mix == 1)
      bucket.form = cycle.ofPart(static_cast<int64_t>(i) / run);
    else
      bucket.form = bucket.parts > 1
                        ? cycle
                        : FormCycle(cycle.ofPart(static_cast<int64_t>(i)));
  }
  switch (random.below(6)) {
  case 0:
    plan.scheduling = {SchedulePolicy::Wfbp, 0};
    break;
  case 1:
    plan.scheduling = {SchedulePolicy::Decoupled, 0};
    break;
  default:
    plan.scheduling = {SchedulePolicy::Priority,
                       random.below(4) ? random.between(kMiB, 1024 * kMiB) : 0};
  }
  plan.isUpdatedByRuntime = random.below(4) > 0;
  return plan;
}

std::vector<Rival> bagua::test::randomPlans(const CommunicationProblem &problem,
                                            RivalRandom &random, int count) {
  std::vector<Rival> rivals;
  for (int i = 0; i < count; ++i) {
    Rival &rival = rivals.emplace_back();
    rival.plan = randomPlan(problem, random);
    rival.name = "random " + std::to_string(i);
  }
  return rivals;
}

//===----------------------------------------------------------------------===//
// Contests
//===----------------------------------------------------------------------===//

/// What all gradients take as one message, by its cheapest form.
static double communicationNs(const CommunicationProblem &problem) {
  int64_t bytes = 0;
  for (const StepGradient &gradient : problem.gradients)
    bytes += gradient.count * gradient.elementBytes;
  return cheapestForm(problem.cluster, bytes, problem.gradients.front().over,
                      kHierarchyForms | kServerForms)
      .ns;
}

Contest bagua::test::holdContest(ExportedStep &step, unsigned seed) {
  constexpr int kRandomPlans = 150;
  Contest contest;
  RivalRandom random(seed);
  contest.cluster = textOf(randomCluster(random));
  double computeNs = communicationNs(step.problemOn(contest.cluster, 1e8)) *
                     static_cast<double>(random.between(200, 3000)) / 1000;
  CommunicationProblem problem = step.problemOn(contest.cluster, computeNs);
  // Of this process's processor, whatever else runs.
  std::clock_t start = std::clock();
  contest.found = searchPlan(problem, {});
  contest.searchS = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;

  CollectivePrices prices(problem.cluster, ServerLinks::OneOfAKind);
  std::vector<Rival> rivals = presetVariants(problem);
  for (Rival &rival : randomPlans(problem, random, kRandomPlans))
    rivals.push_back(std::move(rival));
  contest.rivals = rivals.size();
  for (Rival &rival : rivals) {
    double ns = simulatePlan(problem, rival.plan, prices).stepNs;
    if (contest.bestNs > 0 && ns >= contest.bestNs)
      continue;
    contest.bestNs = ns;
    contest.best = std::move(rival);
  }
  return contest;
}
