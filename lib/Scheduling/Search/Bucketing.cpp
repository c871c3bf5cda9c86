//===- Bucketing.cpp - Which gradients travel together --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rules of Bucketing.h. Every rule visits the tensors once and keeps one
// open bucket for each class.
//
//===----------------------------------------------------------------------===//
#include "bagua/Scheduling/Search/Bucketing.h"

#include <algorithm>
#include <cmath>
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
                                            int64_t cycleNs,
                                            const MessageCost &cost) {
  const auto &tensors = problem.tensors;
  auto cycle = static_cast<double>(cycleNs);
  std::vector<Bucket> buckets;
  double freeNs = 0;
  for (size_t next = 0; next < tensors.size();) {
    double from = std::max(freeNs, static_cast<double>(tensors[next].readyNs));
    double tickNs = std::ceil(from / cycle) * cycle;
    // The buffers of this tick: for each class the buffer that is being filled.
    std::map<int32_t, size_t> open;
    std::vector<int64_t> bytes;
    size_t first = buckets.size();
    for (; next < tensors.size() &&
           static_cast<double>(tensors[next].readyNs) <= tickNs;
         ++next) {
      const BucketingTensor &tensor = tensors[next];
      auto [buffer, isNew] =
          open.try_emplace(tensor.shareClass, buckets.size());
      if (isNew || bytes[buffer->second - first] + tensor.bytes > bufferBytes) {
        buffer->second = buckets.size();
        buckets.emplace_back();
        bytes.push_back(0);
      }
      buckets[buffer->second].push_back(static_cast<int32_t>(next));
      bytes[buffer->second - first] += tensor.bytes;
    }
    freeNs = tickNs;
    for (size_t i = 0; i < bytes.size(); ++i)
      freeNs += cost(bytes[i], tensors[buckets[first + i].front()].shareClass);
  }
  orderByLastTensor(buckets);
  return buckets;
}
