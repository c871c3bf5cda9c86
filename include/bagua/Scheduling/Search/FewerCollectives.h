//===- FewerCollectives.h - The same with fewer collectives ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A search takes every change that is faster, by however little, and ends with
// a hundred messages where ten would do. Each message costs time of cores and
// switches that prices do not know of.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_SCHEDULING_SEARCH_FEWERCOLLECTIVES_H
#define BAGUA_SCHEDULING_SEARCH_FEWERCOLLECTIVES_H

#include "bagua/Scheduling/Search/CommunicationPlan.h"

#include <functional>

namespace bagua {

/// The plan with a bucket and the next one merged into one, which has the form
/// and the number of parts of the first. Nothing if no next bucket of the same
/// class follows.
std::optional<CommunicationPlan>
withMergedBuckets(const CommunicationProblem &problem,
                  const CommunicationPlan &plan, size_t bucket);

/// Simplifies a plan: merges neighbours, halves the number of parts, makes
/// forms flat. First it changes all buckets at once as long as `accepts` takes
/// the plan, then one bucket at a time, small ones first, until `accepts`
/// refuses all changes or has been called `tries` times.
CommunicationPlan withFewerCollectives(
    const CommunicationProblem &problem, CommunicationPlan plan, int64_t tries,
    const std::function<bool(const CommunicationPlan &)> &accepts);

} // namespace bagua

#endif // BAGUA_SCHEDULING_SEARCH_FEWERCOLLECTIVES_H
