//===- PlanSearch.cpp - The best plan of a step's communication -----------===//
//
// Local search over plans.
//
//===----------------------------------------------------------------------===//
#include "bagua/Scheduling/PlanSearch.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

using namespace bagua;

namespace {
/// A change that gains less is not worth its words.
constexpr double kLeastGain = 1e-5;
/// How near the bound is near enough.
constexpr double kNearBound = 1.001;
constexpr int64_t kMiB = 1 << 20;
} // namespace

/// The bytes of each of a plan's buckets.
static std::vector<int64_t>
bytesOfBuckets(const CommunicationProblem &problem,
               const std::vector<PlannedBucket> &buckets) {
  std::vector<int32_t> order = planOrder(problem.bucketing);
  auto next = order.begin();
  std::vector<int64_t> bytes;
  for (const PlannedBucket &bucket : buckets) {
    int64_t &sum = bytes.emplace_back(0);
    for (int32_t i = 0; i < bucket.gradients; ++i)
      sum += problem.bucketing.tensors[*next++].bytes;
  }
  return bytes;
}

CommunicationPlan bagua::leanestPlan(const CommunicationProblem &problem,
                                     Wire wire) {
  CommunicationPlan plan;
  plan.buckets =
      planBuckets(problem, {BucketPolicy::None}, FormKind::Flat, wire);
  return plan;
}

std::vector<StartingPlan>
bagua::startingPlans(const CommunicationProblem &problem,
                     const UserChoices &choices) {
  std::vector<StartingPlan> plans;
  for (const Strategy &strategy : getStrategies()) {
    // What waits for the end of backward is never ahead of what does not.
    if (strategy.schedule.policy == SchedulePolicy::Bsp)
      continue;
    if (auto plan = planOf(strategy, problem, choices))
      plans.push_back({&strategy, std::move(*plan)});
  }
  return plans;
}

//===----------------------------------------------------------------------===//
// Search
//===----------------------------------------------------------------------===//

namespace {
struct Candidate {
  CommunicationPlan plan;
  double stepNs = 0;
};

/// A plan by sizes: few numbers for all buckets.
struct SizeRule {
  /// Neighbours are merged until they have as much; 0: alone.
  int64_t mergeBytes = kMiB;
  /// What is larger is cut; 0: nothing.
  int64_t partitionBytes = 4 * kMiB;
  /// By the binary logarithm of a message's bytes.
  std::map<int, FormKind> forms;
  FormKind otherForm = FormKind::Flat;
  SchedulingOptions scheduling = {SchedulePolicy::Priority, 8 * kMiB};
  bool isUpdatedByRuntime = true;
};

class PlanSearch {
public:
  PlanSearch(const CommunicationProblem &problem,
             const PlanSearchOptions &options)
      : problem(problem), options(options), prices(problem.cluster) {}

  PlanSearchResult run();

private:
  double rate(const CommunicationPlan &plan);
  bool isDone() const {
    return result.evaluations >= options.evaluations ||
           simulatedTasks >= options.simulatedTasks ||
           result.stepNs <= options.boundNs * kNearBound;
  }
  bool improves(const CommunicationPlan &plan, Candidate &best);
  std::vector<FormKind> usefulForms() const;
  std::vector<SchedulingOptions> schedulings() const;

  CommunicationPlan planBySize(const SizeRule &rule) const;
  std::vector<bool> updaters() const;
  int sizeClassOf(const PlannedBucket &bucket, int64_t bytes) const;
  bool tryRule(const SizeRule &changed, SizeRule &rule, Candidate &best);
  bool improveRule(SizeRule &rule, Candidate &best);
  bool improveForms(SizeRule &rule, Candidate &best);
  bool improveSchedule(Candidate &best);
  bool improveShares(Candidate &best);
  bool improveMessages(size_t index, int64_t count, Candidate &best);
  bool improveMembers(size_t index, size_t first, Candidate &best);
  bool improveBuckets(Candidate &best);
  void explain();

