//===- HostNetwork.h - A process's way to other hosts ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Made with the world, and nothing until a group has members on several hosts:
// then it opens connections for the group, whose ends learn of each other
// through the control plane.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_COMMUNICATION_HOSTS_HOSTNETWORK_H
#define BAGUA_LIB_RUNTIME_COMMUNICATION_HOSTS_HOSTNETWORK_H

#include "Communication/Control/ControlPlane.h"
#include "Communication/Hosts/Alarm.h"
#include "Communication/Hosts/HostCommunicator.h"
#include "Communication/Memory/RunState.h"
#include "Communication/Transport/Transport.h"

#include "absl/status/status.h"

#include <chrono>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace bagua::runtime {

class HostNetwork {
public:
  /// `interface`: a name or an address. `patience`: that of the control plane,
  /// which says of whole hosts that they are lost before a path to them is.
  HostNetwork(int rank, std::shared_ptr<RunState> state,
              std::shared_ptr<ControlPlane> control, std::string interface,
              std::chrono::nanoseconds patience);
  /// Waits a little for those connected to come to the end, too; not in a run
  /// that was aborted.
  ~HostNetwork();

  /// Sets `transport`, connected to all members of other hosts. Errors are
  /// those of World::createCommunicator, and of the interface.
  absl::Status connect(HostGroup &group, const CommunicatorOptions &options);

  /// Once something is connected.
  Alarm &alarm() { return *bells; }
  /// Keeps connections of a communicator that is gone until its peers', too.
  void keep(std::unique_ptr<Farewell> farewell);

private:
  using Addresses = std::vector<std::optional<std::string>>;

  absl::Status prepare();
  absl::Status find(const HostGroup &group, const std::vector<int> &peers,
                    const CommunicatorOptions &options, Addresses &addresses);

  const int rank;
  const std::shared_ptr<RunState> state;
  const std::shared_ptr<ControlPlane> control;
  const std::string interface;
  const std::chrono::nanoseconds pathPatience;

  std::mutex mutex;
  std::unique_ptr<Network> network;
  std::unique_ptr<Alarm> bells;
  std::deque<std::unique_ptr<Farewell>> farewells;
  /// The transports of groups that have not met.
  std::vector<std::shared_ptr<Transport>> failed;
};

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_COMMUNICATION_HOSTS_HOSTNETWORK_H
