//===- PlanSearch.cpp - The best plan of a step's communication -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Local search over plans.
//
//===----------------------------------------------------------------------===//
#include "bagua/Scheduling/Search/PlanSearch.h"
#include "bagua/Scheduling/Search/Decide.h"
#include "bagua/Scheduling/Search/FewerCollectives.h"
#include "bagua/Scheduling/Search/PlanFront.h"
#include "bagua/Scheduling/Search/PlanGraph.h"
#include "bagua/Scheduling/Search/PlanRules.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <random>

using namespace bagua;

namespace {
/// A change that gains less is not worth taking.
constexpr double kLeastGain = 1e-5;
/// The search ends within this factor of the bound.
constexpr double kNearBound = 1.001;
constexpr int64_t kMiB = 1 << 20;
constexpr int64_t kAnyBytes = std::numeric_limits<int64_t>::max();
/// The size of messages from which mixes of forms are computed.
constexpr int64_t kMixedBytes = 4 * kMiB;
constexpr size_t kMixes = 6;
/// Rules cut a step's gradients into at most so many parts.
constexpr int64_t kMostMessages = 1024;
/// Shares of the budget: for random rules, and for descents from the best of
/// them.
constexpr double kSampledShare = 0.15;
constexpr double kDescendedShare = 0.55;
/// The share of the budget for taking away collectives at the end.
constexpr double kSimplifiedShare = 0.1;
constexpr size_t kDescents = 8;
constexpr size_t kMostSamples = 2000;
} // namespace

CommunicationPlan bagua::leanestPlan(const CommunicationProblem &problem,
                                     const UserChoices &choices) {
  CommunicationPlan plan;
  plan.buckets = planBuckets(problem, {BucketPolicy::None},
                             formBit(FormKind::Flat), choices.wire);
  plan.otherWire = choices.wire;
  plan.isUpdatedByRuntime =
      !choices.allows(UpdatesBy::Program) ||
      (choices.allows(UpdatesBy::Runtime) &&
       problem.otherBytesByRuntime < problem.otherBytesByProgram);
  return plan;
}

std::vector<StartingPlan>
bagua::startingPlans(const CommunicationProblem &problem,
                     const UserChoices &choices) {
  std::vector<StartingPlan> plans;
  for (const Strategy &strategy : getStrategies()) {
    // A schedule that waits for the end of backward is never faster than one
    // that does not.
    if (strategy.schedule.policy == SchedulePolicy::Bsp)
      continue;
    DecidedPlan decided = decide(strategy, problem, choices);
    if (decided.error.empty())
      plans.push_back({&strategy, std::move(decided.plan)});
  }
  return plans;
}

//===----------------------------------------------------------------------===//
// Search
//===----------------------------------------------------------------------===//

namespace {
struct RuleCandidate {
  PlanRule rule;
  RatedPlan best{{}, std::numeric_limits<double>::infinity()};
};

class PlanSearch {
public:
  PlanSearch(const CommunicationProblem &problem,
             const PlanSearchOptions &options);

  PlanSearchResult run();

private:
  PlanTime rate(const CommunicationPlan &plan);
  void keep(const CommunicationPlan &plan, const PlanTime &time);
  void searchLeaner(const RatedPlan &best);
  bool isSpent() const {
    return result.evaluations >= evaluationsLimit || work >= workLimit;
  }
  bool isDone() const {
    return isSpent() ||
           (memoryBytes == kAnyBytes && bestNs <= options.boundNs * kNearBound);
  }
  void limit(double share);
  void allow(double share);
  bool improves(CommunicationPlan plan, RatedPlan &best);
  bool fits(const CommunicationPlan &plan, int64_t memoryBytes) const;
  std::vector<bool> updaters() const;

  RatedPlan rateStarts();
  PlanRule randomRule(size_t form, std::mt19937 &random) const;
  bool tryRule(const PlanRule &changed, RuleCandidate &candidate);
  bool improveRule(RuleCandidate &candidate);
  bool improveMix(RuleCandidate &candidate);
  bool improveForms(RuleCandidate &candidate);
  void sampleRules();
  void descend(RuleCandidate &rule);
  void searchRules(RatedPlan &best);
  void searchElsewhere(RatedPlan &best);

