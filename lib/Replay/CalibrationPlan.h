//===- CalibrationPlan.h - Steps whose messages are measured --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The plans that a calibration runs. Each has one step, whose program gives
// messages of many sizes and takes them back. CalibrationFit.h makes a cluster
// from the measured times.
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

/// Sizes have numbers: size i is 1024 * 4^i bytes, from 1 KiB to 64 MiB.
inline constexpr size_t kSizeCount = 9;
constexpr int64_t bytesOfSize(size_t size) {
  return int64_t{1024} << (2 * size);
}

/// Times of messages, by size. The list may end before the largest size.
using Times = std::vector<int64_t>;

/// The kinds that are measured: first collectives, then a rank's own work. Each
/// group is in the order of names, as are the tables in a cluster's text.
inline constexpr size_t kCollectiveCount = 5;
size_t kindCount();

std::string kindName(size_t kind);
inline bool isWork(size_t kind) { return kind >= kCollectiveCount; }
/// Whether only one member has the whole value, or gets it.
bool isRooted(size_t kind);
/// The least number of bytes that cross a rank's link, per byte of a
/// collective's tensor.
double trafficOf(size_t kind, int64_t ranks);
/// The number of tensors that a rank's own work reads and writes.
int movedBy(size_t kind);

/// The axis along which messages go.
struct CalibratedAxis {
  std::string name;
  int64_t size = 1;
};
struct CalibrationPlace {
  /// The axes, outermost first.
  std::vector<CalibratedAxis> axes;
  size_t axis = 0;
};

/// Whether `rank` gets the collective's result, so that the message is done
/// when this rank is. Other ranks may be done as soon as their bytes are on
/// their way.
bool getsResult(size_t kind, const CalibrationPlace &place, int64_t rank);

/// The work that runs beside a message.
struct Surroundings {
  /// Compute after a message was given, by the message's size, in ops of at
  /// most opNs. Empty: no compute.
  Times computeNs;
  int64_t opNs = 0;
  /// The number of messages that may be in flight at once.
  int streams = 1;
};

/// A step with messages of these sizes. The program gives each message and
/// computes, then takes all of them back.
absl::StatusOr<std::shared_ptr<const Plan>>
makeCalibrationPlan(size_t kind, const CalibrationPlace &place,
                    const std::vector<size_t> &sizes,
                    const Surroundings &beside);

/// How many messages the steps of a calibration have, and how often they run.
struct Effort {
  /// The number of messages of each size, in the step that mixes small and
  /// large ones, as gradients do. Its length is the number of sizes measured.
  std::vector<int> counts;
  /// Messages in flight at once, all of the same size so that all streams are
  /// busy to the end: the numbers of small messages, by size from 1 on, which
  /// show the gap; and of messages with the sizes of parts, which show the
  /// rate.
  std::vector<int> smallCounts;
  std::vector<std::pair<size_t, int>> parts;
  int64_t steps = 0;
  int rounds = 0;
  /// Whether each round measures only one collective beside compute and in
  /// flight, a different one each round.
  bool takesTurns = false;
};

/// For threads of this machine: more bytes than caches hold.
Effort fullEffort();

/// For an axis along which ranks all_reduce `bytesPerS` of a tensor: sizes and
/// numbers of messages that take about a minute in all. At 20 Mbit/s and less
/// even the smallest set takes longer.
Effort effortAt(double bytesPerS);

/// The first size, of `sizes` measured, whose messages show the rate.
inline size_t firstLargeSize(size_t sizes) {
  constexpr size_t kLargeSize = 5;
  return sizes <= kLargeSize ? sizes - 1 : kLargeSize;
}

/// The messages of a step in mixed order: a small message takes longer after a
/// large one, during which threads fall asleep, than after another small one.
std::vector<size_t> mixSizes(const std::vector<int> &counts, int round);

} // namespace bagua::replay

#endif // BAGUA_LIB_REPLAY_CALIBRATIONPLAN_H
