//===- HostsBackend.cpp - Communicators between hosts ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Members of one host meet in the memory that they share, and then all members
// connect.
//
//===----------------------------------------------------------------------===//
#include "Communication/Hosts/HostsBackend.h"

#include "Communication/Hosts/HostCommunicator.h"
#include "Communication/Processes/ProcessRun.h"
#include "Communication/SharedMemory/SharedMemoryBackend.h"

#include <map>
#include <utility>

namespace bagua::runtime {

absl::StatusOr<std::unique_ptr<Communicator>>
createBetweenHosts(const std::shared_ptr<Run> &shared,
                   const CommunicatorGroup &wanted,
                   const CommunicatorOptions &options) {
  const std::shared_ptr<ProcessRun> run = processRunOf(shared);
  absl::StatusOr<GroupPlace> place = findGroupPlace(run, wanted, options);
  if (!place.ok())
    return place.status();
  HostGroup group;
  group.name = wanted.name;
  group.members = wanted.members;
  group.self = placeIn(wanted.members, run->rank);
  group.secret = run->secret;
  // Hosts are counted from 0 among the members' hosts.
  std::map<int, int> numbers;
  for (int member : wanted.members)
    group.hosts.push_back(
        numbers.emplace(run->hosts[member], numbers.size()).first->second);
  const std::vector<int> neighbours = run->neighboursAmong(wanted.members);
  auto joined = run->state->joinGroup(wanted.members, neighbours, wanted.name,
                                      placeIn(neighbours, run->rank),
                                      [&] { return *std::move(place); });
  if (!joined.ok())
    return joined.status();
  group.neighbours = *std::move(joined);
  if (absl::Status status = run->network->connect(group, options);
      !status.ok()) {
    // Has no effect if another rank's end is the reason.
    run->state->abortBy(run->rank, status);
    return run->state->status();
  }

  HostServices services;
  services.state = std::shared_ptr<RunState>(run, run->state.get());
  services.alarm = &run->network->alarm();
  // The run holds the connections that a communicator leaves behind, so these
  // hold no run.
  services.allocate = [region = run->region](size_t bytes) {
    return allocateFrom(region, bytes);
  };
  services.retire =
      [network = run->network.get()](std::unique_ptr<Farewell> farewell) {
        network->keep(std::move(farewell));
      };
  return createHostCommunicator(std::move(group), std::move(services), options);
}

} // namespace bagua::runtime