  bool improveSchedule(RatedPlan &best);
  bool improveParts(RatedPlan &best);
  bool improveShares(RatedPlan &best);
  bool improveShare(FormKind from, FormKind to, RatedPlan &best);
  bool improveMessages(size_t index, int64_t count, RatedPlan &best);
  bool improveMembers(size_t index, RatedPlan &best);
  bool improveBuckets(RatedPlan &best);
  void improveAll(RatedPlan &best);

  PlanFront::Entry simplest() const;
  void simplify();
  void explain();

  const CommunicationProblem &problem;
  const PlanSearchOptions &options;
  CollectivePrices prices;
  std::map<std::string, PlanTime> known;
  std::vector<FormKind> forms;
  std::vector<FormMix> mixes;
  std::vector<FormRule> formRules;
  std::vector<SchedulingOptions> schedulings;
  std::vector<int64_t> mergeSizes, partitionSizes;
  /// The best random rule of each kind, improved by descents.
  std::vector<RuleCandidate> rules;
  /// The limits of the current phase.
  int64_t evaluationsLimit = 0, workLimit = 0;
  int64_t work = 0;
  /// The user's limit.
  int64_t allowedBytes;
  /// The time of the fastest plan, whether memory allows it or not.
  double bestNs = std::numeric_limits<double>::infinity();
  /// Rated plans by memory, if the user limits it.
  PlanFront byMemory;
  /// Rated plans that memory allows, by their number of collectives.
  PlanFront byCollectives;
  /// The current goal: plans within so much memory that are not faster than
  /// `floorNs`.
  int64_t memoryBytes = kAnyBytes;
  double floorNs = 0;
  PlanSearchResult result;
};
} // namespace

/// A text that differs between any two different plans.
static std::string keyOf(const CommunicationPlan &plan) {
  return printBuckets(plan.buckets) + " " + printBuckets(plan.others) + " " +
         std::to_string(static_cast<int>(plan.scheduling.policy)) + " " +
         std::to_string(plan.scheduling.creditBytes) + " " +
         std::to_string(plan.isUpdatedByRuntime) +
         encodingText(plan.otherWire) + std::to_string(plan.isBalanced) +
         std::to_string(static_cast<int>(plan.updatedPart));
}

/// Messages that are too small for the mix take the cheapest of its forms.
static FormRule ruleOf(const FormMix &mix) {
  FormSet forms = 0;
  for (int form = 0; form < kFormKindCount; ++form)
    if (mix[form] > 0)
      forms |= formBit(static_cast<FormKind>(form));
  return {forms, mix};
}

PlanSearch::PlanSearch(const CommunicationProblem &problem,
                       const PlanSearchOptions &options)
    : problem(problem), options(options),
      prices(problem.cluster, ServerLinks::OneOfAKind),
      forms(usefulForms(problem)),
      allowedBytes(options.choices.memoryBytes > 0 ? options.choices.memoryBytes
                                                   : kAnyBytes) {
  int64_t bytes = 0;
  for (const BucketingTensor &tensor : problem.bucketing.tensors)
    bytes += tensor.bytes;
  mixes = balancedMixes(problem.cluster, kMixedBytes,
                        problem.gradients.front().over, forms, kMixes);
  for (FormKind form : forms)
    formRules.push_back({formBit(form)});
  FormSet all = kServerForms;
  for (FormKind form : forms)
    all |= formBit(form);
  if (!problem.canServeAll())
    all &= ~kServerForms;
  formRules.push_back({kHierarchyForms});
  formRules.push_back({all});
  for (const FormMix &mix : mixes)
    formRules.push_back(ruleOf(mix));
  schedulings = {{SchedulePolicy::Wfbp, 0}, {SchedulePolicy::Decoupled, 0}};
  for (int64_t credit : {0, 1, 4, 8, 16, 32, 64, 128, 256, 1024})
    schedulings.push_back({SchedulePolicy::Priority, credit * kMiB});
  mergeSizes = {0,        kMiB / 16, kMiB / 4,  kMiB,     4 * kMiB,
                8 * kMiB, 16 * kMiB, 32 * kMiB, 64 * kMiB};
  // More messages than that take more time to simulate than they gain.
  partitionSizes = {0};
  for (int64_t size = kMiB / 64; size <= 64 * kMiB; size *= 2)
    if (bytes / size <= kMostMessages)
      partitionSizes.push_back(size);
}