  const CommunicationProblem &problem;
  const PlanSearchOptions &options;
  CollectivePrices prices;
  std::map<std::string, double> known;
  int64_t simulatedTasks = 0;
  PlanSearchResult result;
};
} // namespace

/// All that tells a plan from another.
static std::string keyOf(const CommunicationPlan &plan) {
  return printBuckets(plan.buckets) + " " +
         std::to_string(static_cast<int>(plan.scheduling.policy)) + " " +
         std::to_string(plan.scheduling.creditBytes) + " " +
         std::to_string(plan.isUpdatedByRuntime);
}

/// The plan's time; the best so far is kept.
double PlanSearch::rate(const CommunicationPlan &plan) {
  auto [entry, isNew] = known.try_emplace(keyOf(plan), 0);
  if (!isNew)
    return entry->second;
  entry->second = std::numeric_limits<double>::infinity();
  if (options.choices.memoryBytes > 0 &&
      arenaBytes(problem, plan) > options.choices.memoryBytes)
    return entry->second;
  auto [ns, tasks] = simulatePlan(problem, plan, prices);
  entry->second = ns;
  simulatedTasks += tasks;
  if (result.evaluations == 0 || ns < result.stepNs) {
    result.stepNs = ns;
    result.plan = plan;
  }
  ++result.evaluations;
  if (options.progress)
    options.progress(result.evaluations, result.stepNs);
  return ns;
}

bool PlanSearch::improves(const CommunicationPlan &plan, Candidate &best) {
  if (isDone())
    return false;
  double ns = rate(plan);
  if (ns >= best.stepNs * (1 - kLeastGain))
    return false;
  best = {plan, ns};
  return true;
}

/// Forms that differ on this cluster.
std::vector<FormKind> PlanSearch::usefulForms() const {
  std::vector<FormKind> forms{FormKind::Flat};
  int levels = 0;
  for (const AxisModel &axis : problem.cluster.axes)
    levels += axis.size > 1;
  if (levels > 1) {
    forms.push_back(FormKind::Rail);
    forms.push_back(FormKind::Multilevel);
    forms.push_back(FormKind::Leader);
  }
  if (problem.canServeAll()) {
    forms.push_back(FormKind::Servers);
    if (levels > 1)
      forms.push_back(FormKind::RailServers);
  }
  forms.push_back(FormKind::Halves);
  return forms;
}

std::vector<SchedulingOptions> PlanSearch::schedulings() const {
  std::vector<SchedulingOptions> all{{SchedulePolicy::Wfbp, 0},
                                     {SchedulePolicy::Decoupled, 0}};
  for (int64_t creditBytes :
       {int64_t(0), kMiB, 4 * kMiB, 8 * kMiB, 16 * kMiB, 64 * kMiB})
    all.push_back({SchedulePolicy::Priority, creditBytes});
  return all;
}

//===----------------------------------------------------------------------===//
// Plans by size
//===----------------------------------------------------------------------===//

/// Whether the runtime updates: what is allowed, the runtime first.
std::vector<bool> PlanSearch::updaters() const {
  std::vector<bool> allowed;
  if (options.choices.allows(UpdatesBy::Runtime))
    allowed.push_back(true);
  if (options.choices.allows(UpdatesBy::Program))
    allowed.push_back(false);
  return allowed;
}

int PlanSearch::sizeClassOf(const PlannedBucket &bucket, int64_t bytes) const {
  int64_t partBytes = bytes / bucket.parts;
  return std::ilogb(static_cast<double>(partBytes + 1));
}

CommunicationPlan PlanSearch::planBySize(const SizeRule &rule) const {
  CommunicationPlan plan;
  plan.scheduling = rule.scheduling;
  plan.isUpdatedByRuntime = rule.isUpdatedByRuntime;
  BucketRule buckets;
  buckets.policy =
      rule.mergeBytes == 0 ? BucketPolicy::None : BucketPolicy::Size;
  buckets.capBytes = rule.mergeBytes;
  buckets.partitionBytes = rule.partitionBytes;
  plan.buckets =
      planBuckets(problem, buckets, rule.otherForm, options.choices.wire);
  std::vector<int64_t> bytes = bytesOfBuckets(problem, plan.buckets);
  for (size_t i = 0; i < bytes.size(); ++i) {
    auto form = rule.forms.find(sizeClassOf(plan.buckets[i], bytes[i]));
    if (form != rule.forms.end())
      plan.buckets[i].form = form->second;
  }
  return plan;
}

