//===- CalibrationFit.h - From measured times to a cluster ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Free functions of numbers: no clock, no plan, no rank. Calibrate.h measures.
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

/// The upper one of two.
template <typename T> T medianOf(std::vector<T> samples) {
  auto middle = samples.begin() + static_cast<ptrdiff_t>(samples.size() / 2);
  std::nth_element(samples.begin(), middle, samples.end());
  return *middle;
}

/// What messages of a size took, a mean, by size.
struct Measured {
  Times ns;
  int64_t stepNs = 0;
};

/// By kind, by round.
using Samples = std::array<std::vector<Times>, kKindCount>;

/// Small messages in flight, all of one size.
struct SmallInFlight {
  size_t kind = 0;
  size_t size = 0;
  /// What each takes, and what its bytes take of that by themselves.
  double ns = 0;
  double bytesNs = 0;
};

/// Messages of the sizes that parts have, all in flight at once.
struct PartsInFlight {
  size_t kind = 0;
  int64_t bytes = 0;
  /// What they take on one stream and on several.
  double oneNs = 0;
  double severalNs = 0;
  /// Latency that several hide of each other.
  double hiddenNs = 0;
};

/// Everything that was measured along one axis.
struct AxisSamples {
  CalibratedAxis axis;
  /// Ranks that share a link, all of which were measured at the same time.
  int64_t sharers = 1;
  /// Whether ranks along it are on different hosts. Rounds of one machine's
  /// memory differ by where its threads are placed, which a training meets as
  /// well: their mean counts. Rounds on a network differ by who else uses it:
  /// their median counts.
  bool isNetwork = false;
  /// Of collectives, messages one behind the other on one stream: by
  /// themselves, and beside compute in long ops.
  Samples alone, beside;
  /// Of all rounds: the part of large messages' rate that they have beside
  /// compute in short ops (kShortOpNs) and in long ones (kLongOpNs).
  std::vector<double> besideShortOps, besideLongOps;
  std::vector<SmallInFlight> small;
  std::vector<PartsInFlight> parts;
};

/// An op of compute beside messages: so short that messages are disturbed all
/// the while, and so long that they are for a part of it.
inline constexpr int64_t kShortOpNs = 50'000, kLongOpNs = 300'000;

/// The part of large messages' rate that they have beside compute.
double rateBeside(const Measured &alone, const Measured &beside);

/// What a `bagua.axis` says, and the cluster's wake_ns.
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
  /// By kind; of collectives.
  std::array<Times, kCollectiveCount> tables;
};

/// Latency and rate are such that no time in the tables is shorter than a
/// latency and the traffic at that rate: the lower bound goes by these two. In
/// memory they are the most that no measured time contradicts. On a network the
/// rate is what parts in flight have together, the median of rounds, and the
/// latency half of what the smallest message takes by a collective in which
/// every member waits for all. Times below these two are raised to them: a
/// token bucket lets a small message through at once, and a message has the
/// link to itself while the ranks that share it happen to send nothing. Needs
/// at least one round of each collective alone, and of one collective beside
/// compute and in flight.
AxisFit fitAxis(const AxisSamples &samples);

/// The text of a `bagua.cluster`, outermost axis first; `work` are the rounds
/// of a rank's own work. `comment` is one line that says what was measured.
std::string printCluster(const std::string &comment,
                         const std::vector<AxisFit> &axes, const Samples &work);

} // namespace bagua::replay

#endif // BAGUA_LIB_REPLAY_CALIBRATIONFIT_H
