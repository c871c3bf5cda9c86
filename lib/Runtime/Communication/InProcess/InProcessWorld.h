//===- InProcessWorld.h - Ranks that are threads of this process ----------===//
//
// What the ranks of an in-process world share: the status of an abort, the
// groups by name, and in each group the members' calls and staged inputs. The
// collectives themselves are in InProcessCommunicator.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_COMMUNICATION_INPROCESS_INPROCESSWORLD_H
#define BAGUA_LIB_RUNTIME_COMMUNICATION_INPROCESS_INPROCESSWORLD_H

#include "Communication/CollectiveCall.h"
#include "Communication/InProcess/InProcessGate.h"

#include "bagua/Runtime/Communicator.h"

#include "absl/status/status.h"

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace bagua::runtime {

/// The members of a communicator, and where they meet.
///
/// Calls and stages exist twice and are used in turn. A member that has passed
/// the gate of call k + 1 knows that all have returned from call k, so that
/// call k + 2 may overwrite what call k left, without a second meeting in
/// between.
struct InProcessGroup {
  InProcessGroup(std::vector<int> worldRanks, std::string groupName);

  int size() const { return static_cast<int>(members.size()); }

  /// Where member `member` puts a copy of a small input. `turn` is 0 or 1.
  std::byte *stageOf(int turn, int member) {
    return stages.data() + (turn * members.size() + member) * stageBytes;
  }

  /// World ranks of the members which have not arrived as often as `arrivals`.
  std::vector<int> missing(uint32_t arrivals) const;

  struct alignas(64) ArrivalCount {
    std::atomic<uint32_t> value{0};
  };

  const std::vector<int> members;
  const std::string name;
  /// Inputs up to this size are staged.
  const int64_t stageBytes;
  InProcessGate gate;
  /// How often each member came to the gate; only read for messages.
  std::vector<ArrivalCount> arrivalCounts;
  /// Members that have destroyed their communicators; under the state's lock.
  std::vector<bool> hasLeft;
  std::array<std::vector<CollectiveCall>, 2> calls;

private:
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  struct Stages {
    explicit Stages(size_t bytes) : lines(bytes / sizeof(Line)) {}
    std::byte *data() { return lines[0].bytes; }
    std::vector<Line> lines;
  };
  Stages stages;
};

/// Shared by the worlds of all ranks and by their communicators: the last one
/// to go frees it.
class InProcessState {
public:
  InProcessState(int worldSize, std::chrono::nanoseconds waitLimit);
  ~InProcessState();
  InProcessState(const InProcessState &) = delete;
  InProcessState &operator=(const InProcessState &) = delete;

  /// Meets the other members of `group` for `what`.
  absl::Status meet(InProcessGroup &group, int member, std::string_view what,
                    const CommunicatorOptions &options);

  /// The group of this name and these members, made by the first to ask.
  absl::StatusOr<std::shared_ptr<InProcessGroup>>
  joinGroup(const std::vector<int> &members, const std::string &name,
            int member);

  /// A member needs the group no longer: nobody meets there again.
  void leaveGroup(InProcessGroup &group, int member);
  /// A rank joins no further group.
  void leave(int rank);

  void note(int rank, const std::string &what);
  void abort(const absl::Status &why);
  absl::Status status() const;
  void onAbort(int rank, std::function<void()> handler);

  /// Whether every in-process rank of this process has a core of its own.
  static bool hasCoresForAll();

  const int size;
  const std::chrono::nanoseconds timeout;

private:
  absl::Status giveUp(InProcessGroup &group, InProcessGate::Ticket ticket,
                      const absl::Status &why);
  absl::Status missMember(InProcessGroup &group, const std::string &call);
  std::string describeWait(const std::string &call,
                           std::chrono::nanoseconds waited,
                           const std::vector<int> &missing) const;
  absl::Status statusLocked() const;
  void abortLocked(const absl::Status &why);
  void callHandlers();

  /// The group is owned by its communicators; the entry stays, so that a name
  /// is not used twice.
  struct Entry {
    std::weak_ptr<InProcessGroup> group;
    std::vector<bool> joined;
  };

  mutable std::mutex mutex;
  absl::Status abortStatus;
  std::map<std::pair<std::vector<int>, std::string>, Entry> groups;
  /// By rank.
  std::vector<bool> isGone;
  std::vector<std::string> notes;

  /// Held while handlers run; taken before `mutex`.
  std::mutex handlerMutex;
  std::vector<std::function<void()>> handlers;
};

/// Makes the communicator of member `member`; in InProcessCommunicator.cpp.
std::unique_ptr<Communicator>
makeInProcessCommunicator(std::shared_ptr<InProcessState> state,
                          std::shared_ptr<InProcessGroup> group, int member,
                          CommunicatorOptions options);

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_COMMUNICATION_INPROCESS_INPROCESSWORLD_H