bool PlanSearch::tryRule(const SizeRule &changed, SizeRule &rule,
                         Candidate &best) {
  if (!improves(planBySize(changed), best))
    return false;
  rule = changed;
  return true;
}

bool PlanSearch::improveRule(SizeRule &rule, Candidate &best) {
  bool isBetter = false;
  auto attempt = [&](auto &&change) {
    SizeRule changed = rule;
    change(changed);
    isBetter |= tryRule(changed, rule, best);
  };
  for (FormKind form : usefulForms())
    attempt([&](SizeRule &changed) {
      changed.otherForm = form;
      changed.forms.clear();
    });
  for (const SchedulingOptions &scheduling : schedulings())
    for (bool isUpdatedByRuntime : updaters())
      attempt([&](SizeRule &changed) {
        changed.scheduling = scheduling;
        changed.isUpdatedByRuntime = isUpdatedByRuntime;
      });
  for (int64_t mergeBytes :
       {int64_t(0), kMiB / 16, kMiB / 4, kMiB, 4 * kMiB, 16 * kMiB, 64 * kMiB})
    attempt([&](SizeRule &changed) { changed.mergeBytes = mergeBytes; });
  for (int64_t partitionBytes :
       {int64_t(0), kMiB / 4, kMiB, 2 * kMiB, 4 * kMiB, 8 * kMiB, 32 * kMiB})
    attempt(
        [&](SizeRule &changed) { changed.partitionBytes = partitionBytes; });
  return isBetter;
}

/// Another form for messages of one size.
bool PlanSearch::improveForms(SizeRule &rule, Candidate &best) {
  std::map<int, bool> sizes;
  std::vector<int64_t> bytes = bytesOfBuckets(problem, best.plan.buckets);
  for (size_t i = 0; i < bytes.size(); ++i)
    sizes[sizeClassOf(best.plan.buckets[i], bytes[i])] = true;
  bool isBetter = false;
  for (auto [size, unused] : sizes)
    for (FormKind form : usefulForms()) {
      SizeRule changed = rule;
      changed.forms[size] = form;
      isBetter |= tryRule(changed, rule, best);
    }
  return isBetter;
}

//===----------------------------------------------------------------------===//
// Single decisions
//===----------------------------------------------------------------------===//

bool PlanSearch::improveSchedule(Candidate &best) {
  bool isBetter = false;
  for (const SchedulingOptions &scheduling : schedulings())
    for (bool isUpdatedByRuntime : updaters()) {
      CommunicationPlan changed = best.plan;
      changed.scheduling = scheduling;
      changed.isUpdatedByRuntime = isUpdatedByRuntime;
      isBetter |= improves(changed, best);
    }
  return isBetter;
}

/// Of the buckets of the commonest form a share in another one, spread evenly:
/// forms load different links, and sizes alone don't part equal buckets.
bool PlanSearch::improveShares(Candidate &best) {
  const CommunicationPlan base = best.plan;
  std::vector<int64_t> bytes = bytesOfBuckets(problem, base.buckets);
  std::map<FormKind, int64_t> byForm;
  for (size_t i = 0; i < bytes.size(); ++i)
    byForm[base.buckets[i].form] += bytes[i];
  FormKind commonest =
      std::max_element(byForm.begin(), byForm.end(), [](auto &a, auto &b) {
        return a.second < b.second;
      })->first;
  bool isBetter = false;
  for (FormKind form : usefulForms())
    for (double share : {0.125, 0.25, 0.375, 0.5}) {
      CommunicationPlan changed = base;
      double due = 0;
      for (size_t i = 0; i < bytes.size(); ++i) {
        if (base.buckets[i].form != commonest)
          continue;
        auto size = static_cast<double>(bytes[i]);
        due += share * size;
        if (due < size / 2)
          continue;
        due -= size;
        changed.buckets[i].form = form;
      }
      if (!improves(changed, best))
        break; // a larger share does not help either
      isBetter = true;
    }
  return isBetter;
}

