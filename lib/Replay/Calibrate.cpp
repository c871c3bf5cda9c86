//===- Calibrate.cpp - Measures a cluster's links and work ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Replays plans with messages of all sizes. The program sleeps and wakes up as
// a training step's does, which delays messages if cores are few.
//
//===----------------------------------------------------------------------===//
#include "bagua/Replay/Calibrate.h"

#include "CalibrationFit.h"
#include "CalibrationPlan.h"
#include "bagua/Replay/Replay.h"

#include "bagua/Support/TraceWriter.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

namespace bagua::replay {
namespace {

/// Rounds for a rank's own work, in which nobody waits for others.
constexpr int kWorkRounds = 2;
/// The compute after a message was given, as a multiple of the message's time
/// alone, so that the compute lasts until the message is done.
constexpr double kComputeShare = 2;
/// The number of streams of strategies with credit.
constexpr int kStreams = 4;
constexpr size_t kAllReduce = 1;
/// The collectives of rounds that take turns: all_reduce, reduce_scatter,
/// all_gather.
constexpr std::array<size_t, 3> kTurns = {kAllReduce, 4, 0};

/// The steps to run, with messages of these sizes.
struct StepsToRun {
  size_t kind;
  const CalibrationPlace &place;
  const std::vector<size_t> &sizes;
  int64_t count;
};

/// Runs such steps by their plan. The result is the same on all ranks.
using Run = std::function<absl::StatusOr<Measured>(
    const std::shared_ptr<const Plan> &plan, const StepsToRun &steps)>;

/// The time of a message on a rank: for each size the mean over messages, of
/// which each counts with the median of all steps but the first. A message's
/// time is from when it was given, or from the end of the message before it, to
/// its own end.
Times timesOf(const std::vector<TraceWriter::Event> &events,
              const StepsToRun &steps, int rank) {
  const std::vector<size_t> &sizes = steps.sizes;
  std::vector<int64_t> gifts, ends;
  for (const TraceWriter::Event &event : events) {
    if (event.process != rank)
      continue;
    if (event.thread != 0)
      ends.push_back(event.startNs + event.durationNs);
    else if (absl::StartsWith(event.name, "give "))
      gifts.push_back(event.startNs);
  }
  const size_t sizeCount = *std::max_element(sizes.begin(), sizes.end()) + 1;
  std::vector<int> counts(sizeCount);
  for (size_t size : sizes)
    ++counts[size];
  std::vector<std::vector<int64_t>> samples(sizeCount);
  for (size_t step = 1; step <= static_cast<size_t>(steps.count); ++step) {
    Times sums(sizeCount);
    for (size_t i = 0; i < sizes.size(); ++i) {
      size_t at = step * sizes.size() + i;
      sums[sizes[i]] += ends[at] - std::max(ends[at - 1], gifts[at]);
    }
    for (size_t size = 0; size < sizeCount; ++size)
      samples[size].push_back(sums[size] / std::max(counts[size], 1));
  }
  Times times;
  for (const std::vector<int64_t> &ofSize : samples)
    times.push_back(medianOf(ofSize));
  return times;
}

ReplayOptions replayOptions(int64_t steps, std::chrono::nanoseconds timeout,
                            TraceWriter &trace) {
  ReplayOptions options;
  options.timeout = timeout;
  options.steps = steps;
  options.trace = &trace;
  options.checksMemory = true;
  return options;
}

/// Runs ranks as threads; the times of rank 0 count.
Run onThreads(std::chrono::nanoseconds timeout) {
  return [timeout](const std::shared_ptr<const Plan> &plan,
                   const StepsToRun &steps) -> absl::StatusOr<Measured> {
    TraceWriter trace;
    auto result = replayPlan(plan, replayOptions(steps.count, timeout, trace));
    if (!result.ok())
      return result.status();
    return Measured{timesOf(trace.sortedEvents(), steps, 0),
                    medianOf(result->stepNs)};
  };
}

/// Runs the ranks of a world. A message's time is that of the rank that gets
/// its result last.
Run onWorld(const std::shared_ptr<runtime::World> &world,
            const std::shared_ptr<runtime::Communicator> &all,
            std::chrono::nanoseconds timeout) {
  return [=](const std::shared_ptr<const Plan> &plan,
             const StepsToRun &steps) -> absl::StatusOr<Measured> {
    TraceWriter trace;
    auto result =
        replayRank(plan, world, replayOptions(steps.count, timeout, trace));
    if (!result.ok())
      return result.status();
    Times longest = timesOf(trace.sortedEvents(), steps, world->rank());
    if (!getsResult(steps.kind, steps.place, world->rank()))
      longest.assign(longest.size(), 0);
    // Rank 0 has the steps of all ranks.
    longest.push_back(*result ? medianOf((*result)->stepNs) : 0);
    absl::Status status = all->allReduce(longest.data(), longest.data(),
                                         static_cast<int64_t>(longest.size()),
                                         DataType::Int64, ReduceKind::Max);
    if (!status.ok())
      return status;
    Measured measured;
    measured.stepNs = longest.back();
    longest.pop_back();
    measured.ns = std::move(longest);
    return measured;
  };
}

absl::StatusOr<Measured> measure(const Run &run, size_t kind,
                                 const CalibrationPlace &place,
                                 const std::vector<size_t> &sizes,
                                 const Surroundings &beside, int64_t steps) {
  auto plan = makeCalibrationPlan(kind, place, sizes, beside);
  if (!plan.ok())
    return plan.status();
  return run(*plan, {kind, place, sizes, steps});
}

/// Measures all collectives along an axis in turn. For each collective all
/// measurements are made together, so that changes of the machine affect all.
class AxisCalibration {
public:
  AxisCalibration(Run measures, CalibrationPlace where, Effort howMuch,
                  AxisSamples about)
      : run(std::move(measures)), place(std::move(where)),
        effort(std::move(howMuch)), samples(std::move(about)) {}