bool PlanSearch::fits(const CommunicationPlan &plan,
                      int64_t memoryBytes) const {
  if (checkParts(plan.buckets))
    return false;
  return memoryBytes == kAnyBytes || arenaBytes(problem, plan) <= memoryBytes;
}

/// Sets the limits to a share of the whole budget.
void PlanSearch::limit(double share) {
  evaluationsLimit =
      std::llround(share * static_cast<double>(options.evaluations));
  workLimit = std::llround(share * static_cast<double>(options.work));
}

/// Sets the limits to a share of the whole budget more than has been used.
void PlanSearch::allow(double share) {
  evaluationsLimit =
      result.evaluations +
      std::llround(share * static_cast<double>(options.evaluations));
  workLimit = work + std::llround(share * static_cast<double>(options.work));
}

/// Keeps a plan that has been rated, unless a better one is known.
void PlanSearch::keep(const CommunicationPlan &plan, const PlanTime &time) {
  bestNs = std::min(bestNs, time.stepNs);
  int64_t bytes = allowedBytes == kAnyBytes ? 0 : arenaBytes(problem, plan);
  if (bytes <= allowedBytes) {
    result.fastestNs = std::min(result.fastestNs, time.stepNs);
    byCollectives.add(time.collectives, plan, time.stepNs);
  }
  if (allowedBytes != kAnyBytes)
    byMemory.add(bytes, plan, time.stepNs);
}

/// The plan's time.
PlanTime PlanSearch::rate(const CommunicationPlan &plan) {
  auto [entry, isNew] = known.try_emplace(keyOf(plan));
  if (!isNew)
    return entry->second;
  PlanTime time = simulatePlan(problem, plan, prices);
  work += time.work;
  ++result.evaluations;
  if (time.stepNs < floorNs)
    time.stepNs = std::numeric_limits<double>::infinity();
  else
    keep(plan, time);
  entry->second = time;
  if (options.progress)
    options.progress(result.evaluations, result.fastestNs);
  return entry->second;
}

bool PlanSearch::improves(CommunicationPlan plan, RatedPlan &best) {
  keepStatisticsFromServers(problem, plan);
  if (isDone() || !fits(plan, memoryBytes))
    return false;
  double ns = rate(plan).stepNs;
  if (ns >= best.stepNs * (1 - kLeastGain))
    return false;
  best = {plan, ns};
  return true;
}

/// The sides that may run updates, as values of isUpdatedByRuntime; the runtime
/// comes first.
std::vector<bool> PlanSearch::updaters() const {
  std::vector<bool> allowed;
  if (options.choices.allows(UpdatesBy::Runtime))
    allowed.push_back(true);
  if (options.choices.allows(UpdatesBy::Program))
    allowed.push_back(false);
  return allowed;
}

//===----------------------------------------------------------------------===//
// Plans by rule
//===----------------------------------------------------------------------===//

template <typename T>
static const T &oneOf(const std::vector<T> &list, std::mt19937 &random) {
  return list[random() % list.size()];
}

/// Sets the size of parts. The rule's mix, if there is one, applies to parts,
/// too; each is nearly as large as that size.
static void cut(PlanRule &rule, int64_t partitionBytes) {
  rule.partitionBytes = partitionBytes;
  if (partitionBytes > 0)
    rule.form.mixedBytes = std::min(rule.form.mixedBytes, partitionBytes / 2);
}

PlanRule PlanSearch::randomRule(size_t form, std::mt19937 &random) const {
  PlanRule rule;
  rule.mergeBytes = oneOf(mergeSizes, random);
  rule.form = formRules[form];
  cut(rule, oneOf(partitionSizes, random));
  rule.scheduling = oneOf(schedulings, random);
  return rule;
}

