//===- GroupMemory.cpp - What the members of a group share ----------------===//
//
// Where everything is: the gate, the members' states, two tables of calls, two
// stages for each member, and two windows for each.
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

size_t callsBegin(int members) {
  return statesBegin() + static_cast<size_t>(members) * sizeof(MemberState);
}

size_t stagesBegin(int members) {
  return callsBegin(members) + 2 * CallTable::bytesFor(members);
}

/// At a page: windows take no memory until they are used.
size_t windowsBegin(int members) {
  constexpr size_t kPage = 4096;
  size_t stages =
      2 * static_cast<size_t>(members * GroupMemory::stageBytes(members));
  return (stagesBegin(members) + stages + kPage - 1) / kPage * kPage;
}

} // namespace

GroupMemory::GroupMemory(std::byte *memory, int members)
    : common(reinterpret_cast<GroupState *>(memory)),
      states(reinterpret_cast<MemberState *>(memory + statesBegin())),
      stages(memory + stagesBegin(members)),
      windows(memory + windowsBegin(members)), count(members),
      bytesOfStage(stageBytes(members)) {
  std::byte *calls = memory + callsBegin(members);
  for (CallTable &table : tables) {
    table = CallTable(calls, members);
    calls += CallTable::bytesFor(members);
  }
}

// Up to here a second meeting costs more than what staging adds, which is that
// each member reads all inputs. Measured: meetings cost more with more members,
// and most where members share a core.
int64_t GroupMemory::stageBytes(int members) {
  return std::clamp<int64_t>(1024 * static_cast<int64_t>(members), 4096, 8192);
}

size_t GroupMemory::bytesFor(int members, Gate::Scope scope) {
  int64_t windows = scope == Gate::Scope::Host ? 2 * members * kWindowBytes : 0;
  return windowsBegin(members) + static_cast<size_t>(windows);
}

void GroupMemory::initialize(std::byte *memory, int members,
                             Gate::Scope scope) {
  new (memory) GroupState(members, scope);
  for (int i = 0; i < members; ++i)
    new (memory + statesBegin() + i * sizeof(MemberState)) MemberState();
}

} // namespace bagua::runtime
