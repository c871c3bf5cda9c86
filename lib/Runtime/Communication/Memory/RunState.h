//===- RunState.h - What a process knows of a run -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The status of an abort, who has left, what ranks say they are busy with, and
// the groups that ranks of this process are in. The collectives themselves are
// in MemoryCommunicator.
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

/// Memory for a group to meet in, made for it.
struct GroupPlace {
  GroupShape shape;
  /// GroupMemory::bytesFor(shape), initialized.
  std::byte *memory = nullptr;
  /// Frees it.
  std::shared_ptr<void> owner;
  /// What members can reach of each other.
  AddressSpace addresses;
  /// Of this member, where others write to it by mappings of their own. Null:
  /// members are threads of one process, which can't be kept from it.
  std::shared_ptr<ReachableMemory> reachable;
};

/// The members of a communicator, or those of one host, and where they meet.
struct MemoryGroup {
  MemoryGroup(std::vector<int> worldRanks, std::string groupName,
              GroupPlace ownPlace);

  int size() const { return static_cast<int>(members.size()); }

  /// World ranks of the members which have not arrived as often as `arrivals`.
  std::vector<int> missing(uint32_t arrivals) const;

  const std::vector<int> members;
  const std::string name;
  const GroupPlace place;
  const GroupMemory memory;
};

/// Shared by the worlds of this process's ranks and by their communicators: the
/// last one to go frees it.
class RunState {
public:
  /// Told, on the thread that aborts, of an abort that began in this process.
  using Announce = std::function<void(const absl::Status &)>;

  /// `neighbours`: ranks of the run that share this host's cores.
  RunState(int worldSize, int neighbours, std::chrono::nanoseconds waitLimit,
           Announce announceAbort = {});
  ~RunState();
  RunState(const RunState &) = delete;
  RunState &operator=(const RunState &) = delete;

  /// Meets the other members of `group` for `what`.
  absl::Status meet(const MemoryGroup &group, int member, std::string_view what,
                    const CommunicatorOptions &options);
  /// Meets those whose work on this member's buffers is not done. They wait for
  /// nobody until they come here too, so an abort doesn't end this. Who takes
  /// longer than the limit (at least 10 s) has the run aborted. Who is lost, or
  /// not done for 10 s after an abort, is given up: then the call has failed,
  /// and what the rank has allocated is withdrawn from those. Threads of one
  /// process are never given up, for nothing would keep them from its memory.
  absl::Status meetAfterWork(const MemoryGroup &group, int member,
                             std::string_view what,
                             const CommunicatorOptions &options);
  /// In its place, for a member that has not worked, or whose work has failed:
  /// it is not waited for any longer.
  void depart(const MemoryGroup &group, int member);
  /// The same after an abort, and then waits for all others, whose work an
  /// abort ends; for 10 s at most. They only read what is this member's.
  void departAfterAbort(const MemoryGroup &group, int member);

  /// Those of `all` members of the communicator of this name that are on this
  /// host, this rank among them as `members[member]`; `makePlace` is asked
  /// where no rank of this process has joined it.
  absl::StatusOr<std::shared_ptr<MemoryGroup>>
  joinGroup(const std::vector<int> &all, const std::vector<int> &members,
            const std::string &name, int member,
            absl::FunctionRef<absl::StatusOr<GroupPlace>()> makePlace);

  /// What joinGroup says where it would be the second time, for who has to make
  /// a place before.
  absl::Status checkNew(const std::vector<int> &all,
                        const std::vector<int> &members,
                        const std::string &name, int member) const;

  /// A member needs the group no longer: nobody meets there again.
  static void leaveGroup(const MemoryGroup &group, int member);
  /// A rank joins no further group.
  void leave(int rank);
  /// A rank's process is no more: it touches no memory, and comes nowhere. As
  /// another process has found. With rank 0 all others are out of reach.
  void lose(int rank, const absl::Status &why);

  /// Whether a rank joins no further group.
  bool hasLeft(int rank) const;
  /// Whether one of this process waits for a neighbour at a meeting.
  bool isWaiting() const;

  void note(int rank, const std::string &what);
  /// DeadlineExceeded, of `missing` who did not come in time.
  absl::Status lateStatus(const std::string &call,
                          std::chrono::nanoseconds waited,
                          const std::vector<int> &missing) const;
  /// "... waited 5s for ranks 1, 2; rank 2: ...", with what the missing ones
  /// say.
  std::string describeWait(const std::string &call,
                           std::chrono::nanoseconds waited,
                           const std::vector<int> &missing) const;

  /// Appends what ranks of this process wait for, line by line (Waits.h).
  void appendWaits(std::string &text) const;

  void abort(const absl::Status &why);
  /// The same of what speaks of this rank, where it speaks of none.
  void abortBy(int rank, const absl::Status &why);
  /// The same, where another process began it.
  void abortFromAfar(const absl::Status &why);
  absl::Status status() const;
  /// The same, once there is an abort; Ok where there was none within `limit`.
  absl::Status awaitAbort(std::chrono::nanoseconds limit);
  /// A rank's handlers go when it leaves, but for the runtime's own: a
  /// communicator may outlive its world.
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

  /// The group is owned by its communicators; the entry stays, so that a name
  /// is not used twice.
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
  /// Whether announceAbort is still to be told.
  bool mustAnnounce = false;
  std::map<std::pair<std::vector<int>, std::string>, Entry> groups;
  /// By rank.
  std::vector<bool> isGone;
  std::vector<bool> isLost;
  std::vector<std::string> notes;

  /// Held while handlers run; taken before `mutex`.
  std::mutex handlerMutex;
  /// By rank and owner.
  std::map<std::pair<int, const void *>, std::function<void()>> handlers;

  const WaitReport report{[this](std::string &text) { appendWaits(text); }};
};

/// "communicator 'grads': all_reduce of rank 0", and what it is for.
std::string describeCall(const std::string &communicator, int rank,
                         std::string_view what,
                         const CommunicatorOptions &options);

/// Unavailable: what a call needs of ranks that have left.
absl::Status leftBy(const std::vector<int> &ranks, const std::string &call);

/// Within which an abort is known to all processes.
constexpr std::chrono::seconds kNewsLimit(10);

/// InvalidArgument unless the members are distinct ranks of the run, `rank`
/// among them, and the limit is one.
absl::Status checkCreation(const std::vector<int> &members,
                           const std::string &name,
                           const CommunicatorOptions &options, int rank,
                           int size);

/// Of checked members that can reach each other's memory; errors are those of
/// World::createCommunicator and of `makePlace`. In MemoryCommunicator.cpp.
absl::StatusOr<std::unique_ptr<Communicator>> createMemoryCommunicator(
    std::shared_ptr<RunState> state, int rank, const std::vector<int> &members,
    const std::string &name, const CommunicatorOptions &options,
    absl::FunctionRef<absl::StatusOr<GroupPlace>()> makePlace);

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_COMMUNICATION_MEMORY_RUNSTATE_H