bool PlanSearch::tryRule(const PlanRule &changed, RuleCandidate &candidate) {
  if (isDone() || !improves(planByRule(problem, changed, options.choices.wire),
                            candidate.best))
    return false;
  candidate.rule = changed;
  return true;
}

bool PlanSearch::improveRule(RuleCandidate &candidate) {
  bool isBetter = false;
  auto attempt = [&](auto &&change) {
    PlanRule changed = candidate.rule;
    change(changed);
    isBetter |= tryRule(changed, candidate);
  };
  for (const FormRule &form : formRules)
    attempt([&](PlanRule &changed) {
      changed.form = form;
      changed.formsBySize.clear();
    });
  for (const SchedulingOptions &scheduling : schedulings)
    attempt([&](PlanRule &changed) { changed.scheduling = scheduling; });
  for (bool isUpdatedByRuntime : updaters())
    attempt([&](PlanRule &changed) {
      changed.isUpdatedByRuntime = isUpdatedByRuntime;
    });
  for (int64_t mergeBytes : mergeSizes)
    attempt([&](PlanRule &changed) { changed.mergeBytes = mergeBytes; });
  for (int64_t partitionBytes : partitionSizes)
    attempt([&](PlanRule &changed) { cut(changed, partitionBytes); });
  return improveMix(candidate) || isBetter;
}

/// Moves an eighth from one form to another. Shares that balance loads alone
/// are only a start.
bool PlanSearch::improveMix(RuleCandidate &candidate) {
  bool isBetter = false;
  FormRule start = candidate.rule.form;
  if (!start.isMixed()) {
    auto one = std::find_if(forms.begin(), forms.end(), [&](FormKind form) {
      return formBit(form) == start.forms;
    });
    if (one == forms.end())
      return false;
    start.mix[static_cast<size_t>(*one)] = kMixShares;
  }
  for (FormKind from : forms)
    for (FormKind to : forms) {
      FormMix mix =
          candidate.rule.form.isMixed() ? candidate.rule.form.mix : start.mix;
      if (from == to || --mix[static_cast<size_t>(from)] < 0)
        continue;
      ++mix[static_cast<size_t>(to)];
      PlanRule changed = candidate.rule;
      changed.form = ruleOf(mix);
      changed.form.mixedBytes = start.mixedBytes;
      isBetter |= tryRule(changed, candidate);
    }
  for (int64_t mixedBytes :
       {int64_t(0), kMiB / 64, kMiB / 16, kMiB / 4, kMiB}) {
    PlanRule changed = candidate.rule;
    changed.form.mixedBytes = mixedBytes;
    isBetter |= tryRule(changed, candidate);
  }
  return isBetter;
}

/// Tries another form for messages of one size.
bool PlanSearch::improveForms(RuleCandidate &candidate) {
  std::map<int, bool> sizes;
  const std::vector<PlannedBucket> &buckets = candidate.best.plan.buckets;
  std::vector<int64_t> bytes = bytesOfBuckets(problem, buckets);
  for (size_t i = 0; i < bytes.size(); ++i)
    sizes[sizeClassOf(buckets[i], bytes[i])] = true;
  bool isBetter = false;
  for (auto [size, unused] : sizes)
    for (FormKind form : forms) {
      PlanRule changed = candidate.rule;
      changed.formsBySize[size] = form;
      isBetter |= tryRule(changed, candidate);
    }
  return isBetter;
}

/// Rates equally many random rules for each form with updates by each side, and
/// keeps the best of each kind. Updates share the device with compute on one
/// side and wait for the end of backward on the other, so the two sides seldom
/// have the same best rule.
void PlanSearch::sampleRules() {
  std::mt19937 random; // the same on every machine
  std::vector<bool> sides = updaters();
  rules.resize(formRules.size() * sides.size());
  limit(kSampledShare);
  for (size_t sample = 0; !isDone(); ++sample) {
    size_t kind = sample % rules.size();
    RuleCandidate entry{randomRule(kind % formRules.size(), random), {}};
    entry.rule.isUpdatedByRuntime = sides[kind / formRules.size()];
    entry.best.plan = planByRule(problem, entry.rule, options.choices.wire);
    entry.best.stepNs = rate(entry.best.plan).stepNs;
    if (sample < rules.size() || entry.best.stepNs < rules[kind].best.stepNs)
      rules[kind] = std::move(entry);
    else if (sample > kMostSamples)
      break; // whatever evaluations are left, all may be known
  }
  std::stable_sort(rules.begin(), rules.end(),
                   [](const RuleCandidate &a, const RuleCandidate &b) {
                     return a.best.stepNs < b.best.stepNs;
                   });
}

