//===- InProcessWorld.cpp - Ranks that are threads of this process --------===//
//
// Groups are matched by members and name. Waits end in time, by an abort, which
// reaches every group, or because a member that is missing has left.
//
//===----------------------------------------------------------------------===//
#include "Communication/InProcess/InProcessWorld.h"

#include "Communication/StatusCopy.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"

#include <algorithm>
#include <set>
#include <thread>
#include <utility>

namespace bagua::runtime {
namespace {

// Up to here a second meeting costs more than what staging adds, which is that
// each member reads all inputs. Measured: meetings cost more with more members,
// and most where members share a core.
int64_t stageBytesFor(size_t members) {
  return std::clamp<int64_t>(1024 * members, 4096, 8192);
}

/// "communicator 'grads': all_reduce of rank 0", and what it is for.
std::string describeCall(const InProcessGroup &group, int member,
                         std::string_view what,
                         const CommunicatorOptions &options) {
  std::string text =
      absl::StrCat("communicator '", group.name,
                   "': ", absl::string_view(what.data(), what.size()),
                   " of rank ", group.members[member]);
  std::string purpose = options.describeCall ? options.describeCall() : "";
  if (!purpose.empty())
    absl::StrAppend(&text, ", ", purpose, ",");
  return text;
}

/// Ranks of all worlds of this process.
std::atomic<int> &liveRanks() {
  static std::atomic<int> count{0};
  return count;
}

class InProcessWorld final : public World {
public:
  InProcessWorld(std::shared_ptr<InProcessState> sharedState, int worldRank)
      : state(std::move(sharedState)), ownRank(worldRank) {}
  ~InProcessWorld() override { state->leave(ownRank); }

  int rank() const override { return ownRank; }
  int size() const override { return state->size; }

  std::chrono::nanoseconds timeout() const override { return state->timeout; }

  absl::StatusOr<std::unique_ptr<Communicator>>
  createCommunicator(const std::vector<int> &members, const std::string &name,
                     const CommunicatorOptions &options) override;

