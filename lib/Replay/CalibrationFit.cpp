//===- CalibrationFit.cpp - From measured times to a cluster --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One function for each number of an axis.
//
//===----------------------------------------------------------------------===//
#include "CalibrationFit.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

#include <algorithm>
#include <cmath>

namespace bagua::replay {
namespace {

/// The times of each kind.
using Tables = std::vector<Times>;

/// The median, as a fraction.
double partOf(const std::vector<double> &samples) {
  return std::clamp(medianOf(samples), 0.001, 1.0);
}

/// The times of one kind over all rounds. Empty if no round measured it.
Times combine(const std::vector<Times> &rounds, bool byMedian) {
  if (rounds.empty())
    return {};
  Times times;
  for (size_t size = 0; size < rounds[0].size(); ++size) {
    std::vector<int64_t> samples;
    int64_t sum = 0;
    for (const Times &round : rounds) {
      samples.push_back(round[size]);
      sum += round[size];
    }
    times.push_back(byMedian ? medianOf(samples)
                             : sum / static_cast<int64_t>(rounds.size()));
  }
  return times;
}

/// Raises times so that a message in four parts, one after the other, takes at
/// least as long as in one piece. Measurements may say otherwise, by chance or
/// since small messages stay in caches; then all messages would be cut, and
/// plans would not run faster.
void raiseParts(Times &ns) {
  for (size_t size = ns.size() - 1; size-- > 0;)
    ns[size] = std::max(ns[size], (ns[size + 1] + 3) / 4);
}

/// The bytes of all ranks that share the link.
double bytesOverLink(const AxisSamples &samples, size_t kind, int64_t bytes) {
  return trafficOf(kind, samples.axis.size) *
         static_cast<double>(samples.sharers * bytes);
}

/// How long an op disturbs messages, assuming that it does so during all of a
/// short op; 0 if it does so during all of a long op, too.
int64_t overlappedNs(double besideShortOps, double besideLongOps) {
  double part =
      besideShortOps < 1 ? (1 - besideLongOps) / (1 - besideShortOps) : 1;
  return part < 1 ? std::max<int64_t>(1, std::llround(part * kLongOpNs)) : 0;
}

double concurrentRate(const AxisSamples &samples) {
  std::vector<double> rates;
  rates.reserve(samples.parts.size());
  for (const PartsInFlight &parts : samples.parts)
    rates.push_back((parts.oneNs - parts.hiddenNs) / parts.severalNs);
  return partOf(rates);
}

/// A gap passes at the rate of messages in flight, as bytes do. On a
/// network the rate of the axis applies to the bytes, however fast a single
/// message is.
int64_t gapNs(const AxisSamples &samples, double concurrentRate,
              int64_t bytesPerS) {
  std::vector<double> gaps;
  for (const SmallInFlight &small : samples.small) {
    double flowNs = samples.isNetwork ? bytesOverLink(samples, small.kind,
                                                      bytesOfSize(small.size)) *
                                            1e9 / static_cast<double>(bytesPerS)
                                      : 0;
    gaps.push_back(concurrentRate * small.ns - std::max(small.bytesNs, flowNs));
  }
  return std::max<int64_t>(0, std::llround(medianOf(gaps)));
}

/// The time that small messages take longer beside compute than one after the
/// other, without what compute takes of their rate: between the ops of a step
/// their stream has fallen asleep.
int64_t wakeNs(const Tables &alone, const Tables &beside, double rate,
               int64_t gapNs) {
  double sum = 0;
  int count = 0;
  for (size_t kind = 0; kind < kCollectiveCount; ++kind)
    for (size_t size = 0; size < firstLargeSize(alone[kind].size()) &&
                          size < beside[kind].size();
         ++size) {
      auto latencyNs = static_cast<double>(
          std::max<int64_t>(0, alone[kind].front() - gapNs));
      auto flowsNs = static_cast<double>(alone[kind][size]) - latencyNs;
      sum +=
          static_cast<double>(beside[kind][size]) - latencyNs - flowsNs / rate;
      ++count;
    }
  return std::max<int64_t>(0, std::llround(sum / count));
}

/// Half the shortest time, since a collective takes up to two latencies.
int64_t latencyNs(const AxisSamples &samples, const Tables &alone) {
  int64_t least = INT64_MAX;
  for (size_t kind = 0; kind < kCollectiveCount; ++kind)
    if (!samples.isNetwork || !isRooted(kind))
      least = std::min(
          least, *std::min_element(alone[kind].begin(), alone[kind].end()));
  return least / 2;
}

int64_t bytesPerSInMemory(const AxisSamples &samples, const Tables &alone,
                          int64_t latencyNs) {
  double rate = 1;
  for (size_t kind = 0; kind < kCollectiveCount; ++kind)
    for (size_t size = 0; size < alone[kind].size(); ++size)
      rate = std::max(rate,
                      bytesOverLink(samples, kind, bytesOfSize(size)) * 1e9 /
                          static_cast<double>(alone[kind][size] - latencyNs));
  return std::llround(std::ceil(rate));
}

int64_t bytesPerSOnNetwork(const AxisSamples &samples) {
  std::vector<double> rates;
  rates.reserve(samples.parts.size());
  for (const PartsInFlight &parts : samples.parts)
    rates.push_back(bytesOverLink(samples, parts.kind, parts.bytes) * 1e9 /
                    std::min(parts.oneNs, parts.severalNs));
  return std::max<int64_t>(1, std::llround(medianOf(rates)));
}

/// `    all_reduce = array<i64: bytes, ns, ...>`; bytes are `times` those of a
/// message.
std::string printTable(size_t kind, int64_t times, const Times &ns) {
  std::vector<int64_t> numbers;
  for (size_t size = 0; size < ns.size(); ++size) {
    numbers.push_back(times * bytesOfSize(size));
    numbers.push_back(ns[size]);
  }
  return absl::StrCat("    ", kindName(kind),
                      " = array<i64: ", absl::StrJoin(numbers, ", "), ">");
}

std::string printAxis(const AxisFit &fit) {
  std::vector<std::string> tables;
  tables.reserve(kCollectiveCount);
  for (size_t kind = 0; kind < kCollectiveCount; ++kind)
    tables.push_back(printTable(kind, 1, fit.tables[kind]));
  return absl::StrCat(
      "#bagua.axis<\"", fit.axis.name, "\", size = ", fit.axis.size,
      ", latency_ns = ", fit.latencyNs, ", bytes_per_s = ", fit.bytesPerS,
      fit.sharers > 1 ? absl::StrCat(", sharers = ", fit.sharers) : "",
      ", overlapped_rate = ", absl::StrFormat("%.3f", fit.overlappedRate),
      ", overlapped_ns = ", fit.overlappedNs,
      ", concurrent_rate = ", absl::StrFormat("%.3f", fit.concurrentRate),
      ", gap_ns = ", fit.gapNs, ", table = {\n", absl::StrJoin(tables, ",\n"),
      "}>");
}

} // namespace

double rateBeside(const Measured &alone, const Measured &beside) {
  const size_t first = firstLargeSize(alone.ns.size());
  double sum = 0;
  for (size_t size = first; size < alone.ns.size(); ++size)
    sum += static_cast<double>(alone.ns[size]) /
           static_cast<double>(beside.ns[size]);
  return sum / static_cast<double>(alone.ns.size() - first);
}

AxisFit fitAxis(const AxisSamples &samples) {
  Tables alone(kindCount()), beside(kindCount());
  for (size_t kind = 0; kind < kCollectiveCount; ++kind) {
    alone[kind] = combine(samples.alone[kind], samples.isNetwork);
    beside[kind] = combine(samples.beside[kind], samples.isNetwork);
    raiseParts(alone[kind]);
  }
  AxisFit fit;
  fit.axis = samples.axis;
  fit.sharers = samples.sharers;
  fit.overlappedRate = partOf(samples.besideShortOps);
  fit.overlappedNs =
      overlappedNs(fit.overlappedRate, partOf(samples.besideLongOps));
  fit.concurrentRate = concurrentRate(samples);
  fit.latencyNs = latencyNs(samples, alone);
  fit.bytesPerS = samples.isNetwork
                      ? bytesPerSOnNetwork(samples)
                      : bytesPerSInMemory(samples, alone, fit.latencyNs);
  fit.gapNs = gapNs(samples, fit.concurrentRate, fit.bytesPerS);
  fit.wakeNs = wakeNs(alone, beside, fit.overlappedRate, fit.gapNs);
  for (size_t kind = 0; kind < kCollectiveCount; ++kind) {
    fit.tables[kind] = alone[kind];
    for (size_t size = 0; samples.isNetwork && size < alone[kind].size();
         ++size) {
      double flowNs = bytesOverLink(samples, kind, bytesOfSize(size)) * 1e9 /
                      static_cast<double>(fit.bytesPerS);
      fit.tables[kind][size] = std::max<int64_t>(
          alone[kind][size], fit.latencyNs + std::llround(flowNs));
    }
  }
  return fit;
}

std::string printCluster(const std::string &comment,
                         const std::vector<AxisFit> &axes,
                         const Samples &work) {
  std::vector<std::string> axisTexts, workTexts;
  for (const AxisFit &axis : axes)
    axisTexts.push_back(printAxis(axis));
  for (size_t kind = kCollectiveCount; kind < kindCount(); ++kind) {
    Times ns = combine(work[kind], /*byMedian=*/false);
    raiseParts(ns);
    workTexts.push_back(printTable(kind, movedBy(kind), ns));
  }
  // How a stream wakes up depends on its host's cores, whatever it waits for.
  // The innermost axis has the steadiest times.
  return absl::StrCat("// ", comment, "\nbagua.cluster @calibrated axes [",
                      absl::StrJoin(axisTexts, ",\n"), "] host #bagua.host<{\n",
                      absl::StrJoin(workTexts, ",\n"), "}> wake_ns ",
                      axes.back().wakeNs, "\n");
}

} // namespace bagua::replay