void PlanSearch::descend(RuleCandidate &rule) {
  while (!isDone() && (improveRule(rule) || improveForms(rule)))
    ;
}

/// Improves the best random rules step by step. Sizes, forms and credit depend
/// on each other, so one start would lead to one local optimum of many.
void PlanSearch::searchRules(RatedPlan &best) {
  sampleRules();
  for (size_t i = 0; i < rules.size() && i < kDescents; ++i) {
    limit(kSampledShare +
          kDescendedShare * static_cast<double>(i + 1) / kDescents);
    descend(rules[i]);
    if (rules[i].best.stepNs < best.stepNs)
      best = rules[i].best;
  }
}

//===----------------------------------------------------------------------===//
// Single decisions
//===----------------------------------------------------------------------===//

bool PlanSearch::improveSchedule(RatedPlan &best) {
  bool isBetter = false;
  for (const SchedulingOptions &scheduling : schedulings)
    for (bool isUpdatedByRuntime : updaters()) {
      CommunicationPlan changed = best.plan;
      changed.scheduling = scheduling;
      changed.isUpdatedByRuntime = isUpdatedByRuntime;
      isBetter |= improves(changed, best);
    }
  return isBetter;
}

/// Tries twice or half as many parts for all buckets.
bool PlanSearch::improveParts(RatedPlan &best) {
  std::vector<int64_t> bytes = bytesOfBuckets(problem, best.plan.buckets);
  CommunicationPlan finer = best.plan, coarser = best.plan;
  int64_t messages = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    // A bucket of so many bytes has at least two elements, whatever their type.
    if (bytes[i] >= 2 * kMiB)
      finer.buckets[i].parts *= 2;
    messages += finer.buckets[i].parts;
    coarser.buckets[i].parts = (coarser.buckets[i].parts + 1) / 2;
  }
  bool isBetter = messages <= 2 * kMostMessages && improves(finer, best);
  return improves(coarser, best) || isBetter;
}

/// Gives a share of one form's messages another form, spread evenly: forms load
/// different links, and a rule by size does not part messages of equal size.
bool PlanSearch::improveShare(FormKind from, FormKind to, RatedPlan &best) {
  const CommunicationPlan base = best.plan;
  std::vector<int64_t> bytes = bytesOfBuckets(problem, base.buckets);
  bool isBetter = false;
  for (double share : {0.0625, 0.125, 0.25, 0.375, 0.5, 0.75}) {
    CommunicationPlan changed = base;
    double due = 0;
    for (size_t i = 0; i < bytes.size(); ++i) {
      PlannedBucket &bucket = changed.buckets[i];
      int64_t partBytes = bytes[i] / bucket.parts;
      auto size = static_cast<double>(partBytes);
      std::vector<FormKind> parts;
      for (int64_t part = 0; part < bucket.parts; ++part) {
        parts.push_back(bucket.form.ofPart(part));
        if (parts.back() != from)
          continue;
        due += share * size;
        if (due < size / 2)
          continue;
        due -= size;
        parts.back() = to;
      }
      bucket.form = FormCycle::ofParts(parts);
    }
    if (improves(changed, best))
      isBetter = true;
    else if (isBetter || share > 0.1)
      break; // a larger share does not help either
  }
  return isBetter;
}

bool PlanSearch::improveShares(RatedPlan &best) {
  FormSet used = 0;
  for (const PlannedBucket &bucket : best.plan.buckets)
    for (FormKind form : bucket.form.kinds())
      used |= formBit(form);
  bool isBetter = false;
  for (FormKind from : forms)
    for (FormKind to : forms)
      if (from != to && (used & formBit(from)))
        isBetter |= improveShare(from, to, best);
  return isBetter;
}