  void note(const std::string &what) override { state->note(ownRank, what); }
  void abort(const absl::Status &why) override { state->abort(why); }
  absl::Status status() const override { return state->status(); }
  void onAbort(std::function<void()> handler) override {
    state->onAbort(ownRank, std::move(handler));
  }

private:
  std::shared_ptr<InProcessState> state;
  const int ownRank;
};

absl::StatusOr<std::unique_ptr<Communicator>>
InProcessWorld::createCommunicator(const std::vector<int> &members,
                                   const std::string &name,
                                   const CommunicatorOptions &options) {
  std::set<int> distinct(members.begin(), members.end());
  auto self = std::find(members.begin(), members.end(), ownRank);
  if (distinct.size() != members.size() || self == members.end() ||
      *distinct.begin() < 0 || *distinct.rbegin() >= state->size)
    return absl::InvalidArgumentError(absl::StrCat(
        "communicator '", name, "': members must be distinct ranks in [0, ",
        state->size, ") with rank ", ownRank, " among them, got [",
        absl::StrJoin(members, ", "), "]"));

  int member = static_cast<int>(self - members.begin());
  auto group = state->joinGroup(members, name, member);
  if (!group.ok())
    return group.status();
  absl::Status met =
      state->meet(**group, member, "create_communicator", options);
  if (!met.ok())
    return met;
  return makeInProcessCommunicator(state, *std::move(group), member, options);
}

} // namespace

//===----------------------------------------------------------------------===//
// InProcessGroup
//===----------------------------------------------------------------------===//

InProcessGroup::InProcessGroup(std::vector<int> worldRanks,
                               std::string groupName)
    : members(std::move(worldRanks)), name(std::move(groupName)),
      stageBytes(stageBytesFor(members.size())), gate(size()),
      arrivalCounts(members.size()), hasLeft(members.size()),
      stages(2 * members.size() * stageBytes) {
  for (auto &turn : calls) {
    turn.resize(members.size());
    // Owners are at most all members, peers usually too.
    for (CollectiveCall &call : turn) {
      call.ranks.reserve(2 * members.size());
      call.destinations.reserve(2 * members.size());
    }
  }
}

std::vector<int> InProcessGroup::missing(uint32_t arrivals) const {
  std::vector<int> result;
  for (size_t i = 0; i < members.size(); ++i) {
    uint32_t count = arrivalCounts[i].value.load(std::memory_order_relaxed);
    if (count != arrivals)
      result.push_back(members[i]);
  }
  return result;
}

//===----------------------------------------------------------------------===//
// InProcessState
//===----------------------------------------------------------------------===//

InProcessState::InProcessState(int worldSize,
                               std::chrono::nanoseconds waitLimit)
    : size(worldSize), timeout(waitLimit), isGone(worldSize), notes(worldSize),
      handlers(worldSize) {
  liveRanks() += size;
}

InProcessState::~InProcessState() { liveRanks() -= size; }

bool InProcessState::hasCoresForAll() {
  static const int cores =
      static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  return liveRanks().load(std::memory_order_relaxed) <= cores;
}

absl::Status InProcessState::meet(InProcessGroup &group, int member,
                                  std::string_view what,
                                  const CommunicatorOptions &options) {
  std::atomic<uint32_t> &count = group.arrivalCounts[member].value;
  uint32_t arrivals = count.fetch_add(1, std::memory_order_relaxed) + 1;
  InProcessGate::Ticket ticket = group.gate.arrive();
  const std::chrono::nanoseconds untilWarning = options.timeout / 10;
  bool mayWarn = options.onWarning != nullptr;
  std::chrono::nanoseconds limit = mayWarn ? untilWarning : options.timeout;
  while (true) {
    switch (group.gate.wait(ticket, limit, hasCoresForAll())) {
    case InProcessGate::Outcome::Passed:
      return absl::OkStatus();
    case InProcessGate::Outcome::Closed:
      return missMember(group, describeCall(group, member, what, options));
    case InProcessGate::Outcome::TimedOut:
      break;
    }
    std::vector<int> missing = group.missing(arrivals);
    if (missing.empty()) {
      // The last one has counted itself and is about to enter the gate.
      limit = std::chrono::milliseconds(1);
      continue;
    }
    std::string call = describeCall(group, member, what, options);
    if (!std::exchange(mayWarn, false))
      return giveUp(group, ticket,
                    absl::DeadlineExceededError(
                        describeWait(call, options.timeout, missing)));
    options.onWarning(describeWait(call, untilWarning, missing));
    limit = options.timeout - untilWarning;
  }
}

/// "... waited 5s for ranks 1, 2; rank 2: ...", with what the missing ones say.
std::string
InProcessState::describeWait(const std::string &call,
                             std::chrono::nanoseconds waited,
                             const std::vector<int> &missing) const {
  std::string text = absl::StrCat(
      call, " waited ", absl::FormatDuration(absl::FromChrono(waited)), " for ",
      missing.size() == 1 ? "rank " : "ranks ", absl::StrJoin(missing, ", "));
  std::lock_guard<std::mutex> lock(mutex);
  for (int rank : missing)
    if (!notes[rank].empty())
      absl::StrAppend(&text, "; rank ", rank, ": ", notes[rank]);
  return text;
}

/// Aborts the world because of members that did not come, unless they came just
/// now or somebody else was first.
absl::Status InProcessState::giveUp(InProcessGroup &group,
                                    InProcessGate::Ticket ticket,
                                    const absl::Status &why) {
  absl::Status result;
  {
    // Under the lock, so that whoever finds the gate closed finds the status
    // too.
    std::lock_guard<std::mutex> lock(mutex);
    if (group.gate.closeUnlessPassed(ticket))
      abortLocked(why);
    if (!group.gate.hasPassed(ticket))
      result = statusLocked();
  }
  callHandlers();
  return result;
}

/// Why a gate is closed: an abort, or a member that has left, which is one from
/// now on.
absl::Status InProcessState::missMember(InProcessGroup &group,
                                        const std::string &call) {
  absl::Status result;
  {
    std::lock_guard<std::mutex> lock(mutex);
    const Entry &entry = groups[{group.members, group.name}];
    std::vector<int> left;
    for (size_t i = 0; i < group.members.size(); ++i)
      if (group.hasLeft[i] || (!entry.joined[i] && isGone[group.members[i]]))
        left.push_back(group.members[i]);
    abortLocked(absl::UnavailableError(
        absl::StrCat(call, " needs ", left.size() == 1 ? "rank " : "ranks ",
                     absl::StrJoin(left, ", "), ", which ",
                     left.size() == 1 ? "has left" : "have left")));
    result = statusLocked();
  }
  callHandlers();
  return result;
}

absl::StatusOr<std::shared_ptr<InProcessGroup>>
InProcessState::joinGroup(const std::vector<int> &members,
                          const std::string &name, int member) {
  std::lock_guard<std::mutex> lock(mutex);
  if (!abortStatus.ok())
    return statusLocked();
  Entry &entry = groups[{members, name}];
  entry.joined.resize(members.size());
  if (entry.joined[member])
    return absl::InvalidArgumentError(absl::StrCat(
        "communicator '", name, "' of ranks [", absl::StrJoin(members, ", "),
        "] exists already on rank ", members[member]));
  entry.joined[member] = true;
  std::shared_ptr<InProcessGroup> group = entry.group.lock();
  if (!group) {
    group = std::make_shared<InProcessGroup>(members, name);
    entry.group = group;
  }
  for (size_t i = 0; i < members.size(); ++i)
    if (!entry.joined[i] && isGone[members[i]])
      group->gate.close();
  return group;
}

void InProcessState::leaveGroup(InProcessGroup &group, int member) {
  std::lock_guard<std::mutex> lock(mutex);
  group.hasLeft[member] = true;
  group.gate.close();
}

void InProcessState::leave(int rank) {
  onAbort(rank, nullptr);
  std::lock_guard<std::mutex> lock(mutex);
  isGone[rank] = true;
  for (auto &[key, entry] : groups) {
    const std::vector<int> &members = key.first;
    auto place = std::find(members.begin(), members.end(), rank);
    std::shared_ptr<InProcessGroup> group = entry.group.lock();
    if (group && place != members.end() &&
        !entry.joined[place - members.begin()])
      group->gate.close();
  }
}

void InProcessState::note(int rank, const std::string &what) {
  std::lock_guard<std::mutex> lock(mutex);
  notes[rank] = what;
}

void InProcessState::abort(const absl::Status &why) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    abortLocked(why.ok() ? absl::AbortedError("aborted without a reason")
                         : why);
  }
  callHandlers();
}

