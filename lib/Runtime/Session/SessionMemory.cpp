//===- SessionMemory.cpp - The addresses of a rank's tensors and arenas ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arenas are whole pages, so that large ones cost nothing until they are used,
// and offsets keep the alignment that the compiler gave them.
//
//===----------------------------------------------------------------------===//
#include "Session/SessionMemory.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <unistd.h>

namespace bagua::runtime {
namespace {

constexpr int64_t kPageBytes = 4096;
/// Bytes of each of the two zones around a guarded arena. The zone after the
/// arena begins right after the arena's last byte, at any place in a page.
constexpr int64_t kGuardBytes = kPageBytes;
constexpr int64_t kPieceBytes = int64_t{1} << 20;
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

/// The pages of an arena take no memory until they are touched, and here all
/// are. An arena that is too large for the machine would end the process.
static absl::Status checkFits(int64_t bytes) {
  const int64_t machine = sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
  return bytes < machine
             ? absl::OkStatus()
             : absl::ResourceExhaustedError(absl::StrCat(
                   "the machine has ", machine, ", and a check uses them all"));
}

/// Copies between a device and memory of the host. What a device still copies
/// after the limit stays allocated.
class HostCopy {
public:
  HostCopy(Queue &on, std::chrono::nanoseconds ownLimit, int64_t bytes,
           std::byte with)
      : queue(on), limit(ownLimit),
        memory(std::make_unique<std::vector<std::byte>>(bytes, with)) {}

  std::vector<std::byte> &bytes() { return *memory; }
  absl::Status drain() {
    absl::Status status = queue.drain(limit);
    if (absl::IsDeadlineExceeded(status))
      (void)memory.release();
    return status;
  }

private:
  Queue &queue;
  const std::chrono::nanoseconds limit;
  std::unique_ptr<std::vector<std::byte>> memory;
};

/// Fills piece by piece, since an arena may be as large as the memory that is
/// left.
static absl::Status fill(Queue &queue, std::chrono::nanoseconds limit,
                         std::byte *to, int64_t bytes, std::byte with) {
  HostCopy piece(queue, limit, std::min(bytes, kPieceBytes), with);
  absl::Status status;
  for (int64_t at = 0; at < bytes && status.ok(); at += kPieceBytes)
    status = queue.copy(to + at, piece.bytes().data(),
                        std::min(bytes - at, kPieceBytes));
  absl::Status drained = piece.drain();
  return status.ok() ? drained : status;
}

/// Poisons an arena of `bytes` and the guards around it.
static absl::Status poison(Queue &queue, std::chrono::nanoseconds limit,
                           std::byte *begin, int64_t bytes) {
  absl::Status status = fill(queue, limit, begin, kGuardBytes, kGuard);
  if (status.ok())
    status = fill(queue, limit, begin + kGuardBytes, bytes, kPoison);
  return status.ok() ? fill(queue, limit, begin + kGuardBytes + bytes,
                            kGuardBytes, kGuard)
                     : status;
}

absl::Status SessionMemory::allocate(Backend &backend, Queue &queue,
                                     const SessionOptions &options) {
  isGuarded = options.checksMemory;
  for (const fb::Arena *arena : *plan.root().arenas()) {
    int64_t guards = isGuarded ? 2 * kGuardBytes : 0;
    absl::Status fits =
        isGuarded ? checkFits(arena->bytes()) : absl::OkStatus();
    absl::StatusOr<std::shared_ptr<std::byte>> memory =
        fits.ok() ? backend.allocate(roundUp(arena->bytes() + guards)) : fits;
    // After an abort the reason is another one.
    if (!memory.ok() && !absl::IsResourceExhausted(memory.status()))
      return memory.status();
    if (!memory.ok())
      return absl::ResourceExhaustedError(absl::StrCat(
          "rank ", rank, ": no memory for arena '", arena->name()->str(),
          "' of ", arena->bytes(), " bytes: ", memory.status().message()));
    if (isGuarded)
      if (absl::Status status =
              poison(queue, options.timeout, memory->get(), arena->bytes());
          !status.ok())
        return status;
    arenaAddresses.push_back(memory->get() + (isGuarded ? kGuardBytes : 0));
    arenas.push_back(*std::move(memory));
    allocatedBytes += arena->bytes();
  }
  return absl::OkStatus();
}

absl::Status SessionMemory::checkGuards(Queue &queue,
                                        std::chrono::nanoseconds limit) const {
  if (!isGuarded)
    return absl::OkStatus();
  for (size_t i = 0; i < arenas.size(); ++i) {
    const fb::Arena &arena = *plan.root().arenas()->Get(i);
    const std::byte *begin = arenas[i].get();
    for (bool isBefore : {true, false}) {
      HostCopy copy(queue, limit, kGuardBytes, std::byte{0});
      const std::vector<std::byte> &zone = copy.bytes();
      absl::Status status = queue.copy(
          copy.bytes().data(),
          isBefore ? begin : begin + kGuardBytes + arena.bytes(), zone.size());
      if (status.ok())
        status = copy.drain();
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

std::shared_ptr<std::byte> SessionMemory::hold(uint32_t tensor) const {
  return std::shared_ptr<std::byte>(
      arenas[plan.root().tensors()->Get(tensor)->arena()],
      tensorAddress(tensor));
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
    if (value.encoding()) {
      const EncodedForm form = readEncoding(value);
      const Topology &topology = plan.cluster().topology();
      result.encoding = form.encoding;
      result.parts = topology.groupSize(form.parts);
      result.terms = topology.groupSize(form.terms);
      result.slotBytes = slotBytes(value, plan.cluster());
    }
    result.place = Place(&arenaAddresses[value.arena()], value.offset());
    return result;
  }
  const fb::Tensor &tensor = *plan.root().tensors()->Get(value.tensor());
  result.count = localCount(tensor, value.count(), plan.cluster(), rank);
  result.place = Place(&addresses[value.tensor()], value.offset());
  return result;
}

} // namespace bagua::runtime
