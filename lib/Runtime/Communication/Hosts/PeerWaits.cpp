//===- PeerWaits.cpp - Waiting for members on other hosts -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The transport's waits have no limit: the alarm and aborts interrupt them, and
// who has been interrupted looks why.
//
//===----------------------------------------------------------------------===//
#include "Communication/Hosts/PeerWaits.h"

#include "Communication/DurationToString.h"
#include "Communication/WorkWatch.h"

#include "bagua/Runtime/ErrorPlace.h"

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

#include <algorithm>

namespace bagua::runtime {
namespace {

using Clock = std::chrono::steady_clock;

/// Limits of a day and more are this.
constexpr std::chrono::hours kMostLimit(24);
/// A connection on which nothing came for so long may be lost by its path, and
/// then all know within the second time whether it was the peer that was lost.
constexpr std::chrono::seconds kLong(5);
constexpr std::chrono::seconds kSoon(1);

} // namespace

PeerWaits::PeerWaits(const HostGroup &ownGroup,
                     std::shared_ptr<RunState> ownState, Alarm &alarm,
                     const CommunicatorOptions &ownOptions)
    : group(ownGroup), state(std::move(ownState)), options(ownOptions),
      limit(std::min<std::chrono::nanoseconds>(options.timeout, kMostLimit)),
      movingLimit(std::min<std::chrono::nanoseconds>(
          whileMoving(options).timeout, kMostLimit)),
      bell(alarm, [this] { group.transport->interrupt(); }) {
  state->onAbort(RunState::kRuntime, this,
                 [this] { group.transport->interrupt(); });
}

PeerWaits::~PeerWaits() { state->onAbort(RunState::kRuntime, this, nullptr); }

void PeerWaits::begin(std::string_view newCall) {
  call = newCall;
  isMoving = false;
  const Time now = Clock::now();
  // All names are whole constants.
  callName.store(call.data(), std::memory_order_relaxed);
  since.store(now, std::memory_order_relaxed);
  deadline = now + limit;
  warning = options.onWarning ? now + limit / 10 : Time::max();
  bell.set(std::min(warning, deadline));
}

void PeerWaits::beginMoving() {
  isMoving = true;
  putOff();
}

CommunicatorOptions PeerWaits::whileMoving(CommunicatorOptions options) {
  constexpr std::chrono::seconds kLeast(10);
  options.timeout = std::max<std::chrono::nanoseconds>(options.timeout, kLeast);
  return options;
}

/// Something has come, or gone. The bell is set when it rings.
void PeerWaits::putOff() {
  const Time now = Clock::now();
  since.store(now, std::memory_order_relaxed);
  deadline = now + movingLimit;
}

void PeerWaits::appendWaits(std::string &text) const {
  const int peer = awaited.load(std::memory_order_relaxed);
  if (peer < 0)
    return;
  absl::StrAppend(&text, "  communicator '", group.name,
                  "': ", callName.load(std::memory_order_relaxed), " of rank ",
                  group.members[group.self], " waits for a message of rank ",
                  group.members[peer], " of another host, for ",
                  absl::FormatDuration(absl::Trunc(
                      absl::FromChrono(Clock::now() -
                                       since.load(std::memory_order_relaxed)),
                      absl::Milliseconds(1))),
                  "\n");
}

std::string PeerWaits::describe() const {
  return describeCall(group.name, group.members[group.self], call, options);
}

absl::Status PeerWaits::await(int peer, Tag tag, absl::Span<const int> others) {
  NotAtWork waiting;
  awaited.store(peer, std::memory_order_relaxed);
  while (true) {
    absl::Status status = group.transport->awaitReceived(peer, tag);
    if (status.ok())
      break;
    if (!absl::IsCancelled(status))
      return lose(status, peer);
    if (absl::Status aborted = state->status(); !aborted.ok())
      return aborted;
    const Time now = Clock::now();
    if (now >= deadline)
      return endInTime(peer, tag, others);
    if (now >= warning) {
      warning = Time::max();
      options.onWarning(state->describeWait(describe(), options.timeout / 10,
                                            {group.members[peer]}));
    }
    bell.set(std::min(warning, deadline));
  }
  awaited.store(-1, std::memory_order_relaxed);
  if (isMoving)
    putOff();
  return absl::OkStatus();
}

absl::Status PeerWaits::awaitSent() {
  NotAtWork waiting;
  while (true) {
    absl::StatusOr<bool> hasSent = group.transport->awaitSent();
    if (hasSent.ok() && !*hasSent)
      return absl::OkStatus();
    if (hasSent.ok() && isMoving)
      putOff();
    if (hasSent.ok())
      continue;
    if (!absl::IsCancelled(hasSent.status()))
      return lose(hasSent.status());
    if (absl::Status aborted = state->status(); !aborted.ok())
      return aborted;
    if (Clock::now() >= deadline) {
      state->abort(absl::DeadlineExceededError(absl::StrCat(
          describe(), " waited ",
          durationToString(isMoving ? movingLimit : options.timeout),
          " for other ranks to receive its data")));
      return state->status();
    }
    bell.set(deadline);
  }
}

absl::Status PeerWaits::endInTime(int peer, Tag tag,
                                  absl::Span<const int> others) {
  std::vector<int> missing;
  if (!group.transport->hasReceived(peer, tag))
    missing.push_back(group.members[peer]);
  for (int other : others)
    if (!group.transport->hasReceived(other, tag))
      missing.push_back(group.members[other]);
  // The last one may have come just now; the connections are gone all the same.
  if (missing.empty())
    missing.push_back(group.members[peer]);
  state->abort(state->lateStatus(
      describe(), isMoving ? movingLimit : options.timeout, missing));
  return state->status();
}

std::string PeerWaits::describePath(int peer, absl::string_view found) const {
  const int own = group.members[group.self];
  const int other = group.members[peer];
  const Transport::Ends ends = group.transport->ends(peer);
  return absl::StrCat(": rank ", own, " (", ends.own, ") and rank ", other,
                      " (", ends.peer, ") have lost each other: ", found,
                      own == 0 || other == 0
                          ? ", although small messages, such as heartbeats, "
                            "still pass between them"
                          : ", although rank 0 still hears from both");
}

absl::Status PeerWaits::lose(const absl::Status &failure, int peer) {
  if (auto place = errorPlaceOf(failure); place && peer < 0)
    peer = static_cast<int>(place->rank);
  const int rank = peer < 0 ? -1 : group.members[peer];
  std::string why = absl::StrCat(": ", failure.message());
  if (absl::IsDataLoss(failure)) {
    // No other news tells of this loss.
    why = absl::StrCat(": rank ", rank, " is lost: ", failure.message());
  } else if (absl::IsDeadlineExceeded(failure) && peer >= 0) {
    // Had a host been lost, that would be known by now.
    if (absl::Status aborted = state->status(); !aborted.ok())
      return aborted;
    why = describePath(peer, failure.message());
  } else {
    // A peer that has given up the path closes its end, and may be at other
    // things; whose process ends does so at once.
    const bool isOfPath =
        peer >= 0 &&
        Clock::now() - since.load(std::memory_order_relaxed) >= kLong;
    if (absl::Status aborted = state->awaitAbort(isOfPath ? kSoon : kNewsLimit);
        !aborted.ok())
      return aborted;
    if (peer >= 0)
      why = isOfPath ? describePath(peer, "the other rank closed the "
                                          "connection, as its data was not "
                                          "acknowledged")
                     : absl::StrCat(" needs rank ", rank, why);
  }
  state->abort(
      withPlace(absl::UnavailableError(absl::StrCat(describe(), why)), {rank}));
  return state->status();
}

absl::Status PeerWaits::refuse(int peer, const std::string &found) {
  state->abort(withPlace(absl::UnavailableError(absl::StrCat(
                             describe(), ": expected a call of rank ",
                             group.members[peer], ", found ", found)),
                         {group.members[peer]}));
  return state->status();
}

absl::Status PeerWaits::miss(int peer) {
  state->abort(leftBy({group.members[peer]}, describe()));
  return state->status();
}

} // namespace bagua::runtime
