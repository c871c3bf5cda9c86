//===- ProcessWorld.cpp - Ranks that are processes ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// This process's knowledge of the run, its connection to rank 0, and the memory
// that it shares with the other ranks of its host.
//
//===----------------------------------------------------------------------===//
#include "bagua/Runtime/Processes.h"

#include "Communication/Control/ControlPlane.h"
#include "Communication/DurationToString.h"
#include "Communication/Hosts/HostCommunicator.h"
#include "Communication/Hosts/HostNetwork.h"
#include "Communication/MembersName.h"
#include "Communication/Memory/RunState.h"
#include "Communication/OwnProcess.h"
#include "Communication/Rendezvous/Joining.h"
#include "Communication/Secret.h"
#include "Communication/SharedMemory/SharedRegion.h"
#include "Communication/Timeout.h"
#include "Communication/WorkWatch.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <mutex>
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

/// Shared by a world and its communicators; the last of them says goodbye.
struct ProcessRun {
  ~ProcessRun() {
    network = nullptr;
    // No other surviving rank works in this memory: each call of this rank has
    // waited for that.
    if (region)
      region->forgetWithdrawn();
    if (control)
      control->retire();
  }

  int rank = 0;
  std::shared_ptr<RunState> state;
  std::shared_ptr<ControlPlane> control;
  std::shared_ptr<WorkWatch> watch = std::make_shared<WorkWatch>();
  /// Indexed by rank, as World::hosts and startedAs.
  std::vector<int> hosts;
  std::vector<int> started;
  std::string secret;
  std::shared_ptr<SharedRegion> region;
  std::unique_ptr<HostNetwork> network;
};

/// The memory of groups that this rank has allocated. Other ranks may still
/// work there when this rank's communicator is destroyed, so the memory stays
/// until all have left and the next group is made.
class GroupPlaces {
public:
  explicit GroupPlaces(std::shared_ptr<SharedRegion> shared)
      : region(std::move(shared)) {}

  absl::StatusOr<std::byte *> make(const GroupShape &shape);
  void drop(std::byte *memory, const GroupShape &shape);
  void release(std::byte *memory) { region->free(memory); }

private:
  struct Dropped {
    std::byte *memory;
    GroupShape shape;
  };
  const std::shared_ptr<SharedRegion> region;
  std::mutex mutex;
  std::vector<Dropped> dropped;
};

absl::StatusOr<std::byte *> GroupPlaces::make(const GroupShape &shape) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    auto isOver = [&](const Dropped &group) {
      GroupMemory memory(group.memory, group.shape);
      for (int i = 0; i < group.shape.members; ++i)
        if (!memory.member(i).isDone)
          return false;
      region->free(group.memory);
      return true;
    };
    dropped.erase(std::remove_if(dropped.begin(), dropped.end(), isOver),
                  dropped.end());
  }
  auto memory = region->allocate(GroupMemory::bytesFor(shape),
                                 SharedRegion::Use::Meeting);
  if (memory.ok())
    GroupMemory::initialize(*memory, shape);
  return memory;
}

void GroupPlaces::drop(std::byte *memory, const GroupShape &shape) {
  std::lock_guard<std::mutex> lock(mutex);
  dropped.push_back({memory, shape});
}

absl::StatusOr<std::shared_ptr<std::byte>>
allocateFrom(std::shared_ptr<SharedRegion> region, size_t bytes) {
  auto memory = region->allocate(bytes);
  if (!memory.ok())
    return memory.status();
  return std::shared_ptr<std::byte>(
      *memory, [region = std::move(region)](std::byte *address) {
        region->free(address);
      });
}

class ProcessWorld final : public World {
public:
  explicit ProcessWorld(std::shared_ptr<ProcessRun> shared)
      : run(std::move(shared)),
        places(std::make_shared<GroupPlaces>(run->region)) {}
  ~ProcessWorld() override;

  int rank() const override { return run->rank; }
  int size() const override { return run->state->size; }
  std::vector<int> hosts() const override { return run->hosts; }
  int startedAs(int rank) const override { return run->started[rank]; }
  std::chrono::nanoseconds timeout() const override {
    return run->state->timeout;
  }

  absl::StatusOr<std::unique_ptr<Communicator>>
  createCommunicator(const std::vector<int> &members, const std::string &name,
                     const CommunicatorOptions &options) override;
  absl::StatusOr<std::shared_ptr<std::byte>> allocate(size_t bytes) override;

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
  /// The members on this rank's host.
  std::vector<int> neighboursAmong(const std::vector<int> &members) const;
  /// Finds where `neighbours` meet, which are all members or those on this
  /// host.
  absl::StatusOr<GroupPlace> findPlace(const std::vector<int> &members,
                                       const std::vector<int> &neighbours,
                                       const std::string &name,
                                       const CommunicatorOptions &options);
  absl::StatusOr<std::unique_ptr<Communicator>>
  createAcrossHosts(const std::vector<int> &members,
                    const std::vector<int> &neighbours, const std::string &name,
                    const CommunicatorOptions &options, GroupPlace place);

  const OwnProcess process;
  const std::shared_ptr<ProcessRun> run;
  const std::shared_ptr<GroupPlaces> places;
};

ProcessWorld::~ProcessWorld() {
  if (!process.isThis()) {
    // The run belongs to the parent, with its threads and connections, so it is
    // leaked here.
    (void)new std::shared_ptr<ProcessRun>(run);
    return;
  }
  run->state->leave(run->rank);
  run->control->leave();
}

