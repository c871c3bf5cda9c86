//===- GroupMemory.h - The memory that the members of a group share -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One piece of memory with the gate, the members' calls, the stages for small
// inputs, and the windows for inputs that others can't reach. It has no
// pointers: members may be threads, or processes that see it at different
// addresses.
//
// Calls and stages exist twice and are used in turn. A member that has passed
// the gate of call k + 1 knows that all members have returned from call k. So
// call k + 2 may overwrite the data of call k, without a second meeting in
// between.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_COMMUNICATION_MEMORY_GROUPMEMORY_H
#define BAGUA_LIB_RUNTIME_COMMUNICATION_MEMORY_GROUPMEMORY_H

#include "Communication/CollectiveCall.h"
#include "Communication/Memory/Gate.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace bagua::runtime {

/// The members of a group, or those of its members that are on one host.
struct GroupShape {
  /// The number of members that meet here.
  int members = 0;
  /// The number of all members, which calls may name.
  int all = 0;
  Gate::Scope scope = Gate::Scope::Process;
};

/// The state that all members share.
struct alignas(64) GroupState {
  GroupState(int members, Gate::Scope scope) : gate(members, scope) {}

  Gate gate;
  /// Whether the gate was closed because the run was aborted on some member.
  /// All other members will hear the reason.
  std::atomic<bool> isAborted{false};
};

/// One member's state in its group.
struct alignas(64) MemberState {
  /// How often the member came to the gate; only messages use it.
  std::atomic<uint32_t> arrivals;
  /// How often the member has finished its work on others' buffers.
  std::atomic<uint32_t> departures;
  /// Whether the member ever joined, and whether it will not come again.
  std::atomic<bool> hasJoined;
  std::atomic<bool> hasLeft;
  /// Whether the member will not touch the group's memory any more.
  std::atomic<bool> isDone;
};

class GroupMemory {
public:
  GroupMemory() = default;
  /// `memory` was initialized, by this member or another one.
  GroupMemory(std::byte *memory, const GroupShape &shape);

  /// Bytes of a group's memory, which begins at a multiple of 64. Members of
  /// one process need no windows.
  static size_t bytesFor(const GroupShape &shape);
  /// Initializes zeroed memory, once for a group.
  static void initialize(std::byte *memory, const GroupShape &shape);

  /// The largest inputs that are staged in a group of `all` members.
  static int64_t stageBytes(int all);
  /// Bytes of each window. Small windows stay in the cache; large ones need
  /// fewer meetings, which cost most if members share cores.
  static constexpr int64_t kWindowBytes = 512 * 1024;

  Gate &gate() const { return common->gate; }
  std::atomic<bool> &isAborted() const { return common->isAborted; }
  MemberState &member(int number) const { return states[number]; }
  /// The calls of `turn` 0 or 1.
  const CallTable &calls(int turn) const { return tables[turn]; }
  /// The place for a member's copy of a small input.
  std::byte *stage(int turn, int number) const {
    return stages + (turn * count + number) * bytesOfStage;
  }

  /// The window through which others reach a member's buffers; `side` is 0 or
  /// 1.
  std::byte *window(int side, int number) const {
    return windows + (side * count + number) * kWindowBytes;
  }

private:
  GroupState *common = nullptr;
  MemberState *states = nullptr;
  std::array<CallTable, 2> tables;
  std::byte *stages = nullptr;
  std::byte *windows = nullptr;
  int64_t count = 0;
  int64_t bytesOfStage = 0;
};

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_COMMUNICATION_MEMORY_GROUPMEMORY_H
