//===- HostCommunicator.h - Collectives between hosts ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For groups whose members are on several hosts. Members of one host read each
// other's memory; between hosts messages go over a Transport. Sums are in
// member order all the same, so that the bits are those of ranks of one
// process.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_COMMUNICATION_HOSTS_HOSTCOMMUNICATOR_H
#define BAGUA_LIB_RUNTIME_COMMUNICATION_HOSTS_HOSTCOMMUNICATOR_H

#include "Communication/Hosts/Alarm.h"
#include "Communication/Memory/RunState.h"
#include "Communication/Transport/Transport.h"

#include "bagua/Runtime/Communicator.h"

#include "absl/status/statusor.h"

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace bagua::runtime {

/// A group as one of its members sees it.
struct HostGroup {
  std::string name;
  /// World ranks.
  std::vector<int> members;
  /// By member: a number of its host.
  std::vector<int> hosts;
  /// The index of this rank among the members.
  int self = 0;
  /// The members of this host.
  std::shared_ptr<MemoryGroup> neighbours;
  /// Connected to all other members.
  std::shared_ptr<Transport> transport;
  /// The run's secret, which tells its members from strangers; at most 32
  /// characters.
  std::string secret;
};

/// The end of a communicator's connections, from which peers may still read. A
/// connection that is closed with unread bytes takes back, by a reset, what it
/// has sent. So connections stay until the peers have said goodbye, too.
class Farewell {
public:
  virtual ~Farewell() = default;
  /// Returns once all peers have come to the end, too, at `time` at last:
  /// whether they have.
  virtual bool await(Alarm &alarm, Alarm::Time time) = 0;
};

/// The services that a communicator needs of its process.
struct HostServices {
  std::shared_ptr<RunState> state;
  /// Outlives the communicator, as `state` does.
  Alarm *alarm = nullptr;
  /// As World::allocate.
  std::function<absl::StatusOr<std::shared_ptr<std::byte>>(size_t)> allocate;
  /// Keeps connections until the run is over.
  std::function<void(std::unique_ptr<Farewell>)> retire;
};

/// Meets the other members. Errors are those of World::createCommunicator.
absl::StatusOr<std::unique_ptr<Communicator>>
createHostCommunicator(HostGroup group, HostServices services,
                       const CommunicatorOptions &options);

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_COMMUNICATION_HOSTS_HOSTCOMMUNICATOR_H