/// Those that are left, once the world is aborted.
void InProcessState::callHandlers() {
  std::lock_guard<std::mutex> lock(handlerMutex);
  if (status().ok())
    return;
  for (std::function<void()> &handler : handlers)
    if (handler)
      std::exchange(handler, nullptr)();
}

void InProcessState::onAbort(int rank, std::function<void()> handler) {
  {
    std::lock_guard<std::mutex> lock(handlerMutex);
    handlers[rank] = std::move(handler);
  }
  callHandlers();
}

void InProcessState::abortLocked(const absl::Status &why) {
  if (!abortStatus.ok())
    return;
  abortStatus = duplicate(why);
  for (auto &[key, entry] : groups)
    if (std::shared_ptr<InProcessGroup> group = entry.group.lock())
      group->gate.close();
}

absl::Status InProcessState::status() const {
  std::lock_guard<std::mutex> lock(mutex);
  return statusLocked();
}

absl::Status InProcessState::statusLocked() const {
  return duplicate(abortStatus);
}

//===----------------------------------------------------------------------===//
// Public interface
//===----------------------------------------------------------------------===//

std::vector<std::unique_ptr<World>>
createInProcessWorlds(int size, std::chrono::nanoseconds timeout) {
  auto state = std::make_shared<InProcessState>(size, timeout);
  std::vector<std::unique_ptr<World>> worlds;
  worlds.reserve(static_cast<size_t>(size));
  for (int rank = 0; rank < size; ++rank)
    worlds.push_back(std::make_unique<InProcessWorld>(state, rank));
  return worlds;
}

} // namespace bagua::runtime
