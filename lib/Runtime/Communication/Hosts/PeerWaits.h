//===- PeerWaits.h - Waiting for members on other hosts -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A member's waits for messages: each ends in time, with an abort, or because
// the other is gone, and whatever ends one ends the run.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_COMMUNICATION_HOSTS_PEERWAITS_H
#define BAGUA_LIB_RUNTIME_COMMUNICATION_HOSTS_PEERWAITS_H

#include "Communication/Hosts/HostCommunicator.h"
#include "Communication/WaitReport.h"

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

#include <atomic>
#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace bagua::runtime {

/// The waits of one communicator, on its thread. Allocates only for an error.
class PeerWaits {
public:
  /// `options` outlive it.
  PeerWaits(const HostGroup &group, std::shared_ptr<RunState> state,
            Alarm &alarm, const CommunicatorOptions &options);
  ~PeerWaits();

  /// Limits of what is on its way when all members have come: that a member's
  /// process is gone is said by others, so a short one has no use here.
  static CommunicatorOptions whileMoving(CommunicatorOptions options);

  /// A call of this name begins: its limit does.
  void begin(std::string_view call);
  /// All members have come: what is still to be waited for is on its way, and
  /// takes as long as it takes while something comes, or goes.
  void beginMoving();
  void end() { bell.set(Alarm::Time::max()); }

  /// Waits for a message. Messages of this tag from `others` will be awaited
  /// next: these peers are named, too, where theirs have not come either.
  absl::Status await(int peer, Tag tag, absl::Span<const int> others = {});
  absl::Status awaitSent();

  /// Why a connection failed, that to `peer` if it or the failure says so:
  /// mostly an abort, which is on its way here.
  absl::Status lose(const absl::Status &failure, int peer = -1);
  /// A member has left.
  absl::Status miss(int peer);
  /// A member has sent what it can't.
  absl::Status refuse(int peer, const std::string &found);

private:
  using Time = Alarm::Time;

  void appendWaits(std::string &text) const;
  std::string describe() const;
  std::string describePath(int peer, absl::string_view found) const;
  void putOff();
  absl::Status endInTime(int peer, Tag tag, absl::Span<const int> others);

  const HostGroup &group;
  const std::shared_ptr<RunState> state;
  const CommunicatorOptions &options;
  const std::chrono::nanoseconds limit;
  const std::chrono::nanoseconds movingLimit;
  Alarm::Entry bell;

  std::string_view call;
  Time warning;
  Time deadline;
  bool isMoving = false;

  /// For reports, on other threads: the call in progress, who is waited for
  /// (-1: nobody) and when something came last.
  std::atomic<const char *> callName{""};
  std::atomic<int> awaited{-1};
  std::atomic<Time> since{Time()};
  const WaitReport report{[this](std::string &text) { appendWaits(text); }};
};

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_COMMUNICATION_HOSTS_PEERWAITS_H
