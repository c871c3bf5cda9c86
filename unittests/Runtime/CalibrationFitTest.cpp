//===- CalibrationFitTest.cpp - What a fit makes of measured times --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Times are made by a link whose latency, rate and gap are known, and spoiled
// as networks and machines spoil them: the fit has to find the link.
//
//===----------------------------------------------------------------------===//
#include "CalibrationFit.h"
#include "CalibrationPlan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace bagua::replay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr size_t kAllReduce = 1, kBroadcast = 2;

/// A link that all messages of the ranks which share it go over.
struct Link {
  int64_t ranks = 2;
  int64_t sharers = 1;
  double latencyNs = 100'000;
  double bytesPerS = 12'500'000;
  double gapNs = 20'000;
  size_t sizes = 6;

  double flowNs(size_t kind, int64_t bytes) const {
    return trafficOf(kind, ranks) * static_cast<double>(sharers * bytes) * 1e9 /
           bytesPerS;
  }
  /// By itself: there and back.
  Times alone(size_t kind) const {
    Times times;
    for (size_t size = 0; size < sizes; ++size)
      times.push_back(
          std::llround(2 * latencyNs + flowNs(kind, bytesOfSize(size))));
    return times;
  }

  /// Adds a round in which everything takes `factor` of its time.
  void addRound(AxisSamples &samples, double factor = 1) const {
    auto longer = [&](Times times) {
      for (int64_t &ns : times)
        ns = std::llround(static_cast<double>(ns) * factor);
      return times;
    };
    for (size_t kind = 0; kind < kCollectiveCount; ++kind)
      samples.alone[kind].push_back(longer(alone(kind)));
    samples.beside[kAllReduce].push_back(longer(alone(kAllReduce)));
    samples.besideShortOps.push_back(1);
    samples.besideLongOps.push_back(1);
    for (size_t size : {1, 2, 3, 4})
      samples.small.push_back(
          {kAllReduce, size,
           factor * (gapNs + flowNs(kAllReduce, bytesOfSize(size))),
           factor * flowNs(kAllReduce, bytesOfSize(size))});
    const double partsNs = factor * flowNs(kAllReduce, 64 << 20);
    samples.parts.push_back(
        {kAllReduce, 64 << 20, partsNs * 1.01, partsNs, partsNs * 0.01});
  }

  AxisSamples samples(bool isNetwork) const {
    AxisSamples result;
    result.axis = {isNetwork ? "host" : "rank", ranks};
    result.sharers = sharers;
    result.isNetwork = isNetwork;
    return result;
  }
};

/// The lower bound goes by latency and rate.
void expectNoTimeBelowTheBound(const AxisFit &fit) {
  for (size_t kind = 0; kind < kCollectiveCount; ++kind)
    for (size_t size = 0; size < fit.tables[kind].size(); ++size) {
      double flowNs = trafficOf(kind, fit.axis.size) *
                      static_cast<double>(fit.sharers * bytesOfSize(size)) *
                      1e9 / static_cast<double>(fit.bytesPerS);
      EXPECT_GE(static_cast<double>(fit.tables[kind][size]),
                static_cast<double>(fit.latencyNs) + flowNs - 1)
          << kindName(kind) << " of " << bytesOfSize(size);
    }
}

TEST(CalibrationFitTest, FindsTheLinkThatMadeTheTimes) {
  for (double rate : {1.25e6, 1.25e7, 1.25e9})
    for (int64_t ranks : {2, 3, 16}) {
      Link link;
      link.bytesPerS = rate;
      link.ranks = ranks;
      AxisSamples samples = link.samples(/*isNetwork=*/true);
      for (int round = 0; round < 3; ++round)
        link.addRound(samples);
      AxisFit fit = fitAxis(samples);
      EXPECT_NEAR(static_cast<double>(fit.bytesPerS), rate, rate * 1e-6);
      // The smallest message's bytes are in it.
      EXPECT_NEAR(static_cast<double>(fit.latencyNs),
                  link.latencyNs + link.flowNs(0, 1024) / 2, 2);
      EXPECT_NEAR(static_cast<double>(fit.gapNs), link.gapNs, 2);
      EXPECT_NEAR(fit.concurrentRate, 1, 1e-6);
      EXPECT_EQ(fit.overlappedRate, 1);
      expectNoTimeBelowTheBound(fit);
    }
}

