//===- PeerMeeting.cpp - Peers instead of strangers -----------------------===//
//
// All are connected and greeted first, then their greetings are awaited one
// after the other. Every member goes through its peers in ascending order: a
// pair waits for pairs before it alone, so nobody waits in a circle.
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

/// How often who waits for a greeting looks whether the peer connects anew.
constexpr std::chrono::milliseconds kLook(20);
/// How long he waits the first time, then twice as long, up to 2 s: a stranger
/// may say nothing, and Gloo that a connection has been taken back. Long waits
/// would use up the limit where strangers are many; a peer that merely is late
/// finds the next connection.
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
    introduced.push_back(introduce(peers[i], addresses[i]));
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

/// Aborted where the peer's place is taken.
absl::Status PeerMeeting::introduce(int peer, const std::string &address) {
  absl::Status status;
  do {
    if (absl::Status aborted = state.status(); !aborted.ok())
      return aborted;
    status = group.transport->connect(peer, address);
  } while (absl::IsCancelled(status));
  if (!status.ok())
    return status;
  status = group.transport->greet(peer, greetingOf(group, group.self, peer));
  return status.ok() ? status : absl::AbortedError(status.message());
}

absl::Status PeerMeeting::meet(int peer, absl::Status introduced) {
  for (int attempt = 1;; ++attempt) {
    if (introduced.ok())
      introduced = awaitGreeting(peer, attempt);
    if (!absl::IsAborted(introduced) || !state.status().ok())
      return introduced;
    introduced = connectAnew(peer, attempt);
  }
}

/// Aborted where it is another's, or the peer makes the `attempt`th connection
/// in place of this one.
absl::Status PeerMeeting::awaitGreeting(int peer, int attempt) {
  Alarm::Entry bell(alarm, [this] { group.transport->interrupt(); });
  const auto end =
      Clock::now() +
      kFirstPatience * (1 << std::min(attempt - 1, kMostDoublings));
  while (true) {
    bell.set(std::min(deadline, Clock::now() + kLook));
    auto said = group.transport->awaitGreeting(peer);
    if (said.ok())
      return *said == greetingOf(group, peer, group.self)
                 ? absl::OkStatus()
                 : absl::AbortedError("a stranger has come in its place");
    if (!absl::IsCancelled(said.status()))
      return absl::AbortedError(said.status().message());
    if (absl::Status aborted = state.status(); !aborted.ok())
      return aborted;
    std::vector<std::optional<std::string>> found;
    auto isOver = [this] { return !state.status().ok(); };
    if (control
            .find({addressKey(group, peer, group.self, attempt)},
                  std::chrono::milliseconds(1), isOver, found)
            .ok())
      return absl::AbortedError("it connects anew");
    if (Clock::now() >= deadline)
      return absl::DeadlineExceededError("has not greeted in time");
    if (Clock::now() >= end)
      return absl::AbortedError("says nothing");
  }
}

absl::Status PeerMeeting::connectAnew(int peer, int attempt) {
  if (absl::Status status = group.transport->renew(peer); !status.ok())
    return status;
  control.publish(addressKey(group, group.self, peer, attempt),
                  group.transport->address(peer));
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
  return introduce(peer, *found[0]);
}

} // namespace bagua::runtime
