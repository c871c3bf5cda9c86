//===- Merging.h - Which neighbours to merge, by what messages cost -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bucketing with a price: a message of S bytes takes t(S), messages follow one
// another in order of readiness, and the last should end early. Merging saves
// start-ups, but a bucket waits for its last tensor.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_SCHEDULING_SEARCH_MERGING_H
#define BAGUA_SCHEDULING_SEARCH_MERGING_H

#include "bagua/Scheduling/Search/Bucketing.h"

namespace bagua {

/// When the last message ends. Each message starts when its last tensor is
/// ready and the message before has ended. O(n).
double communicationEndNs(const BucketingProblem &problem,
                          const std::vector<Bucket> &buckets,
                          const MessageCost &cost);

/// MG-WFBP's greedy rule (Shi et al., INFOCOM 2019, algorithm 1): from the
/// first tensor that is ready, a bucket takes in the next tensor if that one is
/// ready before the bucket's message would end, and either before the message
/// would start or less than `startupNs` after. By the paper's claim the rule is
/// optimal for t(S) = startupNs + b S. It never looks ahead, so it goes wrong
/// with other prices, and where a tensor worth waiting for follows one that is
/// not. O(n).
std::vector<Bucket> mergeGreedily(const BucketingProblem &problem,
                                  const MessageCost &cost, double startupNs);

/// The buckets of neighbours with which communication ends first, for any
/// price; among equals the fewest. Dynamic program over prefixes, O(n^2)
/// prices. Exact, because a prefix that ends earlier never makes the rest end
/// later.
std::vector<Bucket> mergeOptimally(const BucketingProblem &problem,
                                   const MessageCost &cost);

} // namespace bagua

#endif // BAGUA_SCHEDULING_SEARCH_MERGING_H
