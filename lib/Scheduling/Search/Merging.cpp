//===- Merging.cpp - Which neighbours to merge, by what messages cost -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A greedy rule and an exact dynamic program.
//
//===----------------------------------------------------------------------===//
#include "bagua/Scheduling/Search/Merging.h"

#include <algorithm>
#include <limits>

using namespace bagua;

double bagua::communicationEndNs(const BucketingProblem &problem,
                                 const std::vector<Bucket> &buckets,
                                 const MessageCost &cost) {
  double end = 0;
  for (const Bucket &bucket : buckets) {
    int64_t bytes = 0, readyNs = 0;
    for (int32_t tensor : bucket) {
      bytes += problem.tensors[tensor].bytes;
      readyNs = std::max(readyNs, problem.tensors[tensor].readyNs);
    }
    end = std::max(end, static_cast<double>(readyNs)) +
          cost(bytes, problem.tensors[bucket.front()].shareClass);
  }
  return end;
}

std::vector<Bucket> bagua::mergeGreedily(const BucketingProblem &problem,
                                         const MessageCost &cost,
                                         double startupNs) {
  std::vector<Bucket> buckets;
  Bucket bucket;
  double previousEnd = 0;
  int64_t bytes = 0;
  const auto &tensors = problem.tensors;
  for (size_t i = 0; i < tensors.size(); ++i) {
    bucket.push_back(static_cast<int32_t>(i));
    bytes += tensors[i].bytes;
    double start =
        std::max(previousEnd, static_cast<double>(tensors[i].readyNs));
    double end = start + cost(bytes, tensors[i].shareClass);
    if (i + 1 < tensors.size() &&
        tensors[i + 1].shareClass == tensors[i].shareClass) {
      auto next = static_cast<double>(tensors[i + 1].readyNs);
      if (next < end && next - start < startupNs)
        continue;
    }
    buckets.push_back(std::move(bucket));
    bucket.clear();
    previousEnd = end;
    bytes = 0;
  }
  return buckets;
}

std::vector<Bucket> bagua::mergeOptimally(const BucketingProblem &problem,
                                          const MessageCost &cost) {
  const auto &tensors = problem.tensors;
  struct Prefix {
    double endNs = std::numeric_limits<double>::infinity();
    int32_t buckets = 0;
    size_t lastBegin = 0;
  };
  std::vector<Prefix> best(tensors.size() + 1);
  best[0].endNs = 0;
  for (size_t end = 1; end <= tensors.size(); ++end) {
    int64_t bytes = 0;
    auto ready = static_cast<double>(tensors[end - 1].readyNs);
    for (size_t begin = end; begin-- > 0;) {
      if (tensors[begin].shareClass != tensors[end - 1].shareClass)
        break;
      bytes += tensors[begin].bytes;
      double ns = std::max(best[begin].endNs, ready) +
                  cost(bytes, tensors[begin].shareClass);
      int32_t buckets = best[begin].buckets + 1;
      if (ns < best[end].endNs ||
          (ns == best[end].endNs && buckets < best[end].buckets))
        best[end] = {ns, buckets, begin};
    }
  }
  std::vector<Bucket> buckets;
  for (size_t end = tensors.size(); end > 0; end = best[end].lastBegin) {
    Bucket &bucket = buckets.emplace_back();
    for (size_t i = best[end].lastBegin; i < end; ++i)
      bucket.push_back(static_cast<int32_t>(i));
  }
  std::reverse(buckets.begin(), buckets.end());
  return buckets;
}
