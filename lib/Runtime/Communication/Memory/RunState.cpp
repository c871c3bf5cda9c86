//===- RunState.cpp - A process's knowledge of its run --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Groups are matched by members and name. A wait ends in time, by an abort,
// which reaches every group, or because a missing member has left.
//
//===----------------------------------------------------------------------===//
#include "Communication/Memory/RunState.h"

#include "Communication/CoreUsers.h"
#include "Communication/DurationToString.h"
#include "Communication/StatusCopy.h"
#include "Communication/Timeout.h"
#include "Communication/WorkWatch.h"

#include "bagua/Runtime/ErrorPlace.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include <algorithm>
#include <optional>
#include <set>
#include <thread>
#include <utility>

namespace bagua::runtime {
namespace {

using Clock = std::chrono::steady_clock;

/// The least time that a member has for its part of the work, in which it waits
/// for nobody.
constexpr std::chrono::nanoseconds kLeastWork = std::chrono::seconds(10);

/// The ranks of all runs that this process is in and that are on its host.
CoreUsers liveRanks;

} // namespace

//===----------------------------------------------------------------------===//
// MemoryGroup
//===----------------------------------------------------------------------===//

MemoryGroup::MemoryGroup(std::vector<int> worldRanks, std::string groupName,
                         GroupPlace ownPlace)
    : members(std::move(worldRanks)), name(std::move(groupName)),
      place(std::move(ownPlace)), memory(place.memory, place.shape) {}

std::vector<int> MemoryGroup::missing(uint32_t arrivals) const {
  std::vector<int> result;
  for (int i = 0; i < size(); ++i)
    if (memory.member(i).arrivals.load(std::memory_order_relaxed) != arrivals)
      result.push_back(members[i]);
  return result;
}

//===----------------------------------------------------------------------===//
// Meetings
//===----------------------------------------------------------------------===//

std::string describeCall(const std::string &communicator, int rank,
                         std::string_view what,
                         const CommunicatorOptions &options) {
  std::string text = absl::StrCat(
      "communicator '", communicator,
      "': ", absl::string_view(what.data(), what.size()), " of rank ", rank);
  std::string purpose = options.describeCall ? options.describeCall() : "";
  if (!purpose.empty())
    absl::StrAppend(&text, ", ", purpose, ",");
  return text;
}

absl::Status leftBy(const std::vector<int> &ranks, const std::string &call) {
  bool isOne = ranks.size() == 1;
  return withPlace(absl::UnavailableError(absl::StrCat(
                       call, isOne ? " needs rank " : " needs ranks ",
                       absl::StrJoin(ranks, ", "),
                       isOne ? ", which has left" : ", which have left")),
                   {ranks[0]});
}

RunState::RunState(int worldSize, int ranksOfHost,
                   std::chrono::nanoseconds waitLimit, Announce announce)
    : size(worldSize), timeout(waitLimit), neighbours(ranksOfHost),
      announceAbort(std::move(announce)), isGone(worldSize), isLost(worldSize),
      notes(worldSize) {
  liveRanks.add(neighbours);
  dumpOnSignal();
}

RunState::~RunState() { liveRanks.remove(neighbours); }

absl::Status RunState::meet(const MemoryGroup &group, int member,
                            std::string_view what,
                            const CommunicatorOptions &options) {
  std::atomic<uint32_t> &count = group.memory.member(member).arrivals;
  uint32_t arrivals = count.fetch_add(1, std::memory_order_relaxed) + 1;
  Gate &gate = group.memory.gate();
  Gate::Ticket ticket = gate.arrive();
  const std::chrono::nanoseconds untilWarning = options.timeout / 10;
  auto describe = [&] {
    return describeCall(group.name, group.members[member], what, options);
  };
  bool mayWarn = options.onWarning != nullptr;
  std::chrono::nanoseconds limit = mayWarn ? untilWarning : options.timeout;
  while (true) {
    switch (gate.wait(ticket, limit, liveRanks.haveCoresForAll())) {
    case Gate::Outcome::Passed:
      return absl::OkStatus();
    case Gate::Outcome::Closed:
      return missMember(group, describe());
    case Gate::Outcome::TimedOut:
      break;
    }
    std::vector<int> missing = group.missing(arrivals);
    if (missing.empty()) {
      // The last member has counted itself and is about to enter the gate.
      limit = std::chrono::milliseconds(1);
      continue;
    }
    std::string call = describe();
    if (!std::exchange(mayWarn, false)) {
      absl::Status why = lateStatus(call, options.timeout, missing);
      return giveUp(group, ticket, why) ? missMember(group, call)
                                        : absl::OkStatus();
    }
    options.onWarning(describeWait(call, untilWarning, missing));
    limit = options.timeout - untilWarning;
  }
}

/// One member's wait until others have finished their work.
struct RunState::WorkWait {
  const MemoryGroup &group;
  const uint32_t departures;
  const std::chrono::nanoseconds limit;
  /// The call's name in messages.
  const absl::FunctionRef<std::string()> describe;
  /// When missing members were first looked for, and when an abort was found.
  std::optional<Clock::time_point> begin;
  std::optional<Clock::time_point> aborted;
};

absl::Status RunState::meetAfterWork(const MemoryGroup &group, int member,
                                     std::string_view what,
                                     const CommunicatorOptions &options) {
  const uint32_t departures = group.memory.member(member).departures.fetch_add(
                                  1, std::memory_order_release) +
                              1;
  auto describe = [&] {
    return describeCall(group.name, group.members[member], what, options);
  };
  WorkWait wait = {group,    departures, std::max(options.timeout, kLeastWork),
                   describe, {},         {}};
  const bool haveMet = group.memory.gate().meetAlways(
      liveRanks.haveCoresForAll(), [&] { return isGivenUp(wait); });
  ReachableMemory *reachable = group.place.reachable.get();
  if (haveMet && !(reachable && reachable->isWithdrawn()))
    return absl::OkStatus();
  absl::Status withdrawn;
  if (!haveMet && reachable)
    withdrawn = reachable->withdraw(
        findWorking(group, departures, /*evenIfLost=*/true));
  const absl::Status why = status();
  return withdrawn.ok() ? why
                        : withMessage(why, absl::StrCat(why.message(), "; ",
                                                        withdrawn.message()));
}

/// Whether the missing members are no longer waited for. Aborts the run if they
/// take too long.
bool RunState::isGivenUp(WorkWait &wait) {
  const Clock::time_point now = Clock::now();
  if (!wait.begin) {
    wait.begin = now;
    return false;
  }
  if (status().ok()) {
    if (now - *wait.begin < wait.limit)
      return false;
    const std::vector<int> working =
        findWorking(wait.group, wait.departures, /*evenIfLost=*/true);
    if (!working.empty())
      abort(lateStatus(
          absl::StrCat(wait.describe(), " is done with its part and"),
          wait.limit, working));
    return false;
  }
  if (!wait.aborted)
    wait.aborted = now;
  return findWorking(wait.group, wait.departures, /*evenIfLost=*/false)
             .empty() ||
         (wait.group.place.reachable && now - *wait.aborted >= kNewsLimit);
}

void RunState::depart(const MemoryGroup &group, int member) {
  group.memory.member(member).departures.fetch_add(1,
                                                   std::memory_order_release);
}

void RunState::departAfterAbort(const MemoryGroup &group, int member) {
  // Does not use the gate: others may be at another of its meetings, which must
  // not count this member.
  constexpr std::chrono::microseconds kLook(200);
  depart(group, member);
  const uint32_t departures =
      group.memory.member(member).departures.load(std::memory_order_relaxed);
  const Clock::time_point end = Clock::now() + kNewsLimit;
  while (Clock::now() < end &&
         !findWorking(group, departures, /*evenIfLost=*/false).empty())
    std::this_thread::sleep_for(kLook);
}

/// The world ranks of members that have finished their work fewer times.
std::vector<int> RunState::findWorking(const MemoryGroup &group,
                                       uint32_t departures,
                                       bool evenIfLost) const {
  std::vector<int> working;
  std::lock_guard<std::mutex> lock(mutex);
  for (int i = 0; i < group.size(); ++i)
    if ((evenIfLost || !isLost[group.members[i]]) &&
        group.memory.member(i).departures.load(std::memory_order_acquire) !=
            departures)
      working.push_back(group.members[i]);
  return working;
}

std::string RunState::describeWait(const std::string &call,
                                   std::chrono::nanoseconds waited,
                                   const std::vector<int> &missing) const {
  std::string text = absl::StrCat(
      call, " waited ", durationToString(waited), " for ",
      missing.size() == 1 ? "rank " : "ranks ", absl::StrJoin(missing, ", "));
  std::lock_guard<std::mutex> lock(mutex);
  for (int rank : missing)
    if (!notes[rank].empty())
      absl::StrAppend(&text, "; rank ", rank, ": ", notes[rank]);
  return text;
}

absl::Status RunState::lateStatus(const std::string &call,
                                  std::chrono::nanoseconds waited,
                                  const std::vector<int> &missing) const {
  return withPlace(
      absl::DeadlineExceededError(describeWait(call, waited, missing)),
      {missing.empty() ? -1 : missing[0]});
}

/// Aborts the world because members did not come; returns false if they came
/// just now. Another rank, perhaps in another process, may have aborted first.
bool RunState::giveUp(const MemoryGroup &group, Gate::Ticket ticket,
                      const absl::Status &why) {
  Gate &gate = group.memory.gate();
  {
    // The lock ensures that a rank that finds the gate closed also finds the
    // status.
    std::lock_guard<std::mutex> lock(mutex);
    if (gate.closeUnlessPassed(ticket))
      abortLocked(why, /*isOwn=*/true);
  }
  tellOfAbort();
  return !gate.hasPassed(ticket);
}

/// Why a gate is closed: an abort, or a member that has left, which becomes an
/// abort now. Never Ok.
absl::Status RunState::missMember(const MemoryGroup &group,
                                  const std::string &call) {
  absl::Status result;
  {
    NotAtWork waiting;
    std::unique_lock<std::mutex> lock(mutex);
    std::vector<int> left;
    for (int i = 0; i < group.size(); ++i) {
      const MemberState &member = group.memory.member(i);
      if (member.hasLeft || (!member.hasJoined && isGone[group.members[i]]))
        left.push_back(group.members[i]);
    }
    // Another process has closed the gate, and its reason is on the way.
    if (group.memory.isAborted() || left.empty())
      aborted.wait_for(lock, kNewsLimit, [this] { return !abortStatus.ok(); });
    abortLocked(left.empty() ? absl::UnavailableError(absl::StrCat(
                                   call, " was ended by another process, which "
                                         "didn't say why"))
                             : leftBy(left, call),
                /*isOwn=*/true);
    result = statusLocked();
  }
  tellOfAbort();
  return result;
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

absl::Status checkCreation(const std::vector<int> &members,
                           const std::string &name,
                           const CommunicatorOptions &options, int rank,
                           int size) {
  if (absl::Status status = checkTimeout(options.timeout); !status.ok())
    return withMessage(
        status, absl::StrCat("communicator '", name, "': ", status.message()));
  // The name is part of keys that ranks tell each other.
  constexpr size_t kMostName = 4096;
  if (name.size() > kMostName)
    return absl::InvalidArgumentError(
        absl::StrCat("communicator '", name.substr(0, 32),
                     "...': expected a name of at most ", kMostName,
                     " bytes, found ", name.size()));
  std::set<int> distinct(members.begin(), members.end());
  if (distinct.size() == members.size() && distinct.count(rank) > 0 &&
      *distinct.begin() >= 0 && *distinct.rbegin() < size)
    return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "communicator '", name, "': members must be distinct ranks in [0, ", size,
      ") with rank ", rank, " among them, got [", absl::StrJoin(members, ", "),
      "]"));
}

