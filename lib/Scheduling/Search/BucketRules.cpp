//===- BucketRules.cpp - By which rule gradients share buckets ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls the function of the chosen rule.
//
//===----------------------------------------------------------------------===//
#include "bagua/Scheduling/Search/BucketRules.h"

#include "bagua/Support/Limits.h"

#include <algorithm>
#include <limits>

using namespace bagua;

std::vector<Bucket> bagua::bucketize(const BucketingProblem &problem,
                                     const BucketRule &rule,
                                     const MessageCost &cost) {
  switch (rule.policy) {
  case BucketPolicy::None:
    return bucketizeAlone(problem);
  case BucketPolicy::Size:
    return bucketizeBySize(problem, rule.capBytes, rule.capBytes);
  case BucketPolicy::Ddp:
    return bucketizeBySize(problem, rule.firstBytes, rule.capBytes);
  case BucketPolicy::Cycle:
    return bucketizeByCycle(problem, rule.capBytes, rule.cycleNs, cost);
  case BucketPolicy::MgWfbp:
    if (problem.tensors.empty())
      return {};
    return mergeGreedily(problem, cost, cost(0, problem.tensors[0].shareClass));
  case BucketPolicy::Optimal:
    return mergeOptimally(problem, cost);
  case BucketPolicy::List:
    break; // has buckets already
  }
  return {};
}

int64_t bagua::partsOf(const BucketRule &rule, int64_t bytes,
                       int64_t elements) {
  if (rule.partitionBytes == 0 || bytes <= rule.partitionBytes)
    return 1;
  return std::min((bytes + rule.partitionBytes - 1) / rule.partitionBytes,
                  elements);
}

std::optional<std::string>
bagua::checkParts(const std::vector<int64_t> &parts) {
  int64_t total = 0;
  for (int64_t count : parts)
    if (count > 1)
      total += std::min(count, std::numeric_limits<int64_t>::max() - total);
  if (total <= kMaxParts)
    return std::nullopt;
  return "expected the step's gradients in at most " +
         std::to_string(kMaxParts) + " parts, found " + std::to_string(total);
}
