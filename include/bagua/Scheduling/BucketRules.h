//===- BucketRules.h - By which rule gradients share buckets --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rules of Bucketing.h and Merging.h with their numbers, by name.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_SCHEDULING_BUCKETRULES_H
#define BAGUA_SCHEDULING_BUCKETRULES_H

#include "bagua/Scheduling/Merging.h"
#include "bagua/Support/Words.h"

#include <optional>
#include <string>
#include <vector>

namespace bagua {

// PyTorch's numbers and Horovod's, also the defaults of bagua-bucketize's
// options.
inline constexpr int64_t kDdpFirstBytes = 1048576;
inline constexpr int64_t kDdpCapBytes = 26214400;
inline constexpr int64_t kHorovodCycleNs = 1000000;

enum class BucketPolicy {
  /// Every gradient alone.
  None,
  /// Up to `capBytes`.
  Size,
  /// Up to `firstBytes`, then up to `capBytes`.
  Ddp,
  /// What is ready at a tick, up to `capBytes`.
  Cycle,
  /// By prices, greedily.
  MgWfbp,
  /// By prices, exactly.
  Optimal,
  /// One by one, as a list says.
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
  /// What is larger is cut into equal parts of at most so many bytes; 0: never.
  int64_t partitionBytes = 0;
};

/// Buckets by any policy but List, by which there are none to make.
std::vector<Bucket> bucketize(const BucketingProblem &problem,
                              const BucketRule &rule, const MessageCost &cost);

/// Parts into which a rule cuts a bucket: never more than elements.
int64_t partsOf(const BucketRule &rule, int64_t bytes, int64_t elements);

/// Whether a step may have its gradients cut into so many parts, uncut buckets
/// not counted: what is wrong with `parts`, the parts of each bucket; nothing
/// if nothing is.
std::optional<std::string> checkParts(const std::vector<int64_t> &parts);

/// Elements of part `part`: equal parts but for one element.
inline int64_t countOfPart(int64_t elements, int64_t parts, int64_t part) {
  return elements * (part + 1) / parts - elements * part / parts;
}

} // namespace bagua

#endif // BAGUA_SCHEDULING_BUCKETRULES_H
