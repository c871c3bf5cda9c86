//===- FewerCollectives.cpp - The same with fewer collectives -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Changes whole plans first, which takes a handful of tries, then single
// buckets.
//
//===----------------------------------------------------------------------===//
#include "bagua/Scheduling/Search/FewerCollectives.h"
#include "bagua/Scheduling/Search/PlanRules.h"

#include <algorithm>
#include <numeric>
#include <utility>

using namespace bagua;

namespace {
using Accepts = std::function<bool(const CommunicationPlan &)>;
} // namespace

/// By bucket: whether a next bucket of the same class follows.
static std::vector<bool> mergeable(const CommunicationProblem &problem,
                                   const CommunicationPlan &plan) {
  const auto &tensors = problem.bucketing.tensors;
  std::vector<int32_t> order = planOrder(problem.bucketing);
  std::vector<bool> isMergeable;
  size_t next = 0;
  for (const PlannedBucket &bucket : plan.buckets) {
    size_t first = std::exchange(next, next + bucket.gradients);
    isMergeable.push_back(next < order.size() &&
                          tensors[order[first]].shareClass ==
                              tensors[order[next]].shareClass);
  }
  return isMergeable;
}

std::optional<CommunicationPlan>
bagua::withMergedBuckets(const CommunicationProblem &problem,
                         const CommunicationPlan &plan, size_t bucket) {
  if (!mergeable(problem, plan)[bucket])
    return std::nullopt;
  CommunicationPlan merged = plan;
  auto first = merged.buckets.begin() + static_cast<ptrdiff_t>(bucket);
  first->gradients += std::next(first)->gradients;
  merged.buckets.erase(std::next(first));
  return merged;
}

/// Merges the first bucket with the second, the third with the fourth, ...
static CommunicationPlan mergeInPairs(const CommunicationProblem &problem,
                                      const CommunicationPlan &plan) {
  std::vector<bool> isMergeable = mergeable(problem, plan);
  CommunicationPlan merged = plan;
  merged.buckets.clear();
  for (size_t i = 0; i < plan.buckets.size(); ++i) {
    merged.buckets.push_back(plan.buckets[i]);
    if (isMergeable[i])
      merged.buckets.back().gradients += plan.buckets[++i].gradients;
  }
  return merged;
}

namespace {
class Simplifier {
public:
  Simplifier(const CommunicationProblem &problem, CommunicationPlan start,
             int64_t tries, const Accepts &accepts)
      : plan(std::move(start)), problem(problem), tries(tries),
        accepts(accepts) {}

  bool improveAll();
  bool improveOne();

  CommunicationPlan plan;

private:
  bool take(CommunicationPlan &&simpler);
  bool take(size_t index, const PlannedBucket &simpler);

  const CommunicationProblem &problem;
  int64_t tries;
  const Accepts &accepts;
};
} // namespace

bool Simplifier::take(CommunicationPlan &&simpler) {
  if (simpler.buckets == plan.buckets || --tries < 0 || !accepts(simpler))
    return false;
  plan = std::move(simpler);
  return true;
}

bool Simplifier::take(size_t index, const PlannedBucket &simpler) {
  CommunicationPlan changed = plan;
  changed.buckets[index] = simpler;
  return take(std::move(changed));
}

static PlannedBucket inHalfTheParts(PlannedBucket bucket) {
  bucket.parts = (bucket.parts + 1) / 2;
  return bucket;
}

static PlannedBucket onFlatForms(PlannedBucket bucket) {
  bucket.form = FormKind::Flat;
  return bucket;
}

bool Simplifier::improveAll() {
  CommunicationPlan whole = plan, flat = plan;
  for (PlannedBucket &bucket : whole.buckets)
    bucket = inHalfTheParts(bucket);
  for (PlannedBucket &bucket : flat.buckets)
    bucket = onFlatForms(bucket);
  return take(mergeInPairs(problem, plan)) || take(std::move(whole)) ||
         take(std::move(flat));
}

/// Tries one change of one bucket.
bool Simplifier::improveOne() {
  std::vector<int64_t> bytes = bytesOfBuckets(problem, plan.buckets);
  std::vector<size_t> order(bytes.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return bytes[a] < bytes[b]; });
  for (size_t index : order) {
    if (tries <= 0)
      break;
    auto merged = withMergedBuckets(problem, plan, index);
    if ((merged && take(std::move(*merged))) ||
        take(index, inHalfTheParts(plan.buckets[index])) ||
        take(index, onFlatForms(plan.buckets[index])))
      return true;
  }
  return false;
}

CommunicationPlan
bagua::withFewerCollectives(const CommunicationProblem &problem,
                            CommunicationPlan plan, int64_t tries,
                            const Accepts &accepts) {
  Simplifier simplifier(problem, std::move(plan), tries, accepts);
  while (simplifier.improveAll())
    ;
  while (simplifier.improveOne())
    ;
  return std::move(simplifier.plan);
}