static absl::Status existsAlready(const std::vector<int> &all,
                                  const std::string &name, int rank) {
  return absl::InvalidArgumentError(absl::StrCat(
      "communicator '", name, "' of ranks [", absl::StrJoin(all, ", "),
      "] exists already on rank ", rank));
}

absl::Status RunState::checkNew(const std::vector<int> &all,
                                const std::vector<int> &members,
                                const std::string &name, int member) const {
  std::lock_guard<std::mutex> lock(mutex);
  auto found = groups.find({all, name});
  return found != groups.end() && found->second.joined[member]
             ? existsAlready(all, name, members[member])
             : absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<MemoryGroup>>
RunState::joinGroup(const std::vector<int> &all,
                    const std::vector<int> &members, const std::string &name,
                    int member,
                    absl::FunctionRef<absl::StatusOr<GroupPlace>()> makePlace) {
  std::lock_guard<std::mutex> lock(mutex);
  if (!abortStatus.ok())
    return statusLocked();
  Entry &entry = groups[{all, name}];
  entry.joined.resize(members.size());
  if (entry.joined[member])
    return existsAlready(all, name, members[member]);
  std::shared_ptr<MemoryGroup> group = entry.group.lock();
  if (!group) {
    absl::StatusOr<GroupPlace> place = makePlace();
    if (!place.ok())
      return place.status();
    group = std::make_shared<MemoryGroup>(members, name, *std::move(place));
    entry.group = group;
  }
  entry.joined[member] = true;
  group->memory.member(member).hasJoined = true;
  if (isShort(*group))
    group->memory.gate().close();
  return group;
}

/// Whether a member will never join.
bool RunState::isShort(const MemoryGroup &group) const {
  for (int i = 0; i < group.size(); ++i)
    if (isGone[group.members[i]] && !group.memory.member(i).hasJoined)
      return true;
  return false;
}

void RunState::leaveGroup(const MemoryGroup &group, int member) {
  group.memory.member(member).hasLeft = true;
  group.memory.gate().close();
}

void RunState::leave(int rank) {
  {
    std::lock_guard<std::mutex> lock(handlerMutex);
    handlers.erase(handlers.lower_bound({rank, nullptr}),
                   handlers.lower_bound({rank + 1, nullptr}));
  }
  std::lock_guard<std::mutex> lock(mutex);
  isGone[rank] = true;
  for (auto &[key, entry] : groups)
    if (std::shared_ptr<MemoryGroup> group = entry.group.lock())
      if (isShort(*group))
        group->memory.gate().close();
}

void RunState::lose(int rank, const absl::Status &why) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    isGone[rank] = isLost[rank] = true;
    // The other ranks can't be heard any more, so they can't be waited for
    // either.
    if (rank == 0)
      isLost.assign(isLost.size(), true);
    abortLocked(withPlace(why, {rank}), /*isOwn=*/false);
  }
  tellOfAbort();
}

