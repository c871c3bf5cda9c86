//===- Merging.h - Which neighbours to merge, by what messages cost -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bucketing with a price: a message of S bytes takes t(S), messages follow one
// another in order of readiness, and the last should end early. Merging saves
// start-ups and waits for the last tensor of the bucket.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_SCHEDULING_MERGING_H
#define BAGUA_SCHEDULING_MERGING_H

#include "bagua/Scheduling/Bucketing.h"

namespace bagua {

/// When the last of the buckets' messages ends, each started when its last
/// tensor is ready and the one before has ended. O(n).
double communicationEndNs(const BucketingProblem &problem,
                          const std::vector<Bucket> &buckets,
                          const MessageCost &cost);

/// MG-WFBP's greedy rule (Shi et al., INFOCOM 2019, algorithm 1): from the
/// first tensor that is ready, a bucket takes the next one in if that is ready
/// before the bucket's message would end, and either before it would start or
/// less than `startupNs` after. Optimal for t(S) = startupNs + b S by the
/// paper's claim; it never looks ahead, so other prices lead it astray, as does
/// a tensor worth waiting for behind one that is not. O(n).
std::vector<Bucket> mergeGreedily(const BucketingProblem &problem,
                                  const MessageCost &cost, double startupNs);

/// The buckets of neighbours that let communication end first, for any price.
/// Among equals the fewest. Dynamic program over prefixes, O(n^2) prices;
/// exact, for a prefix that ends earlier never makes the rest end later.
std::vector<Bucket> mergeOptimally(const BucketingProblem &problem,
                                   const MessageCost &cost);

} // namespace bagua

#endif // BAGUA_SCHEDULING_MERGING_H
