//===- GroupMemory.h - What the members of a group share ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The gate, the members' calls, the stages of small inputs and windows for
// those that lie elsewhere, in one piece of memory that holds no pointers:
// members may be threads, or processes that see it at different addresses.
//
// Calls and stages exist twice and are used in turn. A member that has passed
// the gate of call k + 1 knows that all have returned from call k, so that call
// k + 2 may overwrite what call k left, without a second meeting in between.
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

/// Of a group, or of those members of a larger one that are on one host.
struct GroupShape {
  /// Those that meet here.
  int members = 0;
  /// All, whom calls may name.
  int all = 0;
  Gate::Scope scope = Gate::Scope::Process;
};

/// What all members have in common.
struct alignas(64) GroupState {
  GroupState(int members, Gate::Scope scope) : gate(members, scope) {}

  Gate gate;
  /// Whether the gate is closed because some member's run was aborted, so that
  /// all others will hear why.
  std::atomic<bool> isAborted{false};
};

/// A member's part in the life of its group.
struct alignas(64) MemberState {
  /// How often the member came to the gate; only read for messages.
  std::atomic<uint32_t> arrivals;
  /// How often it has come to the end of its work on the others' buffers.
  std::atomic<uint32_t> departures;
  /// Whether it ever joined, and whether it will not come again.
  std::atomic<bool> hasJoined;
  std::atomic<bool> hasLeft;
  /// Whether it touches the group's memory no more.
  std::atomic<bool> isDone;
};

class GroupMemory {
public:
  GroupMemory() = default;
  /// Of memory that initialize() was called for, by this member or another.
  GroupMemory(std::byte *memory, const GroupShape &shape);

  /// Bytes of a group's memory; it begins at a multiple of 64. Members of one
  /// process need no windows.
  static size_t bytesFor(const GroupShape &shape);
  /// Once for a group, in zeros.
  static void initialize(std::byte *memory, const GroupShape &shape);

  /// In a group of `all` members, inputs up to this size are staged.
  static int64_t stageBytes(int all);
  /// Of each window. Small ones stay in cache, large ones need fewer meetings,
  /// which cost most where members share cores.
  static constexpr int64_t kWindowBytes = 512 * 1024;

  Gate &gate() const { return common->gate; }
  std::atomic<bool> &isAborted() const { return common->isAborted; }
  MemberState &member(int number) const { return states[number]; }
  /// `turn` is 0 or 1.
  const CallTable &calls(int turn) const { return tables[turn]; }
  /// Where a member puts a copy of a small input.
  std::byte *stage(int turn, int number) const {
    return stages + (turn * count + number) * bytesOfStage;
  }

  /// Through which others reach a member whose buffers they can't: two, `side`
  /// 0 or 1.
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
