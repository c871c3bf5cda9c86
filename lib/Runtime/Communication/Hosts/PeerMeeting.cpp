//===- PeerMeeting.cpp - Peers instead of strangers -----------------------===//
//
// All are connected and greeted first, then their greetings are awaited one
// after the other. Every member goes through its peers in ascending order, and
// one for whom a connection has failed says so at once, which ends the peer's
// wait for it: a pair waits for pairs before it alone, so nobody waits in a
// circle.
//
//===----------------------------------------------------------------------===//
#include "Communication/Hosts/PeerMeeting.h"

#include "Communication/StatusCopy.h"

#include "bagua/Runtime/ErrorPlace.h"
#include "bagua/Support/Fingerprint.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

#include <algorithm>
#include <chrono>
#include <optional>

namespace bagua::runtime {
namespace {

using Clock = std::chrono::steady_clock;

/// How long who waits for a greeting does so the first time, then twice as
/// long, up to 2 s: a stranger may say nothing, and Gloo that a connection has
/// been taken back. Long waits would use up the limit where strangers are many;
/// a peer that merely is late finds the next connection.
constexpr std::chrono::milliseconds kFirstPatience(500);
constexpr int kMostDoublings = 2;

/// What `from` shows `to`: the run's secret is not read from it. It tells peers
/// from who came by chance (a scanner, another job's rank); nobody is kept from
/// listening to the network, where nothing is encrypted.
std::string greetingOf(const HostGroup &group, int from, int to) {
  const std::string text =
      absl::StrCat(group.secret, " ", group.name, " ", from, " ", to);
  const std::string again = absl::StrCat(text, " ", group.secret);
  return absl::StrFormat("%016x%016x",
                         fingerprintBytes(text.data(), text.size()),
                         fingerprintBytes(again.data(), again.size()));
}

} // namespace

std::string addressKey(const HostGroup &group, int from, int to, int attempt) {
  return absl::StrCat("address ", group.name, " ",
                      absl::StrJoin(group.members, ","), " ", from, " ", to,
                      " ", attempt);
}

PeerMeeting::PeerMeeting(const HostGroup &ownGroup, RunState &ownState,
                         ControlPlane &ownControl, Alarm &ownAlarm,
                         Alarm::Time ownDeadline)
    : group(ownGroup), state(ownState), control(ownControl), alarm(ownAlarm),
      deadline(ownDeadline) {}

absl::Status PeerMeeting::run(const std::vector<int> &peers,
                              const std::vector<std::string> &addresses) {
  std::vector<absl::Status> introduced;
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
  bell.set(deadline);
  absl::Status status;
  do {
    if (absl::Status aborted = state.status(); !aborted.ok())
      return aborted;
    if (watch.isKept())
      return offer(peer, next, absl::AbortedError("it connects anew"));
    if (Clock::now() >= deadline)
      return absl::DeadlineExceededError("has not connected in time");
    status = group.transport->connect(peer, address);
  } while (absl::IsCancelled(status));
  if (!status.ok() && !absl::IsAborted(status)) {
    if (Clock::now() >= deadline)
      return absl::DeadlineExceededError("has not connected in time");
    return watch.isKept()
               ? offer(peer, next, absl::AbortedError("it connects anew"))
               : status;
  }
  if (status.ok())
    status = group.transport->greet(peer, greetingOf(group, group.self, peer));
  return status.ok() ? status
                     : offer(peer, next, absl::AbortedError(status.message()));
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
  while (true) {
    bell.set(std::min(deadline, end));
    auto said = group.transport->awaitGreeting(peer);
    if (said.ok() && *said == greetingOf(group, peer, group.self))
      return absl::OkStatus();
    if (absl::Status aborted = state.status(); !aborted.ok())
      return aborted;
    const char *why = nullptr;
    if (said.ok())
      why = "a stranger has come in its place";
    else if (!absl::IsCancelled(said.status()))
      return offer(peer, next, absl::AbortedError(said.status().message()));
    else if (watch.isKept())
      why = "it connects anew";
    else if (Clock::now() >= deadline)
      return absl::DeadlineExceededError("has not greeted in time");
    else if (Clock::now() >= end)
      why = "says nothing";
    if (why)
      return offer(peer, next, absl::AbortedError(why));
  }
}

/// Says where this member can be found for the `attempt`th connection; `why`,
/// unless that fails.
absl::Status PeerMeeting::offer(int peer, int attempt, absl::Status why) {
  if (absl::Status status = group.transport->renew(peer); !status.ok())
    return status;
  control.publish(addressKey(group, group.self, peer, attempt),
                  group.transport->address(peer));
  return why;
}

/// Goes to where the peer offers the `attempt`th connection.
absl::Status PeerMeeting::takeUp(int peer, int attempt) {
  std::vector<std::optional<std::string>> found;
  auto isOver = [&] {
    return !state.status().ok() ||
           state.hasLeft(group.members[static_cast<size_t>(peer)]);
  };
  absl::Status status =
      control.find({addressKey(group, peer, group.self, attempt)},
                   deadline - Clock::now(), isOver, found);
  if (!status.ok())
    return absl::UnavailableError("did not connect anew");
  return introduce(peer, *found[0], attempt + 1);
}

} // namespace bagua::runtime