  int rounds() const { return effort.rounds; }
  absl::Status addRound(int round);
  AxisFit fit() const { return fitAxis(samples); }

private:
  absl::StatusOr<Measured> measureMixed(size_t kind, int round,
                                        const Surroundings &beside) {
    return measure(run, kind, place, mixSizes(effort.counts, round), beside,
                   effort.steps);
  }
  absl::Status addMessagesBeside(size_t kind, int round, const Measured &alone);
  absl::Status addMessagesInFlight(size_t kind, const Times &alone);

  const Run run;
  const CalibrationPlace place;
  const Effort effort;
  AxisSamples samples;
};

absl::Status AxisCalibration::addRound(int round) {
  for (size_t kind = 0; kind < kCollectiveCount; ++kind) {
    auto alone = measureMixed(kind, round, {});
    if (!alone.ok())
      return alone.status();
    samples.alone[kind].push_back(alone->ns);
    if (effort.takesTurns && kTurns[round % kTurns.size()] != kind)
      continue;
    absl::Status status = addMessagesBeside(kind, round, *alone);
    if (status.ok())
      status = addMessagesInFlight(kind, alone->ns);
    if (!status.ok())
      return status;
  }
  return absl::OkStatus();
}

absl::Status AxisCalibration::addMessagesBeside(size_t kind, int round,
                                                const Measured &alone) {
  auto measureBeside = [&](int64_t opNs) {
    Surroundings beside;
    beside.opNs = opNs;
    for (int64_t ns : alone.ns)
      beside.computeNs.push_back(
          std::llround(kComputeShare * static_cast<double>(ns)));
    return measureMixed(kind, round, beside);
  };
  auto shortOps = measureBeside(kShortOpNs);
  if (!shortOps.ok())
    return shortOps.status();
  samples.besideShortOps.push_back(rateBeside(alone, *shortOps));
  auto longOps = measureBeside(kLongOpNs);
  if (!longOps.ok())
    return longOps.status();
  samples.besideLongOps.push_back(rateBeside(alone, *longOps));
  samples.beside[kind].push_back(longOps->ns);
  return absl::OkStatus();
}

/// The program gives all messages, then takes all of them back, as it does with
/// gradients in the next step's forward.
absl::Status AxisCalibration::addMessagesInFlight(size_t kind,
                                                  const Times &alone) {
  Surroundings together;
  together.streams = kStreams;
  double gapNs = 0;
  const std::vector<int> &counts = effort.smallCounts;
  for (size_t i = 0; i < counts.size(); ++i) {
    const size_t size = i + 1;
    std::vector<size_t> small(counts[i], size);
    auto several = measure(run, kind, place, small, together, effort.steps);
    if (!several.ok())
      return several.status();
    const SmallInFlight found = {
        kind, size, static_cast<double>(several->stepNs) / counts[i],
        static_cast<double>(alone[size] - alone.front())};
    samples.small.push_back(found);
    gapNs += (found.ns - found.bytesNs) / static_cast<double>(counts.size());
  }
  PartsInFlight parts;
  parts.kind = kind;
  std::vector<size_t> sizes;
  for (auto [size, count] : effort.parts) {
    sizes.insert(sizes.end(), count, size);
    parts.bytes += count * bytesOfSize(size);
  }
  auto several = measure(run, kind, place, sizes, together, effort.steps);
  if (!several.ok())
    return several.status();
  together.streams = 1;
  auto one = measure(run, kind, place, sizes, together, effort.steps);
  if (!one.ok())
    return one.status();
  parts.oneNs = static_cast<double>(one->stepNs);
  parts.severalNs = static_cast<double>(several->stepNs);
  // With several messages in flight, one hides the latency of the next.
  parts.hiddenNs =
      static_cast<double>(sizes.size()) *
      std::max(0.0, static_cast<double>(alone.front()) - std::max(0.0, gapNs));
  samples.parts.push_back(parts);
  return absl::OkStatus();
}

/// A rank's own work shares time with compute, so it is measured alone.
absl::Status addWork(const Run &run, const CalibrationPlace &place,
                     const Effort &effort, int round, Samples &work) {
  for (size_t kind = kCollectiveCount; kind < kindCount(); ++kind) {
    auto measured = measure(run, kind, place, mixSizes(effort.counts, round),
                            {}, effort.steps);
    if (!measured.ok())
      return measured.status();
    work[kind].push_back(measured->ns);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> measureAll(const Run &run,
                                       std::vector<AxisCalibration> axes,
                                       const CalibrationPlace &place,
                                       const Effort &workEffort,
                                       const std::string &comment) {
  int rounds = kWorkRounds;
  for (const AxisCalibration &axis : axes)
    rounds = std::max(rounds, axis.rounds());
  Samples work(kindCount());
  for (int round = 0; round < rounds; ++round) {
    for (AxisCalibration &axis : axes)
      if (round < axis.rounds())
        if (absl::Status status = axis.addRound(round); !status.ok())
          return status;
    if (round < kWorkRounds)
      if (absl::Status status = addWork(run, place, workEffort, round, work);
          !status.ok())
        return status;
  }
  std::vector<AxisFit> fits;
  fits.reserve(axes.size());
  for (const AxisCalibration &axis : axes)
    fits.push_back(axis.fit());
  return printCluster(comment, fits, work);
}

//===----------------------------------------------------------------------===//
// Ranks of several processes
//===----------------------------------------------------------------------===//

/// The axes, outermost first, from the host of each rank; ranks are numbered
/// host by host.
absl::StatusOr<std::vector<CalibratedAxis>>
axesOf(const std::vector<int> &hosts) {
  const int hostCount = *std::max_element(hosts.begin(), hosts.end()) + 1;
  std::vector<int64_t> ranks(hostCount);
  for (int host : hosts)
    ++ranks[host];
  for (int host = 1; host < hostCount; ++host)
    if (ranks[host] != ranks[0])
      return absl::FailedPreconditionError(absl::StrCat(
          "--calibrate: expected as many ranks on each host, found ", ranks[0],
          " on host 0 and ", ranks[host], " on host ", host));
  std::vector<CalibratedAxis> axes;
  if (hostCount > 1)
    axes.push_back({"host", hostCount});
  if (ranks[0] > 1)
    axes.push_back({"rank", ranks[0]});
  return axes;
}

/// Sends larger and larger messages, until one takes longer than the bursts
/// that a network lets through at once.
absl::StatusOr<double> probeBytesPerS(const Run &run,
                                      const CalibrationPlace &place) {
  constexpr int64_t kLongNs = 100'000'000;
  constexpr int64_t kSteps = 3;
  for (size_t size = 3;; ++size) {
    auto measured = measure(run, kAllReduce, place, {size}, {}, kSteps);
    if (!measured.ok())
      return measured.status();
    if (measured->stepNs >= kLongNs || size + 1 == kSizeCount)
      return static_cast<double>(bytesOfSize(size)) * 1e9 /
             static_cast<double>(std::max<int64_t>(1, measured->stepNs));
  }
}

/// Chosen so that updates have at most 16 MiB: ranks that share a host's memory
/// have six tensors of each size.
constexpr double kWorkBytesPerS = 5e8;

absl::StatusOr<std::string>
measureWorld(const std::shared_ptr<runtime::World> &world,
             std::chrono::nanoseconds timeout,
             const std::function<void(const std::string &)> &onStart) {
  if (world->size() < 2)
    return absl::InvalidArgumentError(
        absl::StrCat("--calibrate measures links between ranks: expected at "
                     "least 2, found ",
                     world->size()));
  const auto axes = axesOf(world->hosts());
  if (!axes.ok())
    return axes.status();
  const std::string processes =
      absl::StrCat(world->size(), " processes of ", world->hostCount(),
                   world->hostCount() > 1 ? " hosts" : " host");
  onStart(absl::StrCat("measures the links between ", processes,
                       ", in one or two minutes"));
  std::vector<int> members(world->size());
  std::iota(members.begin(), members.end(), 0);
  auto all = world->createCommunicator(
      members, absl::StrCat("calibration", world->nextNumber()));
  if (!all.ok())
    return all.status();
  const Run run = onWorld(world, *std::move(all), timeout);
  std::vector<AxisCalibration> calibrations;
  for (size_t axis = 0; axis < axes->size(); ++axis) {
    const CalibrationPlace place = {*axes, axis};
    auto rate = probeBytesPerS(run, place);
    if (!rate.ok())
      return rate.status();
    AxisSamples about;
    about.axis = axes->at(axis);
    about.isNetwork = about.axis.name == "host";
    // All ranks of a host share its network card.
    about.sharers = about.isNetwork ? world->size() / about.axis.size : 1;
    calibrations.emplace_back(run, place, effortAt(*rate), std::move(about));
  }
  return measureAll(
      run, std::move(calibrations), {*axes, 0}, effortAt(kWorkBytesPerS),
      absl::StrCat(processes, ", measured by bagua-run --calibrate."));
}

} // namespace

absl::StatusOr<std::string> calibrate(int ranks,
                                      std::chrono::nanoseconds timeout) {
  if (ranks < 2)
    return absl::InvalidArgumentError(
        absl::StrCat("--calibrate needs --ranks of at least 2, found ", ranks));
  const CalibrationPlace place = {{{"rank", ranks}}, 0};
  AxisSamples about;
  about.axis = place.axes[0];
  const Run run = onThreads(timeout);
  std::vector<AxisCalibration> axes;
  axes.emplace_back(run, place, fullEffort(), std::move(about));
  return measureAll(run, std::move(axes), place, fullEffort(),
                    "In-process ranks of one machine, measured by bagua-run "
                    "--calibrate.");
}

absl::StatusOr<std::string>
calibrateWorld(const std::shared_ptr<runtime::World> &world,
               std::chrono::nanoseconds timeout,
               const std::function<void(const std::string &)> &onStart) {
  absl::StatusOr<std::string> text = measureWorld(world, timeout, onStart);
  if (!text.ok())
    world->abort(text.status());
  return text;
}

} // namespace bagua::replay
