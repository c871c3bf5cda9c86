//===- PeerMeeting.cpp - Peers instead of strangers -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All are connected first, and greeted by the later one of each pair, then
// greetings are awaited one after the other. Every member goes through its
// peers in ascending order, and one for whom a connection has failed says so at
// once, which ends the peer's wait for it: a pair waits for pairs before it
// alone, so nobody waits in a circle. But for a connection that one side holds
// for made, and finds lost when it waits for the greeting: the other side does
// not wait for it without end.
//
//===----------------------------------------------------------------------===//
#include "Communication/Hosts/PeerMeeting.h"

#include "Communication/MembersName.h"
#include "Communication/Secret.h"
#include "Communication/StatusCopy.h"

#include "bagua/Runtime/ErrorPlace.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <chrono>
#include <optional>

namespace bagua::runtime {
namespace {

using Clock = std::chrono::steady_clock;

/// How long who waits for the first greeting does so at first, then twice as
/// long, up to 2 s: a stranger may say nothing, and Gloo that a connection has
/// been taken back. Long waits would use up the limit where strangers are many;
/// a peer that merely is late finds the next connection.
constexpr std::chrono::milliseconds kFirstPatience(500);
constexpr int kMostDoublings = 2;
/// How long who waits for a connection does so. Its peer may have others to
/// wait for first, so this is longer.
constexpr std::chrono::seconds kConnectPatience(5);
/// Behind the key of an address: its owner goes to the peer's.
constexpr char kTakenUp[] = " taken up";

/// The greeting by which `from` proves to `to` that it knows the run's secret,
/// without revealing the secret. It tells peers from processes that connect by
/// chance (a scanner, another job's rank). It does not keep anybody from
/// listening to the network, where nothing is encrypted.
std::string greetingOf(const HostGroup &group, int from, int to) {
  return derive(group.secret, absl::StrCat("greeting in '", group.name, "' of ",
                                           from, " for ", to));
}

} // namespace

std::string addressKey(const HostGroup &group, int from, int to, int attempt) {
  // Rank 0 keeps a key for each pair.
  return absl::StrCat("address ", group.name, " ", nameOf(group.members), " ",
                      from, " ", to, " ", attempt);
}

PeerMeeting::PeerMeeting(const HostGroup &ownGroup, RunState &ownState,
                         ControlPlane &ownControl, Alarm &ownAlarm,
                         Alarm::Time ownDeadline)
    : group(ownGroup), state(ownState), control(ownControl), alarm(ownAlarm),
      deadline(ownDeadline) {}

absl::Status PeerMeeting::run(const std::vector<int> &peers,
                              const std::vector<std::string> &addresses) {
  std::vector<absl::Status> introduced;
  introduced.reserve(peers.size());
  for (size_t i = 0; i < peers.size(); ++i)
    introduced.push_back(introduce(peers[i], addresses[i], /*next=*/1));
  for (size_t i = 0; i < peers.size(); ++i) {
    absl::Status status = meet(peers[i], std::move(introduced[i]));
    if (absl::Status aborted = state.status(); !aborted.ok())
      return aborted;
    if (!status.ok())
      return named(status, peers[i]);
  }
  return absl::OkStatus();
}

absl::Status PeerMeeting::named(const absl::Status &status, int peer) const {
  const int rank = group.members[static_cast<size_t>(peer)];
  return withPlace(
      withMessage(status, absl::StrCat("rank ", rank, ": ", status.message())),
      {rank});
}

/// Aborted, and a new connection offered as the `next`th, where the peer's
/// place is taken or it has offered that one itself.
absl::Status PeerMeeting::introduce(int peer, const std::string &address,
                                    int next) {
  const auto interrupt = [this] { group.transport->interrupt(); };
  Alarm::Entry bell(alarm, interrupt);
  ControlPlane::Watch watch(control, addressKey(group, peer, group.self, next),
                            interrupt);
  const auto end = Clock::now() + kConnectPatience;
  bell.set(std::min(deadline, end));
  absl::Status status = absl::CancelledError();
  while (true) {
    if (absl::Status aborted = state.status(); !aborted.ok())
      return aborted;
    if (watch.isKept())
      return offer(peer, next, "it connects anew");
    if (Clock::now() >= deadline)
      return absl::DeadlineExceededError("has not connected in time");
    if (Clock::now() >= end)
      return offer(peer, next, "it does not connect");
    if (!absl::IsCancelled(status))
      break;
    status = group.transport->connect(peer, address);
  }
  if (!status.ok())
    return absl::IsAborted(status) ? offer(peer, next, status.message())
                                   : status;
  return greetsFirst(peer) ? greet(peer, next) : absl::OkStatus();
}

absl::Status PeerMeeting::greet(int peer, int next) {
  absl::Status status =
      group.transport->greet(peer, greetingOf(group, group.self, peer));
  return status.ok() ? status : offer(peer, next, status.message());
}

absl::Status PeerMeeting::meet(int peer, absl::Status introduced) {
  for (int attempt = 1;; ++attempt) {
    if (introduced.ok())
      introduced = awaitGreeting(peer, attempt);
    if (!absl::IsAborted(introduced) || !state.status().ok())
      return introduced;
    introduced = takeUp(peer, attempt);
  }
}

/// Aborted, and a new connection offered as the `next`th, where it is
/// another's, or the peer has offered that one.
absl::Status PeerMeeting::awaitGreeting(int peer, int next) {
  const auto interrupt = [this] { group.transport->interrupt(); };
  Alarm::Entry bell(alarm, interrupt);
  ControlPlane::Watch watch(control, addressKey(group, peer, group.self, next),
                            interrupt);
  const auto end =
      Clock::now() + kFirstPatience * (1 << std::min(next - 1, kMostDoublings));
  bell.set(greetsFirst(peer) ? deadline : std::min(deadline, end));
  while (true) {
    auto said = group.transport->awaitGreeting(peer);
    if (absl::Status aborted = state.status(); !aborted.ok())
      return aborted;
    if (watch.isKept())
      return offer(peer, next, "it connects anew");
    if (said.ok() && *said == greetingOf(group, peer, group.self))
      return greetsFirst(peer) ? absl::OkStatus() : greet(peer, next);
    if (said.ok())
      return offer(peer, next, "a stranger has come in its place");
    if (!absl::IsCancelled(said.status()))
      return offer(peer, next, said.status().message());
    if (Clock::now() >= deadline)
      return absl::DeadlineExceededError("has not greeted in time");
    if (!greetsFirst(peer) && Clock::now() >= end)
      return offer(peer, next, "says nothing");
  }
}

/// Says where this member can be found for the `attempt`th connection. Aborted
/// for that reason, or why it can't.
absl::Status PeerMeeting::offer(int peer, int attempt, absl::string_view why) {
  if (absl::Status status = group.transport->renew(peer); !status.ok())
    return status;
  control.publish(addressKey(group, group.self, peer, attempt),
                  group.transport->address(peer));
  return absl::AbortedError(why);
}

/// Goes to where the peer offers the `attempt`th connection, once it is there,
/// too: who offers one may have others to meet first.
absl::Status PeerMeeting::takeUp(int peer, int attempt) {
  const std::string own = addressKey(group, group.self, peer, attempt);
  const std::string theirs = addressKey(group, peer, group.self, attempt);
  control.publish(own + kTakenUp, "");
  std::vector<std::optional<std::string>> found;
  auto isOver = [&] {
    return !state.status().ok() ||
           state.hasLeft(group.members[static_cast<size_t>(peer)]);
  };
  absl::Status status = control.find({theirs, theirs + kTakenUp},
                                     deadline - Clock::now(), isOver, found);
  if (!status.ok())
    return absl::UnavailableError("did not connect anew");
  return introduce(peer, *found[0], attempt + 1);
}

} // namespace bagua::runtime
