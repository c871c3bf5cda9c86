//===- HostNetwork.cpp - A process's way to other hosts -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each member publishes where each peer of another host finds it.
//
//===----------------------------------------------------------------------===//
#include "Communication/Hosts/HostNetwork.h"

#include "Communication/Gloo/GlooNetwork.h"
#include "Communication/Hosts/PeerMeeting.h"
#include "Communication/Rendezvous/Sockets.h"
#include "Communication/StatusCopy.h"
#include "Files/HostLimits.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <chrono>
#include <system_error>
#include <thread>
#include <utility>

namespace bagua::runtime {
namespace {

/// In which peers mostly come to the end of a run.
constexpr std::chrono::seconds kFarewell(1);
/// How long who keeps connections looks whether older ones are over.
constexpr std::chrono::milliseconds kLook(1);
/// Beside those that a group's connections keep: who accepts one holds two for
/// a moment.
constexpr int kSpareDescriptors = 4;
/// Time for a peer to accept a connection. If the connection is taken back
/// before, Gloo ends the peer's process.
constexpr std::chrono::milliseconds kAccept(100);
/// A path is lost later than its host by this fraction (1 / 5) of the patience.
constexpr int kLaterPart = 5;
/// Where the patience is short: on a path that loses many packets the system
/// tries again after 0.2 s, 0.4 s, 0.8 s and so on, and some of these are lost.
constexpr std::chrono::nanoseconds kLeastPathPatience =
    std::chrono::seconds(10);

} // namespace

HostNetwork::HostNetwork(int ownRank, std::shared_ptr<RunState> ownState,
                         std::shared_ptr<ControlPlane> ownControl,
                         std::string ownInterface,
                         std::chrono::nanoseconds patience)
    : rank(ownRank), state(std::move(ownState)), control(std::move(ownControl)),
      interface(std::move(ownInterface)),
      pathPatience(
          std::max(kLeastPathPatience, patience + patience / kLaterPart)) {}

HostNetwork::~HostNetwork() {
  const auto end = std::chrono::steady_clock::now() + kFarewell;
  for (std::unique_ptr<Farewell> &farewell : farewells)
    if (state->status().ok())
      farewell->await(*bells, end);
  if (!failed.empty())
    std::this_thread::sleep_for(kAccept);
}

void HostNetwork::keep(std::unique_ptr<Farewell> farewell) {
  std::lock_guard<std::mutex> lock(mutex);
  farewells.push_back(std::move(farewell));
  // The oldest alone is waited for: a peer may keep its end for long. Others go
  // when they can.
  auto time = std::chrono::steady_clock::now() + kLook;
  farewells.erase(std::remove_if(farewells.begin(), farewells.end(),
                                 [&](const std::unique_ptr<Farewell> &each) {
                                   return each->await(*bells,
                                                      std::exchange(time, {}));
                                 }),
                  farewells.end());
}

absl::Status HostNetwork::prepare() {
  std::lock_guard<std::mutex> lock(mutex);
  if (network)
    return absl::OkStatus();
  auto address = addressOfInterface(interface);
  if (!address.ok())
    return address.status();
  auto made = createGlooNetwork(*address, pathPatience);
  if (!made.ok())
    return made.status();
  try {
    bells = std::make_unique<Alarm>();
  } catch (const std::system_error &error) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no thread: ", error.what()));
  }
  network = *std::move(made);
  return absl::OkStatus();
}

absl::Status HostNetwork::connect(HostGroup &group,
                                  const CommunicatorOptions &options) {
  auto named = [&](const absl::Status &status) {
    return withMessage(status,
                       absl::StrCat("communicator '", group.name, "' of rank ",
                                    rank, ": ", status.message()));
  };
  if (absl::Status status = prepare(); !status.ok())
    return named(status);
  std::vector<int> peers;
  for (size_t member = 0; member < group.members.size(); ++member)
    if (group.hosts[member] != group.hosts[group.self])
      peers.push_back(static_cast<int>(member));
  auto opened =
      network->open(group.self, static_cast<int>(group.members.size()), peers,
                    group.secret, options.timeout);
  if (!opened.ok())
    return named(opened.status());
  // Without a free descriptor Gloo's thread spins: it tries to accept for ever.
  if (absl::Status status = checkDescriptors(kSpareDescriptors); !status.ok())
    return named(status);
  group.transport = *std::move(opened);
  for (int peer : peers)
    control->publish(addressKey(group, group.self, peer, /*attempt=*/0),
                     group.transport->address(peer));
  Addresses addresses;
  absl::Status status = find(group, peers, options, addresses);
  if (!status.ok())
    return status;
  state->onAbort(RunState::kRuntime, group.transport.get(),
                 [&] { group.transport->interrupt(); });
  std::vector<std::string> places;
  for (const std::optional<std::string> &address : addresses)
    places.push_back(*address);
  PeerMeeting meeting(group, *state, *control, *bells,
                      std::chrono::steady_clock::now() + options.timeout);
  status = meeting.run(peers, places);
  if (state->status().ok())
    status = named(status);
  state->onAbort(RunState::kRuntime, group.transport.get(), nullptr);
  if (!status.ok()) {
    std::lock_guard<std::mutex> lock(mutex);
    failed.push_back(group.transport);
  }
  return status;
}

/// Where peers are. An error names the members that have not come, or have
/// left.
absl::Status HostNetwork::find(const HostGroup &group,
                               const std::vector<int> &peers,
                               const CommunicatorOptions &options,
                               Addresses &addresses) {
  const MemoryGroup &neighbours = *group.neighbours;
  auto hasCome = [&](int member) {
    auto peer = std::find(peers.begin(), peers.end(), member);
    if (peer != peers.end())
      return addresses[peer - peers.begin()].has_value();
    auto neighbour = std::find(neighbours.members.begin(),
                               neighbours.members.end(), group.members[member]);
    return neighbours.memory
        .member(static_cast<int>(neighbour - neighbours.members.begin()))
        .hasJoined.load();
  };
  auto missing = [&](bool isGone) {
    std::vector<int> ranks;
    for (size_t member = 0; member < group.members.size(); ++member)
      if (!hasCome(static_cast<int>(member)) &&
          (!isGone || state->hasLeft(group.members[member])))
        ranks.push_back(group.members[member]);
    return ranks;
  };
  auto isOver = [&] {
    auto hasLeft = [&](int peer) {
      return state->hasLeft(group.members[peer]);
    };
    return !state->status().ok() ||
           std::any_of(peers.begin(), peers.end(), hasLeft);
  };

  std::vector<std::string> keys;
  for (int peer : peers)
    keys.push_back(addressKey(group, peer, group.self, /*attempt=*/0));
  const auto patience = options.timeout / 10;
  const std::string call =
      describeCall(group.name, rank, "create_communicator", options);
  absl::Status status = control->find(keys, patience, isOver, addresses);
  if (absl::IsDeadlineExceeded(status)) {
    if (options.onWarning)
      options.onWarning(state->describeWait(call, patience, missing(false)));
    status = control->find(keys, options.timeout - patience, isOver, addresses);
  }
  if (status.ok() || !state->status().ok())
    return status;
  if (std::vector<int> left = missing(/*isGone=*/true); !left.empty())
    return leftBy(left, call);
  return state->lateStatus(call, options.timeout, missing(/*isGone=*/false));
}

} // namespace bagua::runtime