/// Whether a member has come to a meeting that another member has not.
static bool isAhead(const MemoryGroup &group, int member) {
  const uint32_t arrivals = group.memory.member(member).arrivals;
  for (int i = 0; i < group.size(); ++i)
    if (static_cast<int32_t>(arrivals - group.memory.member(i).arrivals) > 0)
      return true;
  return false;
}

bool RunState::hasLeft(int rank) const {
  std::lock_guard<std::mutex> lock(mutex);
  return isGone[rank];
}

bool RunState::isWaiting() const {
  std::lock_guard<std::mutex> lock(mutex);
  for (const auto &[key, entry] : groups) {
    const std::shared_ptr<MemoryGroup> group = entry.group.lock();
    for (int i = 0; group && i < group->size(); ++i)
      if (entry.joined[i] && isAhead(*group, i))
        return true;
  }
  return false;
}

void RunState::note(int rank, const std::string &what) {
  std::lock_guard<std::mutex> lock(mutex);
  notes[rank] = what;
}

//===----------------------------------------------------------------------===//
// Reports
//===----------------------------------------------------------------------===//

void RunState::appendWaits(std::string &text) const {
  absl::StrAppend(&text, "  world of ", size, " ranks");
  std::unique_lock<std::mutex> lock = tryFor(mutex);
  if (!lock) {
    text += ": a thread that hangs keeps its state\n";
    return;
  }
  absl::StrAppend(&text, abortStatus.ok() ? "" : ", whose run has ended: ",
                  abortStatus.message(), "\n");
  for (int rank = 0; rank < size; ++rank) {
    if (isGone[rank])
      absl::StrAppend(&text, "    rank ", rank,
                      isLost[rank] ? " is lost\n" : " has left\n");
    if (!notes[rank].empty())
      absl::StrAppend(&text, "    rank ", rank, ": ", notes[rank], "\n");
  }
  for (auto &[key, entry] : groups)
    if (std::shared_ptr<MemoryGroup> group = entry.group.lock())
      appendGroup(text, *group, entry);
}