/// All ranks of a host send by one card, whose rate the axis says.
TEST(CalibrationFitTest, ARateIsTheCardsAndNoShareOfIt) {
  Link link;
  link.sharers = 4;
  AxisSamples samples = link.samples(/*isNetwork=*/true);
  for (int round = 0; round < 3; ++round)
    link.addRound(samples);
  AxisFit fit = fitAxis(samples);
  EXPECT_NEAR(static_cast<double>(fit.bytesPerS), 12.5e6, 10);
  EXPECT_EQ(fit.sharers, 4);
  EXPECT_THAT(
      printCluster("", {fit},
                   Samples{{}, {}, {}, {}, {}, {{1}}, {{1}}, {{1}}, {{1}}}),
      HasSubstr("bytes_per_s = 12500000, sharers = 4, "));
}

/// Somebody else uses the network for a round.
TEST(CalibrationFitTest, ARoundThatIsDisturbedCountsForNothing) {
  Link link;
  AxisSamples samples = link.samples(/*isNetwork=*/true);
  link.addRound(samples);
  link.addRound(samples, 7);
  link.addRound(samples);
  AxisFit fit = fitAxis(samples);
  EXPECT_NEAR(static_cast<double>(fit.bytesPerS), 12.5e6, 10);
  EXPECT_EQ(fit.tables[kAllReduce], link.alone(kAllReduce));
}

/// A token bucket lets through at once what follows a pause, and where nobody
/// waits for a sender it counts a message as done that is on its way.
TEST(CalibrationFitTest, MessagesFasterThanTheNetworkAreRaisedToItsRate) {
  Link link;
  AxisSamples samples = link.samples(/*isNetwork=*/true);
  for (int round = 0; round < 3; ++round)
    link.addRound(samples);
  for (Times &times : samples.alone[kAllReduce])
    for (size_t size = 1; size < times.size(); ++size)
      times[size] /= 2;
  for (Times &times : samples.alone[kBroadcast])
    times.assign(times.size(), 1000);
  for (SmallInFlight &small : samples.small)
    small.bytesNs /= 3;
  AxisFit fit = fitAxis(samples);
  EXPECT_NEAR(static_cast<double>(fit.bytesPerS), 12.5e6, 10);
  EXPECT_NEAR(static_cast<double>(fit.latencyNs), link.latencyNs,
              link.flowNs(kAllReduce, 1024));
  EXPECT_NEAR(static_cast<double>(fit.gapNs), link.gapNs, 2);
  expectNoTimeBelowTheBound(fit);
}

/// In memory a rate is what no time contradicts, and rounds count by their
/// mean.
TEST(CalibrationFitTest, MemoryHasTheRateOfItsFastestMessage) {
  Link link;
  link.bytesPerS = 5e9;
  link.latencyNs = 2000;
  link.sizes = kSizeCount;
  AxisSamples samples = link.samples(/*isNetwork=*/false);
  link.addRound(samples);
  link.addRound(samples, 2);
  // One size is faster than the others.
  for (Times &times : samples.alone[kAllReduce])
    times[8] = times[8] * 2 / 3;
  AxisFit fit = fitAxis(samples);
  const Times once = link.alone(kAllReduce);
  EXPECT_NEAR(static_cast<double>(fit.tables[kAllReduce][8]),
              static_cast<double>(once[8]), 2);
  EXPECT_NEAR(static_cast<double>(fit.tables[kAllReduce][7]),
              1.5 * static_cast<double>(once[7]), 2);
  EXPECT_NEAR(static_cast<double>(fit.bytesPerS), 5e9, 5e6);
  expectNoTimeBelowTheBound(fit);
}

