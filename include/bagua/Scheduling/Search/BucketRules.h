//===- BucketRules.h - By which rule gradients share buckets --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rules of Bucketing.h and Merging.h with their numbers, by name.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_SCHEDULING_SEARCH_BUCKETRULES_H
#define BAGUA_SCHEDULING_SEARCH_BUCKETRULES_H

#include "bagua/Scheduling/Search/Merging.h"
#include "bagua/Support/Words.h"

#include <optional>
#include <string>
#include <vector>

namespace bagua {

// The numbers of PyTorch and Horovod; they are also the defaults of
// bagua-bucketize's options.
inline constexpr int64_t kDdpFirstBytes = 1048576;
inline constexpr int64_t kDdpCapBytes = 26214400;
inline constexpr int64_t kHorovodCycleNs = 1000000;

enum class BucketPolicy {
  /// Every gradient alone.
  None,
  /// Buckets of up to `capBytes`.
  Size,
  /// A first bucket of up to `firstBytes`, then buckets of up to `capBytes`.
  Ddp,
  /// All gradients that are ready at a tick, in buckets of up to `capBytes`.
  Cycle,
  /// Greedily, by the prices of messages.
  MgWfbp,
  /// Optimally, by the prices of messages.
  Optimal,
  /// The buckets of a given list.
  List,
};

inline constexpr int kBucketPolicyCount = 7;

template <>
inline constexpr std::array<std::string_view, kBucketPolicyCount>
    kWordsOf<BucketPolicy> = {"none",    "size",    "ddp", "cycle",
                              "mg-wfbp", "optimal", "list"};

struct BucketRule {
  BucketPolicy policy = BucketPolicy::None;
  int64_t firstBytes = 0;
  int64_t capBytes = 0;
  int64_t cycleNs = 0;
  /// Larger buckets are cut into equal parts of at most so many bytes; 0:
  /// never.
  int64_t partitionBytes = 0;
};

/// The buckets by any policy but List; a list already is the buckets.
std::vector<Bucket> bucketize(const BucketingProblem &problem,
                              const BucketRule &rule, const MessageCost &cost);

/// The number of parts into which a rule cuts a bucket; at most `elements`.
int64_t partsOf(const BucketRule &rule, int64_t bytes, int64_t elements);

/// Checks that a step may have its gradients cut into so many parts; uncut
/// buckets do not count. `parts` has the number of parts of each bucket.
/// Returns what is wrong with it, or nothing.
std::optional<std::string> checkParts(const std::vector<int64_t> &parts);

/// The number of elements of part `part`. Parts differ by at most one element.
inline int64_t countOfPart(int64_t elements, int64_t parts, int64_t part) {
  return elements * (part + 1) / parts - elements * part / parts;
}

} // namespace bagua

#endif // BAGUA_SCHEDULING_SEARCH_BUCKETRULES_H
