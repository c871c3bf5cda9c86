//===- CalibrationPlan.h - Steps whose messages are measured --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a calibration runs: plans of one step, whose program gives messages of
// many sizes and takes them back. How long they took, and what follows from it,
// is CalibrationFit.h's.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_REPLAY_CALIBRATIONPLAN_H
#define BAGUA_LIB_REPLAY_CALIBRATIONPLAN_H

#include "bagua/Runtime/Plan.h"

#include "absl/status/statusor.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace bagua::replay {

using runtime::Plan;

/// Sizes are numbered: size i is 1024 * 4^i bytes, from 1 KiB to 64 MiB.
inline constexpr size_t kSizeCount = 9;
constexpr int64_t bytesOfSize(size_t size) {
  return int64_t{1024} << (2 * size);
}

/// Of messages, by size. It may end before the largest size.
using Times = std::vector<int64_t>;

/// What is measured: collectives first, then a rank's own work, each in the
/// order of names, which is that of tables in a cluster's text.
inline constexpr size_t kCollectiveCount = 5;
inline constexpr size_t kKindCount = 9;

std::string kindName(size_t kind);
inline bool isWork(size_t kind) { return kind >= kCollectiveCount; }
/// Whether one member alone has the whole, or gets it.
bool isRooted(size_t kind);
/// Bytes that cross a rank's link at least, per byte of a collective's tensor.
double trafficOf(size_t kind, int64_t ranks);
/// Tensors that a rank's own work reads and writes.
int movedBy(size_t kind);

/// The axis that messages go along.
struct CalibratedAxis {
  std::string name;
  int64_t size = 1;
};
struct CalibrationPlace {
  /// Outermost first.
  std::vector<CalibratedAxis> axes;
  size_t axis = 0;
};

/// Whether a rank of the place gets a collective's result: a message is done
/// where that is. The others may be done when their bytes are on their way.
bool getsResult(size_t kind, const CalibrationPlace &place, int64_t rank);

/// What goes on beside a message.
struct Surroundings {
  /// Compute behind the message's gift, by its size, in ops of at most opNs.
  /// Empty: none.
  Times computeNs;
  int64_t opNs = 0;
  /// Messages that may be in flight at once.
  int streams = 1;
};

/// A step of messages of these sizes. The program gives each and computes, then
/// takes all of them back.
absl::StatusOr<std::shared_ptr<const Plan>>
makeCalibrationPlan(size_t kind, const CalibrationPlace &place,
                    const std::vector<size_t> &sizes,
                    const Surroundings &beside);

/// How many messages the steps of a calibration have, and how often they run.
struct Effort {
  /// By size, of the step in which all sizes are mixed: small and large ones as
  /// gradients are. Its length is how many sizes are measured.
  std::vector<int> counts;
  /// Messages in flight at once, all of one size so that all streams have
  /// something to the end: by size from 1 on, of small ones, from which the gap
  /// comes; and of the sizes that parts have, from which the rate comes.
  std::vector<int> smallCounts;
  std::vector<std::pair<size_t, int>> parts;
  int64_t steps = 0;
  int rounds = 0;
  /// Whether each round measures one collective beside compute and in flight,
  /// another one in each, and not all of them.
  bool takesTurns = false;
};

/// For threads of this machine: more bytes than caches hold.
Effort fullEffort();

/// For an axis along which ranks all_reduce `bytesPerS` of a tensor: as many
/// and as large messages as take a minute in all, about. At 20 Mbit/s and less
/// the smallest set takes longer.
Effort effortAt(double bytesPerS);

/// From this size on messages tell the rate, of `sizes` that are measured.
inline size_t firstLargeSize(size_t sizes) {
  constexpr size_t kLargeSize = 5;
  return sizes <= kLargeSize ? sizes - 1 : kLargeSize;
}

/// The messages of a step, mixed: a small one takes longer after a large one,
/// during which threads go to sleep, than after another small one.
std::vector<size_t> mixSizes(const std::vector<int> &counts, int round);

} // namespace bagua::replay

#endif // BAGUA_LIB_REPLAY_CALIBRATIONPLAN_H