std::vector<int>
ProcessWorld::neighboursAmong(const std::vector<int> &members) const {
  std::vector<int> neighbours;
  for (int member : members)
    if (run->hosts[member] == run->hosts[run->rank])
      neighbours.push_back(member);
  return neighbours;
}

int placeIn(const std::vector<int> &members, int rank) {
  return static_cast<int>(std::find(members.begin(), members.end(), rank) -
                          members.begin());
}

/// The memory of a group is the one that the first member offers to rank 0.
absl::StatusOr<GroupPlace> ProcessWorld::findPlace(
    const std::vector<int> &members, const std::vector<int> &neighbours,
    const std::string &name, const CommunicatorOptions &options) {
  GroupPlace result;
  result.shape = {static_cast<int>(neighbours.size()),
                  static_cast<int>(members.size()), Gate::Scope::Host};
  auto own = places->make(result.shape);
  if (!own.ok())
    return own.status();
  const AddressSpace &space = run->region->addresses();
  std::string offset = absl::StrCat(space.offsetOf(*own));
  auto kept = run->control->claim(
      absl::StrCat("group ", name, " ", nameOf(members), " of ", neighbours[0]),
      offset, options.timeout, [this] { return !run->state->status().ok(); });
  uint64_t place = 0;
  if (!kept.ok()) {
    // Rank 0 may still keep this place, so it is never used for anything else.
    run->state->abort(
        absl::IsDeadlineExceeded(kept.status())
            ? run->state->lateStatus(
                  describeCall(name, rank(), "create_communicator", options),
                  options.timeout, {0})
            : kept.status());
    return run->state->status();
  }
  const bool isOwn = *kept == offset;
  if (!isOwn)
    places->release(*own);
  const size_t bytes = GroupMemory::bytesFor(result.shape);
  if (!absl::SimpleAtoi(*kept, &place) || place % 64 != 0 ||
      !space.contains(space.at(place), bytes))
    return absl::InternalError(absl::StrCat(
        "communicator '", name, "': rank 0 keeps '", *kept, "', no place"));
  result.addresses = space;
  result.reachable = run->region;
  result.memory = space.at(place);
  result.owner = std::shared_ptr<void>(
      nullptr, [places = places, memory = result.memory, shape = result.shape,
                member = placeIn(neighbours, rank()), isOwn](void *) {
        GroupMemory(memory, shape).member(member).isDone = true;
        if (isOwn)
          places->drop(memory, shape);
      });
  return result;
}

absl::StatusOr<std::unique_ptr<Communicator>>
ProcessWorld::createCommunicator(const std::vector<int> &members,
                                 const std::string &name,
                                 const CommunicatorOptions &options) {
  absl::Status status = process.check("a world");
  if (status.ok())
    status = checkCreation(members, name, options, rank(), size());
  if (status.ok())
    status = run->state->status();
  if (!status.ok())
    return status;
  const std::vector<int> neighbours = neighboursAmong(members);
  // A second communicator would use the place of the first.
  status = run->state->checkNew(members, neighbours, name,
                                placeIn(neighbours, rank()));
  if (!status.ok())
    return status;
  absl::StatusOr<GroupPlace> place =
      findPlace(members, neighbours, name, options);
  if (!place.ok())
    return place.status();
  if (neighbours.size() < members.size())
    return createAcrossHosts(members, neighbours, name, options,
                             *std::move(place));
  // The run lives as long as any of its communicators.
  std::shared_ptr<RunState> state(run, run->state.get());
  return createMemoryCommunicator(std::move(state), rank(), members, name,
                                  options, [&] { return place; });
}

//===----------------------------------------------------------------------===//
// Groups over several hosts
//===----------------------------------------------------------------------===//

absl::StatusOr<std::unique_ptr<Communicator>> ProcessWorld::createAcrossHosts(
    const std::vector<int> &members, const std::vector<int> &neighbours,
    const std::string &name, const CommunicatorOptions &options,
    GroupPlace place) {
  HostGroup group;
  group.name = name;
  group.members = members;
  group.self = placeIn(members, rank());
  group.secret = run->secret;
  // Hosts are counted from 0 among the members' hosts.
  std::map<int, int> numbers;
  for (int member : members)
    group.hosts.push_back(
        numbers.emplace(run->hosts[member], numbers.size()).first->second);
  auto joined =
      run->state->joinGroup(members, neighbours, name,
                            placeIn(neighbours, rank()), [&] { return place; });
  if (!joined.ok())
    return joined.status();
  group.neighbours = *std::move(joined);
  if (absl::Status status = run->network->connect(group, options);
      !status.ok()) {
    // Has no effect if another rank's end is the reason.
    run->state->abortBy(rank(), status);
    return run->state->status();
  }

  HostServices services;
  services.state = std::shared_ptr<RunState>(run, run->state.get());
  services.alarm = &run->network->alarm();
  services.allocate = [region = run->region](size_t bytes) {
    return allocateFrom(region, bytes);
  };
  services.retire =
      [network = run->network.get()](std::unique_ptr<Farewell> farewell) {
        network->keep(std::move(farewell));
      };
  return createHostCommunicator(std::move(group), std::move(services), options);
}

absl::StatusOr<std::shared_ptr<std::byte>>
ProcessWorld::allocate(size_t bytes) {
  absl::Status status = process.check("a world");
  if (status.ok())
    status = run->state->status();
  if (!status.ok())
    return status;
  return allocateFrom(run->region, bytes);
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
  return std::make_unique<ProcessWorld>(std::move(run));
}

} // namespace bagua::runtime
