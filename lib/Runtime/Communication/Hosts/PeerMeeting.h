//===- PeerMeeting.h - Peers instead of strangers -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// While a pair of members connects, its port is open to anybody, and Gloo takes
// whoever comes first for the peer. So the two members show each other a
// greeting, derived from the run's secret, that nobody else can have. If one of
// them finds a stranger, or is turned away because of one, they connect anew,
// at another port; the control plane tells the peer at once.
//
// The later member greets first, and the other one answers. Only the one that
// answers gives up a connection that says nothing, and only before it answers:
// so neither gives up a connection that the other holds for settled.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_COMMUNICATION_HOSTS_PEERMEETING_H
#define BAGUA_LIB_RUNTIME_COMMUNICATION_HOSTS_PEERMEETING_H

#include "Communication/Control/ControlPlane.h"
#include "Communication/Hosts/Alarm.h"
#include "Communication/Hosts/HostCommunicator.h"
#include "Communication/Memory/RunState.h"

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

#include <string>
#include <vector>

namespace bagua::runtime {

/// Under which member `from` says where `to` finds it, the `attempt`th time.
std::string addressKey(const HostGroup &group, int from, int to, int attempt);

class PeerMeeting {
public:
  /// Until `deadline`. All outlive it.
  PeerMeeting(const HostGroup &group, RunState &state, ControlPlane &control,
              Alarm &alarm, Alarm::Time deadline);

  /// Connects to the peers, ascending members, at these addresses.
  absl::Status run(const std::vector<int> &peers,
                   const std::vector<std::string> &addresses);

private:
  absl::Status introduce(int peer, const std::string &address, int next);
  absl::Status meet(int peer, absl::Status introduced);
  bool greetsFirst(int peer) const { return group.self > peer; }
  absl::Status greet(int peer, int next);
  absl::Status awaitGreeting(int peer, int next);
  absl::Status offer(int peer, int attempt, absl::string_view why);
  absl::Status takeUp(int peer, int attempt);
  absl::Status named(const absl::Status &status, int peer) const;

  const HostGroup &group;
  RunState &state;
  ControlPlane &control;
  Alarm &alarm;
  const Alarm::Time deadline;
};

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_COMMUNICATION_HOSTS_PEERMEETING_H
