//===- PlanFront.h - Plans that are fastest for their cost ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A search rates plans, and keeps those that are fastest for what they cost
// besides time (memory, collectives).
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_SCHEDULING_SEARCH_PLANFRONT_H
#define BAGUA_SCHEDULING_SEARCH_PLANFRONT_H

#include "bagua/Scheduling/Search/CommunicationPlan.h"

#include <map>

namespace bagua {

struct RatedPlan {
  CommunicationPlan plan;
  double stepNs = 0;
};

/// A plan is kept only if all plans that cost no more are slower. So the plan
/// of the largest cost is the fastest.
class PlanFront {
public:
  struct Entry {
    int64_t cost;
    const RatedPlan &rated;
  };

  /// O(log plans) if the plan isn't kept.
  void add(int64_t cost, const CommunicationPlan &plan, double stepNs);

  /// The fastest plan whose cost is at most `cost`; there must be one.
  const RatedPlan &fastestWithin(int64_t cost) const;

  /// The cheapest plan whose step takes at most `stepNs`; there must be one.
  Entry cheapestWithin(double stepNs) const;

private:
  std::map<int64_t, RatedPlan> plans;
};

} // namespace bagua

#endif // BAGUA_SCHEDULING_SEARCH_PLANFRONT_H
