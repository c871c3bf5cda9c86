//===- FewerCollectives.h - The same with fewer collectives ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A search takes whatever is faster, by however little, and ends with a hundred
// messages where ten would do. Each of them asks cores and switches for more
// than prices know of.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_SCHEDULING_FEWERCOLLECTIVES_H
#define BAGUA_SCHEDULING_FEWERCOLLECTIVES_H

#include "bagua/Scheduling/CommunicationPlan.h"

#include <functional>

namespace bagua {

/// The plan with a bucket and the next one as one, in the form and as many
/// parts as the first; nothing where there is no next one of the same class.
std::optional<CommunicationPlan>
withMergedBuckets(const CommunicationProblem &problem,
                  const CommunicationPlan &plan, size_t bucket);

/// Neighbours merged, half as many parts, flat forms: of all buckets at once as
/// long as `accepts` takes the plan, then of one at a time, small ones first,
/// until it takes none of them or has been asked `tries` times.
CommunicationPlan withFewerCollectives(
    const CommunicationProblem &problem, CommunicationPlan plan, int64_t tries,
    const std::function<bool(const CommunicationPlan &)> &accepts);

} // namespace bagua

#endif // BAGUA_SCHEDULING_FEWERCOLLECTIVES_H