/// Appends which members on this host have come to the call in progress.
void RunState::appendGroup(std::string &text, const MemoryGroup &group,
                           const Entry &entry) const {
  uint32_t latest = 0;
  for (int i = 0; i < group.size(); ++i)
    if (entry.joined[i])
      latest = std::max(latest, group.memory.member(i).arrivals.load());
  std::vector<int> come, missing;
  for (int i = 0; i < group.size(); ++i)
    (group.memory.member(i).arrivals.load() < latest ? missing : come)
        .push_back(group.members[i]);
  absl::StrAppend(&text, "    communicator '", group.name, "': meeting ",
                  latest, ", ranks ", absl::StrJoin(come, ", "), " have come");
  if (!missing.empty())
    absl::StrAppend(&text, ", ranks ", absl::StrJoin(missing, ", "),
                    " have not");
  text += "\n";
}

//===----------------------------------------------------------------------===//
// Aborts
//===----------------------------------------------------------------------===//

static absl::Status reasonOf(const absl::Status &why) {
  return why.ok() ? absl::AbortedError("aborted without a reason") : why;
}

void RunState::abort(const absl::Status &why) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    abortLocked(reasonOf(why), /*isOwn=*/true);
  }
  tellOfAbort();
}

void RunState::abortBy(int rank, const absl::Status &why) {
  abort(withPlace(duplicate(reasonOf(why)), {rank}));
}

