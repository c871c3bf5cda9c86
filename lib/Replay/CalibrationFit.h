//===- CalibrationFit.h - From measured times to a cluster ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pure functions of numbers: no clock, no plan, no rank. Calibrate.h measures.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_REPLAY_CALIBRATIONFIT_H
#define BAGUA_LIB_REPLAY_CALIBRATIONFIT_H

#include "CalibrationPlan.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace bagua::replay {

/// The median; of two middle values the upper one.
template <typename T> T medianOf(std::vector<T> samples) {
  auto middle = samples.begin() + static_cast<ptrdiff_t>(samples.size() / 2);
  std::nth_element(samples.begin(), middle, samples.end());
  return *middle;
}

/// The mean time of a message, by size, and the time of a step.
struct Measured {
  Times ns;
  int64_t stepNs = 0;
};

/// The times of each round, by kind.
using Samples = std::vector<std::vector<Times>>;

/// Small messages of one size that are in flight together.
struct SmallInFlight {
  size_t kind = 0;
  size_t size = 0;
  /// The time of each message, and the part of it that its bytes take alone.
  double ns = 0;
  double bytesNs = 0;
};

/// Messages of the sizes of parts, all in flight together.
struct PartsInFlight {
  size_t kind = 0;
  int64_t bytes = 0;
  /// The time of all messages on one stream, and on several.
  double oneNs = 0;
  double severalNs = 0;
  /// Latency that messages on several streams hide of each other.
  double hiddenNs = 0;
};

/// Everything measured along one axis.
struct AxisSamples {
  CalibratedAxis axis;
  /// The number of ranks that share a link; all of them were measured at once.
  int64_t sharers = 1;
  /// Whether ranks along the axis are on different hosts. Within one machine,
  /// rounds differ by where its threads are placed; training meets the same
  /// differences, so the mean of rounds counts. On a network, rounds differ by
  /// other traffic, so the median counts.
  bool isNetwork = false;
  /// Times of collectives whose messages follow each other on one stream:
  /// without compute, and beside compute in long ops.
  Samples alone = Samples(kindCount()), beside = Samples(kindCount());
  /// By round: the fraction of large messages' rate that remains beside compute
  /// in short ops (kShortOpNs) and in long ones (kLongOpNs).
  std::vector<double> besideShortOps, besideLongOps;
  std::vector<SmallInFlight> small;
  std::vector<PartsInFlight> parts;
};

/// The lengths of compute ops beside messages: so short that messages are
/// disturbed all the time, and so long that they are disturbed part of the
/// time.
inline constexpr int64_t kShortOpNs = 50'000, kLongOpNs = 300'000;

/// The fraction of large messages' rate that remains beside compute.
double rateBeside(const Measured &alone, const Measured &beside);

/// The numbers of a `bagua.axis`, and the cluster's wake_ns.
struct AxisFit {
  CalibratedAxis axis;
  int64_t sharers = 1;
  int64_t latencyNs = 0;
  int64_t bytesPerS = 1;
  double overlappedRate = 1;
  int64_t overlappedNs = 0;
  double concurrentRate = 1;
  int64_t gapNs = 0;
  int64_t wakeNs = 0;
  /// The table of each kind of collective.
  std::array<Times, kCollectiveCount> tables;
};

/// Fits an axis. Latency and rate are such that no time in the tables is
/// shorter than a latency and the traffic at that rate, since the lower bound
/// uses these two. In memory they are the most that no measured time
/// contradicts. On a network the rate is that of parts in flight together, as a
/// median of rounds, and the latency is half the time of the smallest message
/// in a collective in which every member waits for all. Times below these two
/// are raised to them: a token bucket lets a small message through at once, and
/// a message has the link to itself if the ranks that share it happen to send
/// nothing. Needs at least one round of each collective alone, and of one
/// collective beside compute and in flight.
AxisFit fitAxis(const AxisSamples &samples);

/// The text of a `bagua.cluster`, outermost axis first. `work` has the rounds
/// of a rank's own work. `comment` is one line that says what was measured.
std::string printCluster(const std::string &comment,
                         const std::vector<AxisFit> &axes, const Samples &work);

} // namespace bagua::replay

#endif // BAGUA_LIB_REPLAY_CALIBRATIONFIT_H
