//===- GroupMemory.cpp - The memory that the members of a group share -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The layout of the memory: the gate, the members' states, two tables of calls,
// and for each member two stages and two windows.
//
//===----------------------------------------------------------------------===//
#include "Communication/Memory/GroupMemory.h"

#include <algorithm>
#include <new>

namespace bagua::runtime {
namespace {

static_assert(sizeof(GroupState) % 64 == 0 && sizeof(MemberState) % 64 == 0,
              "what follows begins at a cache line");
static_assert(std::atomic<uint32_t>::is_always_lock_free, "processes share it");

size_t statesBegin() { return sizeof(GroupState); }

size_t callsBegin(const GroupShape &shape) {
  return statesBegin() +
         static_cast<size_t>(shape.members) * sizeof(MemberState);
}

size_t stagesBegin(const GroupShape &shape) {
  return callsBegin(shape) + 2 * CallTable::bytesFor(shape.members, shape.all);
}

/// Windows begin at a page, so that they take no memory until they are used.
size_t windowsBegin(const GroupShape &shape) {
  constexpr size_t kPage = 4096;
  size_t stages = 2 * static_cast<size_t>(shape.members *
                                          GroupMemory::stageBytes(shape.all));
  return (stagesBegin(shape) + stages + kPage - 1) / kPage * kPage;
}

} // namespace

GroupMemory::GroupMemory(std::byte *memory, const GroupShape &shape)
    : common(reinterpret_cast<GroupState *>(memory)),
      states(reinterpret_cast<MemberState *>(memory + statesBegin())),
      stages(memory + stagesBegin(shape)),
      windows(memory + windowsBegin(shape)), count(shape.members),
      bytesOfStage(stageBytes(shape.all)) {
  std::byte *calls = memory + callsBegin(shape);
  for (CallTable &table : tables) {
    table = CallTable(calls, shape.members, shape.all);
    calls += CallTable::bytesFor(shape.members, shape.all);
  }
}

// Up to this size a second meeting costs more than staging does, in which each
// member reads all inputs. Measured: meetings cost more with more members, and
// most if members share a core.
int64_t GroupMemory::stageBytes(int all) {
  return std::clamp<int64_t>(1024 * static_cast<int64_t>(all), 4096, 8192);
}

size_t GroupMemory::bytesFor(const GroupShape &shape) {
  int64_t windows =
      shape.scope == Gate::Scope::Host ? 2 * shape.members * kWindowBytes : 0;
  return windowsBegin(shape) + static_cast<size_t>(windows);
}

void GroupMemory::initialize(std::byte *memory, const GroupShape &shape) {
  new (memory) GroupState(shape.members, shape.scope);
  for (int i = 0; i < shape.members; ++i)
    new (memory + statesBegin() + i * sizeof(MemberState)) MemberState();
}

} // namespace bagua::runtime