/// `isOwn` means that other processes must still be told.
void RunState::abortLocked(const absl::Status &why, bool isOwn) {
  if (!abortStatus.ok())
    return;
  abortStatus = duplicate(why);
  mustAnnounce = isOwn && announceAbort;
  aborted.notify_all();
  for (auto &[key, entry] : groups)
    if (std::shared_ptr<MemoryGroup> group = entry.group.lock()) {
      group->memory.isAborted() = true;
      group->memory.gate().close();
    }
}

void RunState::abortFromAfar(const absl::Status &why) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    abortLocked(why, /*isOwn=*/false);
  }
  tellOfAbort();
}

/// Tells all that have not been told, if the world is aborted.
void RunState::tellOfAbort() {
  absl::Status why;
  bool isOwn = false;
  {
    std::lock_guard<std::mutex> lock(mutex);
    why = statusLocked();
    isOwn = std::exchange(mustAnnounce, false);
  }
  if (why.ok())
    return;
  if (isOwn)
    announceAbort(why);
  std::lock_guard<std::mutex> lock(handlerMutex);
  for (auto &[key, handler] : handlers)
    if (handler)
      std::exchange(handler, nullptr)();
}

void RunState::onAbort(int rank, const void *owner,
                       std::function<void()> handler) {
  {
    std::lock_guard<std::mutex> lock(handlerMutex);
    if (handler)
      handlers[{rank, owner}] = std::move(handler);
    else
      handlers.erase({rank, owner});
  }
  tellOfAbort();
}

absl::Status RunState::status() const {
  std::lock_guard<std::mutex> lock(mutex);
  return statusLocked();
}

absl::Status RunState::awaitAbort(std::chrono::nanoseconds limit) {
  NotAtWork waiting;
  std::unique_lock<std::mutex> lock(mutex);
  aborted.wait_for(lock, limit, [this] { return !abortStatus.ok(); });
  return statusLocked();
}

absl::Status RunState::statusLocked() const { return duplicate(abortStatus); }

} // namespace bagua::runtime
