//===- Bucketing.cpp - Which gradients travel together --------------------===//
//
// The rules of Bucketing.h. Every rule visits the tensors once and keeps one
// open bucket for each class.
//
//===----------------------------------------------------------------------===//
#include "bagua/Scheduling/Bucketing.h"

#include <algorithm>
#include <map>

using namespace bagua;

std::optional<std::string> BucketingProblem::check() const {
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].bytes < 0)
      return "expected bytes of at least 0 for tensor " + std::to_string(i) +
             ", found " + std::to_string(tensors[i].bytes);
    if (i > 0 && tensors[i].readyNs < tensors[i - 1].readyNs)
      return "expected tensors in order of readiness, found tensor " +
             std::to_string(i) + " ready before the one before it";
  }
  return std::nullopt;
}

std::optional<std::string>
BucketingProblem::verify(const std::vector<Bucket> &buckets) const {
  std::vector<int> seen(tensors.size(), 0);
  for (const Bucket &bucket : buckets) {
    if (bucket.empty())
      return "expected buckets with at least one tensor";
    for (int32_t index : bucket) {
      if (index < 0 || static_cast<size_t>(index) >= tensors.size())
        return "expected tensors below " + std::to_string(tensors.size()) +
               ", found " + std::to_string(index);
      ++seen[index];
      if (tensors[index].shareClass != tensors[bucket[0]].shareClass)
        return "tensors " + std::to_string(bucket[0]) + " and " +
               std::to_string(index) + " can't share a bucket";
    }
  }
  for (size_t i = 0; i < seen.size(); ++i)
    if (seen[i] != 1)
      return "expected tensor " + std::to_string(i) +
             " in one bucket, found it in " + std::to_string(seen[i]);
  return std::nullopt;
}

std::vector<Bucket> bagua::bucketizeAlone(const BucketingProblem &problem) {
  std::vector<Bucket> buckets(problem.tensors.size());
  for (size_t i = 0; i < buckets.size(); ++i)
    buckets[i] = {static_cast<int32_t>(i)};
  return buckets;
}

/// A bucket can start when its last tensor is ready.
static void orderByLastTensor(std::vector<Bucket> &buckets) {
  std::stable_sort(
      buckets.begin(), buckets.end(),
      [](const Bucket &a, const Bucket &b) { return a.back() < b.back(); });
}

std::vector<Bucket> bagua::bucketizeBySize(const BucketingProblem &problem,
                                           int64_t firstBytes,
                                           int64_t capBytes) {
  struct Open {
    Bucket bucket;
    int64_t bytes = 0;
    int64_t cap;
  };
  std::map<int32_t, Open> open;
  std::vector<Bucket> buckets;
  for (size_t i = 0; i < problem.tensors.size(); ++i) {
    const BucketingTensor &tensor = problem.tensors[i];
    Open &current = open.try_emplace(tensor.shareClass, Open{{}, 0, firstBytes})
                        .first->second;
    current.bucket.push_back(static_cast<int32_t>(i));
    current.bytes += tensor.bytes;
    if (current.bytes < current.cap)
      continue;
    buckets.push_back(std::move(current.bucket));
    current = {{}, 0, capBytes};
  }
  for (auto &[shareClass, current] : open)
    if (!current.bucket.empty())
      buckets.push_back(std::move(current.bucket));
  orderByLastTensor(buckets);
  return buckets;
}

std::vector<Bucket> bagua::bucketizeByCycle(const BucketingProblem &problem,
                                            int64_t bufferBytes,
                                            int64_t cycleNs) {
  struct Open {
    Bucket bucket;
    int64_t bytes = 0;
    int64_t tick = 0;
  };
  std::map<int32_t, Open> open;
  std::vector<Bucket> buckets;
  for (size_t i = 0; i < problem.tensors.size(); ++i) {
    const BucketingTensor &tensor = problem.tensors[i];
    int64_t tick = (tensor.readyNs + cycleNs - 1) / cycleNs;
    Open &current = open[tensor.shareClass];
    bool fits =
        current.tick == tick && current.bytes + tensor.bytes <= bufferBytes;
    if (!current.bucket.empty() && !fits) {
      buckets.push_back(std::move(current.bucket));
      current = {};
    }
    current.tick = tick;
    current.bucket.push_back(static_cast<int32_t>(i));
    current.bytes += tensor.bytes;
  }
  for (auto &[shareClass, current] : open)
    if (!current.bucket.empty())
      buckets.push_back(std::move(current.bucket));
  orderByLastTensor(buckets);
  return buckets;
}
