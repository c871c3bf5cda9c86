//===- PlanFront.h - Plans that no cheaper one is as fast as --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A search rates plans, and keeps some of them by what they cost besides time.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_SCHEDULING_PLANFRONT_H
#define BAGUA_SCHEDULING_PLANFRONT_H

#include "bagua/Scheduling/CommunicationPlan.h"

#include <map>

namespace bagua {

struct RatedPlan {
  CommunicationPlan plan;
  double stepNs = 0;
};

/// A larger cost is kept for a shorter step alone: the last plan is the
/// fastest.
class PlanFront {
public:
  struct Entry {
    int64_t cost;
    const RatedPlan &rated;
  };

  /// O(log plans) where the plan isn't kept.
  void add(int64_t cost, const CommunicationPlan &plan, double stepNs);

  /// The fastest plan of no more than `cost`; one was added.
  const RatedPlan &fastestWithin(int64_t cost) const;

  /// The cheapest plan of no more than `stepNs`; one was added.
  Entry cheapestWithin(double stepNs) const;

private:
  std::map<int64_t, RatedPlan> plans;
};

} // namespace bagua

#endif // BAGUA_SCHEDULING_PLANFRONT_H
