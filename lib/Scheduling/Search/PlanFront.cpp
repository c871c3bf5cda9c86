//===- PlanFront.cpp - Plans that are fastest for their cost --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// In the map, steps get shorter from each entry to the next.
//
//===----------------------------------------------------------------------===//
#include "bagua/Scheduling/Search/PlanFront.h"

#include <algorithm>
#include <cassert>

using namespace bagua;

void PlanFront::add(int64_t cost, const CommunicationPlan &plan,
                    double stepNs) {
  auto next = plans.upper_bound(cost);
  if (next != plans.begin() && std::prev(next)->second.stepNs <= stepNs)
    return;
  while (next != plans.end() && next->second.stepNs >= stepNs)
    next = plans.erase(next);
  plans.insert_or_assign(cost, RatedPlan{plan, stepNs});
}

const RatedPlan &PlanFront::fastestWithin(int64_t cost) const {
  auto next = plans.upper_bound(cost);
  assert(next != plans.begin() && "a plan of no more than the cost was added");
  return std::prev(next)->second;
}

PlanFront::Entry PlanFront::cheapestWithin(double stepNs) const {
  auto found = std::find_if(plans.begin(), plans.end(), [&](const auto &entry) {
    return entry.second.stepNs <= stepNs;
  });
  assert(found != plans.end() && "a plan as fast as that was added");
  return {found->first, found->second};
}
