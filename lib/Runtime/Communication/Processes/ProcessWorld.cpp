//===- ProcessWorld.cpp - Ranks that are processes ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How a process joins its run: it meets the others, connects to rank 0, and
// shares memory with the ranks of its host.
//
//===----------------------------------------------------------------------===//
#include "bagua/Runtime/Processes.h"

#include "Communication/Backends.h"
#include "Communication/DurationToString.h"
#include "Communication/Processes/ProcessRun.h"
#include "Communication/Rendezvous/Joining.h"
#include "Communication/Secret.h"
#include "Communication/Timeout.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <fstream>
#include <numeric>
#include <sys/stat.h>
#include <utility>

namespace bagua::runtime {
namespace {

/// Identifies the ranks that can share memory and reach each other's sockets by
/// name: the kernel they run on, and the network namespace.
std::string ownHost() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string boot;
  std::getline(file, boot);
  struct stat network = {};
  stat("/proc/self/ns/net", &network);
  return absl::StrCat(boot, " ", network.st_ino);
}

class ProcessWorld final : public World {
public:
  explicit ProcessWorld(const std::shared_ptr<ProcessRun> &shared)
      : run(shared), opened(shared) {}
  ~ProcessWorld() override;

  int rank() const override { return run->rank; }
  int size() const override { return run->state->size; }
  std::vector<int> hosts() const override { return run->hosts; }
  int startedAs(int rank) const override { return run->started[rank]; }
  std::chrono::nanoseconds timeout() const override {
    return run->state->timeout;
  }

  Backend *backend(absl::string_view name) override {
    return opened.find(name);
  }
  std::vector<std::string> backends() const override { return opened.names(); }
  Backend &control() override { return opened.control(); }

  WorkWatch *workWatch() override { return run->watch.get(); }
  void note(const std::string &what) override {
    run->state->note(run->rank, what);
    run->control->note(what);
  }
  void limitStay() override { run->control->limitStay(); }
  void abort(const absl::Status &why) override {
    run->state->abortBy(run->rank, why);
  }
  absl::Status status() const override { return run->state->status(); }
  void onAbort(const void *owner, std::function<void()> handler) override {
    run->state->onAbort(run->rank, owner, std::move(handler));
  }

private:
  const std::shared_ptr<ProcessRun> run;
  const Backends opened;
};

ProcessWorld::~ProcessWorld() {
  if (!run->process.isThis()) {
    // The run belongs to the parent, with its threads and connections, so it is
    // leaked here.
    (void)new std::shared_ptr<ProcessRun>(run);
    return;
  }
  run->state->leave(run->rank);
  run->control->leave();
}

//===----------------------------------------------------------------------===//
// Connecting
//===----------------------------------------------------------------------===//

std::vector<int> firstNumbers(size_t count) {
  std::vector<int> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

/// Renumbers all ranks host by host; returns the former numbers by new ones.
/// Rank 0 keeps its number, and so does the order within each host.
std::vector<int> orderByHost(Joined &joined, std::vector<int> &hosts,
                             int rank) {
  std::vector<int> order = firstNumbers(hosts.size());
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return hosts[a] < hosts[b]; });
  // Rank 0 has a channel to each other rank; the others have one, to rank 0.
  if (rank == 0) {
    std::vector<ControlChannel> channels(order.size());
    for (size_t i = 0; i < order.size(); ++i)
      channels[i] = std::move(joined.channels[order[i]]);
    joined.channels = std::move(channels);
  }
  std::sort(hosts.begin(), hosts.end());
  return order;
}

/// The ranks on the host of `rank`.
std::vector<int> neighboursOf(const std::vector<int> &hosts, int rank) {
  std::vector<int> neighbours;
  for (size_t i = 0; i < hosts.size(); ++i)
    if (hosts[i] == hosts[rank])
      neighbours.push_back(static_cast<int>(i));
  return neighbours;
}

/// The memory that ranks of this host share, which the first of them creates.
absl::StatusOr<std::shared_ptr<SharedRegion>>
shareMemory(const ProcessRun &run, size_t partBytes, Deadline deadline) {
  const std::vector<int> neighbours = neighboursOf(run.hosts, run.rank);
  auto isOver = [&] { return !run.state->status().ok(); };
  auto count = static_cast<int>(neighbours.size());
  // One run may have several hosts on one kernel.
  const std::string name = absl::StrCat(
      "bagua-",
      derive(run.secret, absl::StrCat("memory of rank ", neighbours.front())));
  if (run.rank == neighbours.front()) {
    auto region = SharedRegion::create(count, partBytes);
    if (!region.ok())
      return region.status();
    absl::Status given = giveDescriptor(name, (*region)->descriptor(),
                                        count - 1, deadline, isOver);
    if (!given.ok())
      return given;
    return region;
  }
  auto file = takeDescriptor(name, deadline, isOver);
  if (!file.ok())
    return file.status();
  auto place = std::find(neighbours.begin(), neighbours.end(), run.rank);
  return SharedRegion::open(*std::move(file), count, partBytes,
                            static_cast<int>(place - neighbours.begin()));
}

/// The address by which other hosts reach this rank: the one by which it
/// reaches rank 0. A rank on rank 0's host may reach rank 0 over loopback.
std::string ownInterface(const Joined &joined, const std::vector<int> &hosts,
                         int rank) {
  if (hosts[rank] == hosts[0] || joined.channels.empty())
    return joined.reachedAt;
  auto address = addressOf(joined.channels[0].socket());
  return address.ok() ? address->host : std::string();
}

