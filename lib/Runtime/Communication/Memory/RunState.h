//===- RunState.h - A process's knowledge of its run ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The status of an abort, the ranks that have left, what ranks say they are
// busy with, and the groups that ranks of this process are in. The collectives
// themselves are in MemoryCommunicator.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_COMMUNICATION_MEMORY_RUNSTATE_H
#define BAGUA_LIB_RUNTIME_COMMUNICATION_MEMORY_RUNSTATE_H

#include "Communication/Memory/AddressSpace.h"
#include "Communication/Memory/GroupMemory.h"
#include "Communication/WaitReport.h"

#include "bagua/Runtime/Communicator.h"

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bagua::runtime {

/// The memory made for a group to meet in.
struct GroupPlace {
  GroupShape shape;
  /// Initialized memory of GroupMemory::bytesFor(shape).
  std::byte *memory = nullptr;
  /// Frees the memory.
  std::shared_ptr<void> owner;
  /// The addresses that members can reach.
  AddressSpace addresses;
  /// The memory of this member, if other members write to it by their own
  /// mappings. Null if members are threads of one process, which can't be kept
  /// from it.
  std::shared_ptr<ReachableMemory> reachable;
};

/// The members of a communicator, or those on one host, and where they meet.
struct MemoryGroup {
  MemoryGroup(std::vector<int> worldRanks, std::string groupName,
              GroupPlace ownPlace);

  int size() const { return static_cast<int>(members.size()); }

  /// The world ranks of members that have not arrived `arrivals` times.
  std::vector<int> missing(uint32_t arrivals) const;

  const std::vector<int> members;
  const std::string name;
  const GroupPlace place;
  const GroupMemory memory;
};

/// Shared by the worlds of this process's ranks and by their communicators;
/// freed with the last of them.
class RunState {
public:
  /// Called for an abort that began in this process, on the aborting thread.
  using Announce = std::function<void(const absl::Status &)>;

  /// `neighbours` is the number of ranks of the run that share this host's
  /// cores.
  RunState(int worldSize, int neighbours, std::chrono::nanoseconds waitLimit,
           Announce announceAbort = {});
  ~RunState();
  RunState(const RunState &) = delete;
  RunState &operator=(const RunState &) = delete;

  /// Meets the other members of `group`; `what` names the call in messages.
  absl::Status meet(const MemoryGroup &group, int member, std::string_view what,
                    const CommunicatorOptions &options);
  /// Meets the members that may still work on this member's buffers. They wait
  /// for nobody until they come here, too, so an abort doesn't end this wait. A
  /// member that takes longer than the timeout (at least 10 s) makes the run
  /// abort. A member that is lost, or not done 10 s after an abort, is given
  /// up: then the call has failed, and the memory that this rank has allocated
  /// is withdrawn from that member. Threads of one process are never given up,
  /// for nothing would keep them from its memory.
  absl::Status meetAfterWork(const MemoryGroup &group, int member,
                             std::string_view what,
                             const CommunicatorOptions &options);
  /// Replaces meetAfterWork for a member that has not worked or whose work has
  /// failed: others don't wait for it any longer.
  void depart(const MemoryGroup &group, int member);
  /// Departs after an abort, and then waits for all others, whose work an abort
  /// ends, for 10 s at most. The others only read this member's memory.
  void departAfterAbort(const MemoryGroup &group, int member);

  /// Joins the group of those of `all` members that are on this host, for the
  /// communicator of this name. This rank is `members[member]`. `makePlace` is
  /// called if no rank of this process has joined the group before.
  absl::StatusOr<std::shared_ptr<MemoryGroup>>
  joinGroup(const std::vector<int> &all, const std::vector<int> &members,
            const std::string &name, int member,
            absl::FunctionRef<absl::StatusOr<GroupPlace>()> makePlace);

  /// The error of joinGroup if this rank has joined the group already, for
  /// callers that must make a place first.
  absl::Status checkNew(const std::vector<int> &all,
                        const std::vector<int> &members,
                        const std::string &name, int member) const;

  /// Says that a member won't come to the group's meetings any more.
  static void leaveGroup(const MemoryGroup &group, int member);
  /// Says that a rank joins no further group.
  void leave(int rank);
  /// Says that a rank's process, as another process has found, has ended: it
  /// touches no memory and comes to no meeting. If rank 0 is lost, all other
  /// ranks are unreachable.
  void lose(int rank, const absl::Status &why);

  /// Whether a rank joins no further group.
  bool hasLeft(int rank) const;
  /// Whether a rank of this process waits for a neighbour at a meeting.
  bool isWaiting() const;

  void note(int rank, const std::string &what);
  /// DeadlineExceeded, naming the `missing` ranks that did not come in time.
  absl::Status lateStatus(const std::string &call,
                          std::chrono::nanoseconds waited,
                          const std::vector<int> &missing) const;
  /// "... waited 5s for ranks 1, 2; rank 2: ...", with what the missing ranks
  /// say they are busy with.
  std::string describeWait(const std::string &call,
                           std::chrono::nanoseconds waited,
                           const std::vector<int> &missing) const;

  /// Appends what ranks of this process wait for, line by line (Waits.h).
  void appendWaits(std::string &text) const;

  void abort(const absl::Status &why);
  /// Aborts with `why`; the error names this rank if it names none.
  void abortBy(int rank, const absl::Status &why);
  /// Aborts with an error that began in another process.
  void abortFromAfar(const absl::Status &why);
  absl::Status status() const;
  /// Waits up to `limit` for an abort; returns its status, or Ok if there was
  /// none.
  absl::Status awaitAbort(std::chrono::nanoseconds limit);
  /// The owner rank of the runtime's own handlers. A rank's handlers are
  /// removed when it leaves, but these stay: a communicator may outlive its
  /// world.
  static constexpr int kRuntime = -1;
  void onAbort(int rank, const void *owner, std::function<void()> handler);

  const int size;
  const std::chrono::nanoseconds timeout;

private:
  bool giveUp(const MemoryGroup &group, Gate::Ticket ticket,
              const absl::Status &why);
  absl::Status missMember(const MemoryGroup &group, const std::string &call);
  absl::Status statusLocked() const;
  void abortLocked(const absl::Status &why, bool isOwn);
  void tellOfAbort();
  bool isShort(const MemoryGroup &group) const;
  struct WorkWait;
  bool isGivenUp(WorkWait &wait);
  std::vector<int> findWorking(const MemoryGroup &group, uint32_t departures,
                               bool evenIfLost) const;

  /// The communicators own the group. The entry stays, so that a name is not
  /// used twice.
  struct Entry {
    std::weak_ptr<MemoryGroup> group;
    std::vector<bool> joined;
  };

  void appendGroup(std::string &text, const MemoryGroup &group,
                   const Entry &entry) const;

  const int neighbours;
  const Announce announceAbort;

  mutable std::mutex mutex;
  std::condition_variable aborted;
  absl::Status abortStatus;
  /// Whether announceAbort must still be called.
  bool mustAnnounce = false;
  std::map<std::pair<std::vector<int>, std::string>, Entry> groups;
  /// Indexed by rank.
  std::vector<bool> isGone;
  std::vector<bool> isLost;
  std::vector<std::string> notes;

  /// Held while handlers run; locked before `mutex`.
  std::mutex handlerMutex;
  /// By rank and owner.
  std::map<std::pair<int, const void *>, std::function<void()>> handlers;

  const WaitReport report{[this](std::string &text) { appendWaits(text); }};
};

/// "communicator 'grads': all_reduce of rank 0", and what the call is for.
std::string describeCall(const std::string &communicator, int rank,
                         std::string_view what,
                         const CommunicatorOptions &options);

/// Unavailable: a call needs ranks that have left.
absl::Status leftBy(const std::vector<int> &ranks, const std::string &call);

/// The time within which all processes know of an abort.
constexpr std::chrono::seconds kNewsLimit(10);

/// InvalidArgument unless the members are distinct ranks of the run and include
/// `rank`, and the timeout is valid.
absl::Status checkCreation(const std::vector<int> &members,
                           const std::string &name,
                           const CommunicatorOptions &options, int rank,
                           int size);

/// Creates a communicator of checked members that can reach each other's
/// memory. Errors are those of World::createCommunicator and of `makePlace`. In
/// MemoryCommunicator.cpp.
absl::StatusOr<std::unique_ptr<Communicator>> createMemoryCommunicator(
    std::shared_ptr<RunState> state, int rank, const std::vector<int> &members,
    const std::string &name, const CommunicatorOptions &options,
    absl::FunctionRef<absl::StatusOr<GroupPlace>()> makePlace);

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_COMMUNICATION_MEMORY_RUNSTATE_H