/// The bucket that begins with a gradient; nothing if the gradient is inside
/// one.
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

/// The first gradients of all buckets, those of the largest buckets first.
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

/// Tries other forms, and twice or half as many parts, for some buckets.
bool PlanSearch::improveMessages(size_t index, int64_t count, RatedPlan &best) {
  bool isBetter = false;
  auto attempt = [&](auto &&change) {
    CommunicationPlan changed = best.plan;
    change(changed.buckets[index]);
    int64_t parts = changed.buckets[index].parts;
    if (parts > 0 && parts <= std::max<int64_t>(count, 1))
      isBetter |= improves(changed, best);
  };
  for (FormKind form : forms)
    attempt([&](PlannedBucket &bucket) { bucket.form = form; });
  if (best.plan.buckets[index].parts > 1)
    for (const FormMix &mix : mixes)
      attempt([&](PlannedBucket &bucket) {
        bucket.form = FormCycle(spreadForms(mix));
      });
  attempt([&](PlannedBucket &bucket) { bucket.parts *= 2; });
  attempt([&](PlannedBucket &bucket) { bucket.parts /= 2; });
  return isBetter;
}

/// Merges a bucket with the next one, or cuts it in two between gradients.
bool PlanSearch::improveMembers(size_t index, RatedPlan &best) {
  auto merged = withMergedBuckets(problem, best.plan, index);
  bool isBetter = merged && improves(*merged, best);
  CommunicationPlan cut = best.plan;
  PlannedBucket half = cut.buckets[index];
  half.gradients /= 2;
  half.parts = (half.parts + 1) / 2;
  // A part needs an element.
  if (half.gradients == 0 || half.parts > 1)
    return isBetter;
  cut.buckets[index].gradients -= half.gradients;
  cut.buckets[index].parts = half.parts;
  cut.buckets.insert(cut.buckets.begin() + static_cast<ptrdiff_t>(index), half);
  return improves(cut, best) || isBetter;
}

/// Changes one bucket at a time, the largest first. Buckets are known by their
/// first gradients, which stay the same if buckets are merged or cut.
bool PlanSearch::improveBuckets(RatedPlan &best) {
  std::vector<int32_t> order = planOrder(problem.bucketing);
  bool isBetter = false;
  for (size_t first : firstsBySize(problem, best.plan.buckets)) {
    if (isDone())
      break;
    std::optional<size_t> index = bucketAt(best.plan.buckets, first);
    if (!index)
      continue; // merged into the one before
    int64_t count = 0;
    for (int32_t i = 0; i < best.plan.buckets[*index].gradients; ++i)
      count += problem.gradients[order[first + i]].count;
    isBetter |= improveMessages(*index, count, best);
    isBetter |= improveMembers(*index, best);
  }
  return isBetter;
}

//===----------------------------------------------------------------------===//
// The whole
//===----------------------------------------------------------------------===//