/// Where rank 0 listens, as far as this rank must know.
absl::StatusOr<TcpAddress> meetingPlace(const ProcessOptions &options) {
  if (!options.store || !options.address.empty())
    return parseTcpAddress(options.address);
  if (options.interface.empty() || options.rank != 0)
    return TcpAddress{"127.0.0.1", 0};
  auto host = addressOfInterface(options.interface);
  if (!host.ok())
    return host.status();
  return TcpAddress{*std::move(host), 0};
}

ControlEvents eventsOf(const std::shared_ptr<RunState> &state,
                       const std::shared_ptr<WorkWatch> &watch) {
  ControlEvents events;
  events.onAbort = [state](const absl::Status &why) {
    state->abortFromAfar(why);
  };
  events.onNote = [state](int rank, const std::string &what) {
    state->note(rank, what);
  };
  events.onLeave = [state](int rank) { state->leave(rank); };
  events.onLoss = [state](int rank, const absl::Status &why) {
    state->lose(rank, why);
  };
  events.findHanging = [watch](std::chrono::nanoseconds limit) {
    std::string what =
        watch->findStuck(std::chrono::steady_clock::now(), limit);
    return what.empty()
               ? what
               : absl::StrCat(what, " hangs: its thread has not run for ",
                              durationToString(limit));
  };
  events.isWaiting = [state] { return state->isWaiting(); };
  return events;
}

absl::Status checkOptions(const ProcessOptions &options) {
  if (options.size < 1 || options.rank < 0 || options.rank >= options.size)
    return absl::InvalidArgumentError(absl::StrCat(
        "expected a rank in [0, ", options.size, "), found ", options.rank));
  if (options.size > kMostRanks)
    return absl::InvalidArgumentError(absl::StrCat(
        "expected at most ", kMostRanks, " ranks, found ", options.size));
  if (options.host.size() > kMostName)
    return absl::InvalidArgumentError(
        absl::StrCat("host: expected a name of at most ", kMostName,
                     " bytes, found ", options.host.size()));
  if (options.patience < std::chrono::milliseconds(100) ||
      options.patience > std::chrono::hours(24))
    return absl::InvalidArgumentError(absl::StrCat(
        "patience: expected at least 100 ms and at most a day, found ",
        durationToString(options.patience)));
  for (std::chrono::nanoseconds limit :
       {options.timeout, options.communicatorTimeout})
    if (absl::Status status = checkTimeout(limit); !status.ok())
      return status;
  return absl::OkStatus();
}

absl::StatusOr<Joined> joinOthers(const ProcessOptions &options) {
  if (absl::Status status = checkOptions(options); !status.ok())
    return status;
  JoinOptions join;
  join.rank = options.rank;
  join.size = options.size;
  join.network = ownHost();
  join.host = options.host.empty() ? join.network : options.host;
  join.store = options.store.get();
  join.run = options.run;
  join.patience = options.patience;
  join.timeout = options.timeout;
  auto address = meetingPlace(options);
  if (!address.ok())
    return address.status();
  join.address = *std::move(address);
  return joinRun(join);
}

} // namespace

absl::StatusOr<std::unique_ptr<World>>
connectProcesses(const ProcessOptions &options) {
  const auto begin = std::chrono::steady_clock::now();
  absl::StatusOr<Joined> joined = joinOthers(options);
  if (!joined.ok() && options.rank == 0 && options.store)
    leaveFailure(*options.store, joined.status());
  if (!joined.ok())
    return joined.status();
  auto run = std::make_shared<ProcessRun>();
  run->hosts = std::move(joined->hosts);
  run->started = options.ordersByHost
                     ? orderByHost(*joined, run->hosts, options.rank)
                     : firstNumbers(run->hosts.size());
  run->rank = placeIn(run->started, options.rank);
  run->secret = joined->secret;
  std::string interface = options.interface.empty()
                              ? ownInterface(*joined, run->hosts, run->rank)
                              : options.interface;
  run->control = std::make_shared<ControlPlane>(
      run->rank, options.size, std::move(joined->channels), options.patience);
  run->state = std::make_shared<RunState>(
      options.size,
      static_cast<int>(neighboursOf(run->hosts, run->rank).size()),
      options.communicatorTimeout,
      [control = run->control](const absl::Status &why) {
        control->abort(why);
      });
  run->network = std::make_unique<HostNetwork>(
      run->rank, run->state, run->control, interface, options.patience);
  if (absl::Status started =
          run->control->start(eventsOf(run->state, run->watch));
      !started.ok())
    return started;
  auto region = shareMemory(*run, options.sharedBytes, begin + options.timeout);
  if (!region.ok()) {
    // Has no effect if another rank's end is the reason.
    run->state->abortBy(run->rank,
                        absl::Status(region.status().code(),
                                     absl::StrCat("rank ", run->rank, ": ",
                                                  region.status().message())));
    return run->state->status();
  }
  run->region = *std::move(region);
  run->region->mark(run->rank);
  run->places = std::make_shared<GroupPlaces>(run->region);
  return std::make_unique<ProcessWorld>(run);
}

} // namespace bagua::runtime