/// The bucket that begins with a gradient; nothing where that is inside one.
static std::optional<size_t> bucketAt(const std::vector<PlannedBucket> &buckets,
                                      size_t gradient) {
  size_t first = 0;
  for (size_t index = 0; index < buckets.size() && first <= gradient; ++index) {
    if (first == gradient)
      return index;
    first += buckets[index].gradients;
  }
  return std::nullopt;
}

/// The buckets' first gradients, those of the largest buckets first.
static std::vector<size_t>
firstsBySize(const CommunicationProblem &problem,
             const std::vector<PlannedBucket> &buckets) {
  std::vector<std::pair<int64_t, size_t>> bySize;
  std::vector<int64_t> bytes = bytesOfBuckets(problem, buckets);
  size_t first = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    bySize.emplace_back(-bytes[i], first);
    first += buckets[i].gradients;
  }
  std::sort(bySize.begin(), bySize.end());
  std::vector<size_t> firsts;
  firsts.reserve(bySize.size());
  for (const auto &entry : bySize)
    firsts.push_back(entry.second);
  return firsts;
}

/// Another form, or twice or half as many parts.
bool PlanSearch::improveMessages(size_t index, int64_t count, Candidate &best) {
  bool isBetter = false;
  auto attempt = [&](auto &&change) {
    CommunicationPlan changed = best.plan;
    change(changed.buckets[index]);
    int64_t parts = changed.buckets[index].parts;
    if (parts > 0 && parts <= std::max<int64_t>(count, 1))
      isBetter |= improves(changed, best);
  };
  for (FormKind form : usefulForms())
    attempt([&](PlannedBucket &bucket) { bucket.form = form; });
  attempt([&](PlannedBucket &bucket) { bucket.parts *= 2; });
  attempt([&](PlannedBucket &bucket) { bucket.parts /= 2; });
  return isBetter;
}

/// A merge with the next bucket, or a cut in two between gradients.
bool PlanSearch::improveMembers(size_t index, size_t first, Candidate &best) {
  const auto &tensors = problem.bucketing.tensors;
  std::vector<int32_t> order = planOrder(problem.bucketing);
  bool isBetter = false;
  auto at = [index](std::vector<PlannedBucket> &buckets, size_t ahead = 0) {
    return buckets.begin() + static_cast<ptrdiff_t>(index + ahead);
  };
  CommunicationPlan merged = best.plan;
  size_t next = first + merged.buckets[index].gradients;
  if (index + 1 < merged.buckets.size() &&
      tensors[order[next]].shareClass == tensors[order[first]].shareClass) {
    merged.buckets[index].gradients += merged.buckets[index + 1].gradients;
    merged.buckets.erase(at(merged.buckets, 1));
    isBetter |= improves(merged, best);
  }
  CommunicationPlan cut = best.plan;
  PlannedBucket half = cut.buckets[index];
  half.gradients /= 2;
  half.parts = (half.parts + 1) / 2;
  // A part needs an element.
  if (half.gradients == 0 || half.parts > 1)
    return isBetter;
  cut.buckets[index].gradients -= half.gradients;
  cut.buckets[index].parts = half.parts;
  cut.buckets.insert(at(cut.buckets), half);
  return improves(cut, best) || isBetter;
}

/// Of one bucket at a time, the largest first. They are known by their first
/// gradients, which stay when buckets are merged or cut.
bool PlanSearch::improveBuckets(Candidate &best) {
  std::vector<int32_t> order = planOrder(problem.bucketing);
  bool isBetter = false;
  for (size_t first : firstsBySize(problem, best.plan.buckets)) {
    std::optional<size_t> index = bucketAt(best.plan.buckets, first);
    if (!index)
      continue; // merged into the one before
    int64_t count = 0;
    for (int32_t i = 0; i < best.plan.buckets[*index].gradients; ++i)
      count += problem.gradients[order[first + i]].count;
    isBetter |= improveMessages(*index, count, best);
    isBetter |= improveMembers(*index, first, best);
  }
  return isBetter;
}