/// What several messages in flight have of the rate, and what compute leaves.
TEST(CalibrationFitTest, KeepsWhatStreamsAndComputeTake) {
  Link link;
  AxisSamples samples = link.samples(/*isNetwork=*/true);
  for (int round = 0; round < 3; ++round)
    link.addRound(samples);
  for (PartsInFlight &parts : samples.parts) {
    parts.oneNs = parts.severalNs;
    parts.hiddenNs = 0;
    parts.severalNs /= 0.8;
  }
  for (SmallInFlight &small : samples.small)
    small.ns /= 0.8;
  samples.besideShortOps.assign(3, 0.5);
  samples.besideLongOps.assign(3, 0.75);
  for (Times &times : samples.beside[kAllReduce])
    for (int64_t &ns : times)
      ns = 2 * ns + 50'000;
  AxisFit fit = fitAxis(samples);
  EXPECT_NEAR(fit.concurrentRate, 0.8, 1e-6);
  // One stream has all of it.
  EXPECT_NEAR(static_cast<double>(fit.bytesPerS), 12.5e6, 10);
  EXPECT_NEAR(static_cast<double>(fit.gapNs), link.gapNs, 2);
  EXPECT_EQ(fit.overlappedRate, 0.5);
  EXPECT_EQ(fit.overlappedNs, kLongOpNs / 2);
  // A message beside compute takes 50 us and twice its time alone. Bytes and
  // gap take twice their time because of the rate that compute leaves; what
  // remains is the waking: 50 us, and once what passes before bytes flow.
  double hiddenNs =
      2 * link.latencyNs + link.flowNs(kAllReduce, 1024) - link.gapNs;
  EXPECT_NEAR(static_cast<double>(fit.wakeNs), 50'000 + hiddenNs, 5);
}

TEST(CalibrationFitTest, AResultIsAtTheRootOrEverywhereElse) {
  CalibrationPlace place = {{{"host", 2}, {"rank", 3}}, 0};
  auto ranks = [&](size_t kind) {
    std::vector<int64_t> found;
    for (int64_t rank = 0; rank < 6; ++rank)
      if (getsResult(kind, place, rank))
        found.push_back(rank);
    return found;
  };
  EXPECT_THAT(ranks(kAllReduce), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(ranks(kBroadcast), ElementsAre(3, 4, 5));
  EXPECT_THAT(ranks(3), ElementsAre(0, 1, 2));
  place.axis = 1;
  EXPECT_THAT(ranks(kBroadcast), ElementsAre(1, 2, 4, 5));
  EXPECT_THAT(ranks(3), ElementsAre(0, 3));
}

/// Seconds of all steps of an axis at a rate that nothing else limits.
double secondsOf(const Effort &effort, double bytesPerS) {
  double mixed = 0, others = 0;
  for (size_t size = 0; size < effort.counts.size(); ++size)
    mixed += effort.counts[size] * static_cast<double>(bytesOfSize(size));
  for (size_t i = 0; i < effort.smallCounts.size(); ++i)
    others += effort.smallCounts[i] * static_cast<double>(bytesOfSize(i + 1));
  for (auto [size, count] : effort.parts)
    others += 2.0 * count * static_cast<double>(bytesOfSize(size));
  // Beside compute, twice, a message takes that compute's time, too.
  double bytes = (kCollectiveCount + 2 * 3) * mixed + others;
  return static_cast<double>(effort.rounds * (effort.steps + 1)) * bytes /
         bytesPerS;
}

TEST(CalibrationFitTest, AnAxisTakesAboutAMinuteAtAnyRate) {
  for (double rate = 2.5e6; rate < 1e12; rate *= 1.3) {
    Effort effort = effortAt(rate);
    EXPECT_LT(secondsOf(effort, rate), 90) << rate;
    EXPECT_GE(effort.counts.size(), 5u);
    EXPECT_LE(effort.counts.size(), kSizeCount);
    for (auto [size, count] : effort.parts)
      EXPECT_LT(size, effort.counts.size());
    EXPECT_EQ(mixSizes(effort.counts, 1).size(),
              mixSizes(effort.counts, 2).size());
  }
  // Up to the largest where the links carry it.
  EXPECT_EQ(effortAt(1e9).counts.size(), kSizeCount);
}

} // namespace
} // namespace bagua::replay
