//===- SessionMemory.cpp - Where a rank's tensors and arenas are ----------===//
//
// Arenas are whole pages, so that large ones cost nothing until they are used
// and offsets keep the alignment that the compiler gave them.
//
//===----------------------------------------------------------------------===//
#include "Session/SessionMemory.h"

#include "absl/strings/str_cat.h"

#include <algorithm>

namespace bagua::runtime {
namespace {

constexpr int64_t kPageBytes = 4096;
/// Of each of the zones round a guarded arena. After the arena they begin at
/// its last byte, wherever in a page that is.
constexpr int64_t kGuardBytes = kPageBytes;
constexpr std::byte kGuard{0xa5};
/// NaN in every floating-point type.
constexpr std::byte kPoison{0xff};

int64_t roundUp(int64_t bytes) {
  return (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
}

} // namespace

SessionMemory::SessionMemory(const Plan &loaded, int64_t ownRank)
    : plan(loaded), rank(ownRank), bindings(loaded.root().tensors()->size()),
      addresses(bindings.size()) {
  arenaAddresses.reserve(loaded.root().arenas()->size());
}

absl::Status SessionMemory::allocate(World &world, Queue &queue, bool guarded) {
  isGuarded = guarded;
  for (const fb::Arena *arena : *plan.root().arenas()) {
    int64_t guards = guarded ? 2 * kGuardBytes : 0;
    auto memory = world.allocate(roundUp(arena->bytes() + guards));
    if (!memory.ok())
      return absl::ResourceExhaustedError(absl::StrCat(
          "rank ", rank, ": no memory for arena '", arena->name()->str(),
          "' of ", arena->bytes(), " bytes: ", memory.status().message()));
    if (guarded) {
      std::vector<std::byte> bytes(guards + arena->bytes(), kGuard);
      std::fill_n(bytes.begin() + kGuardBytes, arena->bytes(), kPoison);
      absl::Status status =
          queue.copy(memory->get(), bytes.data(), bytes.size());
      if (status.ok())
        status = queue.drain();
      if (!status.ok())
        return status;
    }
    arenaAddresses.push_back(memory->get() + (guarded ? kGuardBytes : 0));
    arenas.push_back(*std::move(memory));
    allocatedBytes += arena->bytes();
  }
  return absl::OkStatus();
}

absl::Status SessionMemory::checkGuards(Queue &queue) const {
  if (!isGuarded)
    return absl::OkStatus();
  for (size_t i = 0; i < arenas.size(); ++i) {
    const fb::Arena &arena = *plan.root().arenas()->Get(i);
    const std::byte *begin = arenas[i].get();
    for (bool isBefore : {true, false}) {
      std::vector<std::byte> zone(kGuardBytes);
      absl::Status status = queue.copy(
          zone.data(), isBefore ? begin : begin + kGuardBytes + arena.bytes(),
          zone.size());
      if (status.ok())
        status = queue.drain();
      if (!status.ok())
        return status;
      if (std::count(zone.begin(), zone.end(), kGuard) != kGuardBytes)
        return absl::InternalError(absl::StrCat(
            "rank ", rank, ": bytes ", isBefore ? "before" : "after",
            " arena '", arena.name()->str(), "' were overwritten"));
    }
  }
  return absl::OkStatus();
}

int64_t SessionMemory::tensorBytes(uint32_t number) const {
  const fb::Tensor &tensor = *plan.root().tensors()->Get(number);
  return localCount(tensor, plan.cluster(), rank) *
         dataTypeBytes(static_cast<DataType>(tensor.type()));
}

std::byte *SessionMemory::tensorAddress(uint32_t number) const {
  const fb::Tensor &tensor = *plan.root().tensors()->Get(number);
  if (tensor.arena() < 0)
    return addresses[number];
  return arenaAddresses[tensor.arena()] + tensor.offset();
}

LocalValue SessionMemory::value(uint32_t number) const {
  const fb::Value &value = *plan.root().values()->Get(number);
  LocalValue result;
  result.type = static_cast<DataType>(value.type());
  result.wholeCount = value.count();
  result.layout = readLayout(value.layout());
  if (value.arena() >= 0) {
    result.count =
        localCount(value.count(), result.layout, plan.cluster(), rank);
    result.place = Place(&arenaAddresses[value.arena()], value.offset());
    return result;
  }
  const fb::Tensor &tensor = *plan.root().tensors()->Get(value.tensor());
  result.count = localCount(tensor, value.count(), plan.cluster(), rank);
  result.place = Place(&addresses[value.tensor()], value.offset());
  return result;
}

} // namespace bagua::runtime