/// Measures the plan without one kind of decision at a time.
void PlanSearch::explain() {
  auto add = [&](const char *name, auto &&change) {
    CommunicationPlan changed = result.plan;
    change(changed);
    if (keyOf(changed) == keyOf(result.plan))
      return;
    if (!fits(changed, allowedBytes))
      return;
    auto entry = known.find(keyOf(changed));
    double ns = entry != known.end()
                    ? entry->second.stepNs
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
    for (const PlannedBucket &bucket : plan.buckets)
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

RatedPlan PlanSearch::rateStarts() {
  CommunicationPlan lean = leanestPlan(problem, options.choices);
  RatedPlan best{lean, rate(lean).stepNs};
  for (StartingPlan &start : startingPlans(problem, options.choices)) {
    PlanTime time = rate(start.plan);
    bool isAllowed = fits(start.plan, allowedBytes);
    result.presets.push_back(
        {std::string(start.strategy->name),
         isAllowed ? time.stepNs : std::numeric_limits<double>::infinity(),
         time.collectives});
    if (time.stepNs < best.stepNs)
      best = {std::move(start.plan), time.stepNs};
  }
  return best;
}

void PlanSearch::improveAll(RatedPlan &best) {
  while (!isDone() &&
         (improveSchedule(best) || improveParts(best) || improveShares(best)))
    ;
  while (!isDone() && (improveBuckets(best) || improveSchedule(best) ||
                       improveParts(best) || improveShares(best)))
    ;
}

/// Spends the rest of the budget on the same descents from all other starts.
void PlanSearch::searchElsewhere(RatedPlan &best) {
  for (RuleCandidate &rule : rules) {
    if (isDone())
      break;
    descend(rule);
    improveAll(rule.best);
    if (rule.best.stepNs < best.stepNs)
      best = rule.best;
  }
}

/// Searches plans that fit, if the best plan does not. Limits go from the least
/// memory up to the user's, and each search starts from the results of those
/// before, so all plans that are tried with some memory are tried with more.
/// Plans faster than the best of the unlimited search are ignored: that search
/// would not have found them, and more memory must never give a slower plan.
void PlanSearch::searchLeaner(const RatedPlan &best) {
  constexpr int64_t kLimits = 12;
  constexpr double kShareOfEach = 0.05;
  floorNs = best.stepNs;
  for (const CommunicationPlan &plan : leanerPlans(problem, best.plan))
    rate(plan);
  int64_t least = arenaBytes(problem, leanestPlan(problem, options.choices));
  int64_t most = arenaBytes(problem, best.plan);
  for (int64_t i = 0; i < kLimits; ++i) {
    memoryBytes = least + (most - least) * i / kLimits;
    if (memoryBytes > allowedBytes)
      break;
    RatedPlan start = byMemory.fastestWithin(memoryBytes);
    allow(kShareOfEach);
    improveAll(start);
  }
}

//===----------------------------------------------------------------------===//
// Fewer collectives
//===----------------------------------------------------------------------===//

/// The plan with the fewest collectives that is as fast as the fastest
/// (kAsFast).
PlanFront::Entry PlanSearch::simplest() const {
  return byCollectives.cheapestWithin(result.fastestNs * kAsFast);
}

/// Takes collectives away from the simplest known plan, in a few tries.
void PlanSearch::simplify() {
  allow(kSimplifiedShare);
  // A faster plan that turns up on the way is luck, which depends on the start.
  double fastestNs = result.fastestNs;
  int64_t fewest = simplest().cost;
  withFewerCollectives(
      problem, simplest().rated.plan, evaluationsLimit - result.evaluations,
      [&](const CommunicationPlan &plan) {
        if (isSpent() || !fits(plan, allowedBytes))
          return false;
        PlanTime time = rate(plan);
        if (time.stepNs > fastestNs * kAsFast || time.collectives >= fewest)
          return false;
        fewest = time.collectives;
        return true;
      });
  result.fastestNs = fastestNs;
  const auto [collectives, best] = simplest();
  result.collectives = collectives;
  result.plan = best.plan;
  result.stepNs = best.stepNs;
}

PlanSearchResult PlanSearch::run() {
  result.fastestNs = std::numeric_limits<double>::infinity();
  RatedPlan best = rateStarts();
  searchRules(best);
  limit(1 - kSimplifiedShare);
  improveAll(best);
  searchElsewhere(best);
  if (!fits(best.plan, allowedBytes))
    searchLeaner(best);
  simplify();
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
  size_t plan = std::find_if(presets.begin(), presets.end(),
                             [&](const PlanCandidate &preset) {
                               return preset.stepNs == found.stepNs &&
                                      preset.collectives == found.collectives;
                             }) -
                presets.begin();
  for (size_t preset : order) {
    std::optional<double> presetNs = measure(preset);
    if (!presetNs)
      continue;
    if (preset == plan)
      return preset;
    double room = found.collectives < presets[preset].collectives ? kAsFast : 1;
    std::optional<double> planNs = measure(plan);
    return planNs && *planNs <= *presetNs * room ? plan : preset;
  }
  if (measure(plan))
    return plan;
  return std::nullopt;
}