//===----------------------------------------------------------------------===//
// The whole
//===----------------------------------------------------------------------===//

/// Takes back one kind of decision at a time.
void PlanSearch::explain() {
  auto add = [&](const char *name, auto &&change) {
    CommunicationPlan changed = result.plan;
    change(changed);
    if (keyOf(changed) == keyOf(result.plan))
      return;
    if (options.choices.memoryBytes > 0 &&
        arenaBytes(problem, changed) > options.choices.memoryBytes)
      return;
    auto entry = known.find(keyOf(changed));
    double ns = entry != known.end()
                    ? entry->second
                    : simulatePlan(problem, changed, prices).stepNs;
    result.without.push_back({name, ns});
  };
  add("forms", [](CommunicationPlan &plan) {
    for (PlannedBucket &bucket : plan.buckets)
      bucket.form = FormKind::Flat;
  });
  add("parts", [](CommunicationPlan &plan) {
    for (PlannedBucket &bucket : plan.buckets)
      bucket.parts = 1;
  });
  add("merging", [&](CommunicationPlan &plan) {
    std::vector<PlannedBucket> alone;
    for (PlannedBucket bucket : plan.buckets)
      if (bucket.gradients == 1)
        alone.push_back(bucket);
      else
        alone.insert(alone.end(), bucket.gradients,
                     {1, /*parts=*/1, bucket.form, bucket.wire});
    plan.buckets = alone;
  });
  add("order", [](CommunicationPlan &plan) {
    plan.scheduling = {SchedulePolicy::Wfbp, 0};
  });
  if (options.choices.allows(UpdatesBy::Program))
    add("updates in the runtime",
        [](CommunicationPlan &plan) { plan.isUpdatedByRuntime = false; });
}

PlanSearchResult PlanSearch::run() {
  std::vector<Candidate> starts;
  for (StartingPlan &start : startingPlans(problem, options.choices)) {
    double ns = rate(start.plan);
    result.presets.push_back({std::string(start.strategy->name), ns});
    starts.push_back({std::move(start.plan), ns});
  }
  SizeRule rule;
  rule.isUpdatedByRuntime = updaters().front();
  Candidate bySize{planBySize(rule), 0};
  if (!isDone()) {
    bySize.stepNs = rate(bySize.plan);
    // Sizes and orders depend on each other: round by round.
    while (improveRule(rule, bySize) || improveForms(rule, bySize))
      ;
  }
  Candidate best = *std::min_element(
      starts.begin(), starts.end(), [](const Candidate &a, const Candidate &b) {
        return a.stepNs < b.stepNs;
      });
  if (!isDone() && bySize.stepNs >= best.stepNs)
    improveSchedule(best);
  best = {result.plan, result.stepNs};
  while (improveShares(best))
    ;
  while (!isDone() && (improveBuckets(best) || improveSchedule(best)))
    ;
  explain();
  return std::move(result);
}

PlanSearchResult bagua::searchPlan(const CommunicationProblem &problem,
                                   const PlanSearchOptions &options) {
  return PlanSearch(problem, options).run();
}

std::optional<size_t> bagua::pickCandidate(
    const std::vector<PlanCandidate> &presets, const PlanCandidate &found,
    const std::function<std::optional<double>(size_t)> &measure) {
  std::vector<size_t> order(presets.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return presets[a].stepNs < presets[b].stepNs;
  });
  for (size_t preset : order) {
    std::optional<double> presetNs = measure(preset);
    if (!presetNs)
      continue;
    if (found.stepNs >= presets[preset].stepNs)
      return preset;
    std::optional<double> foundNs = measure(presets.size());
    return foundNs && *foundNs <= *presetNs ? presets.size() : preset;
  }
  if (measure(presets.size()))
    return presets.size();
  return std::nullopt;
}
