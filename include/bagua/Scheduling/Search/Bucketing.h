//===- Bucketing.h - Which gradients travel together ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The problem of grouping gradients into buckets, and the rules by which
// published systems do it. Passes read a step into a BucketingProblem and write
// the buckets back as concat and split.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_SCHEDULING_SEARCH_BUCKETING_H
#define BAGUA_SCHEDULING_SEARCH_BUCKETING_H

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace bagua {

/// One gradient that is all-reduced.
struct BucketingTensor {
  int64_t bytes;
  /// The predicted time at which the program has it, in ns since the step's
  /// start.
  int64_t readyNs;
  /// Only tensors of one class (element type, kind, axes) share a bucket.
  int32_t shareClass;
};

/// Time of one message in ns, by its bytes and the class of its tensors. The
/// time is not negative and does not fall as the bytes grow.
using MessageCost = std::function<double(int64_t bytes, int32_t shareClass)>;

/// Indices into BucketingProblem::tensors, in the order inside the bucket.
using Bucket = std::vector<int32_t>;

/// Tensors in the order in which they become ready.
struct BucketingProblem {
  std::vector<BucketingTensor> tensors;

  /// Describes what is wrong with the input; nothing if it is sound.
  std::optional<std::string> check() const;
  /// Describes what is wrong with a solution: a tensor in no bucket or in two,
  /// or a bucket of two classes.
  std::optional<std::string> verify(const std::vector<Bucket> &buckets) const;
};

/// Each tensor in a bucket of its own, in order of readiness.
std::vector<Bucket> bucketizeAlone(const BucketingProblem &problem);

/// PyTorch DDP's rule (Li et al., VLDB 2020, section 3.2.3): in order of
/// readiness, a bucket closes when it has reached its cap; the first cap of
/// each class is `firstBytes`, all others are `capBytes`. A tensor is never
/// cut, so a bucket may exceed its cap by less than its last tensor. Buckets
/// are ordered by their last tensor. O(n log n).
std::vector<Bucket> bucketizeBySize(const BucketingProblem &problem,
                                    int64_t firstBytes, int64_t capBytes);

/// Horovod's rule (Sergeev and Del Balso, 2018, section 4), played against the
/// predicted times: at a tick of `cycleNs` all tensors that are ready are
/// packed, in order, into buffers of at most `bufferBytes`; a larger tensor
/// goes alone. No tick is looked at while these buffers are sent, for as long
/// as `cost` says, so the next tick finds all tensors that have become ready
/// since. O(n log n).
std::vector<Bucket> bucketizeByCycle(const BucketingProblem &problem,
                                     int64_t bufferBytes, int64_t cycleNs,
                                     const MessageCost &cost);

} // namespace bagua

#endif // BAGUA_SCHEDULING_SEARCH_BUCKETING_H
