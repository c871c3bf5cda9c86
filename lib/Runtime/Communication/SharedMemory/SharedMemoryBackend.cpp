//===- SharedMemoryBackend.cpp - Communicators of processes of one host ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Groups meet in the memory that processes of a host share.
//
//===----------------------------------------------------------------------===//
#include "Communication/SharedMemory/SharedMemoryBackend.h"

#include "Communication/Processes/ProcessRun.h"

#include <utility>

namespace bagua::runtime {

bool isOfProcesses(const Run &run) {
  return dynamic_cast<const ProcessRun *>(&run) != nullptr;
}

bool isOnOneHost(const Run &run, const std::vector<int> &members) {
  return static_cast<const ProcessRun &>(run).neighboursAmong(members).size() ==
         members.size();
}

absl::StatusOr<std::shared_ptr<std::byte>>
allocateFrom(std::shared_ptr<SharedRegion> region, size_t bytes) {
  auto memory = region->allocate(bytes);
  if (!memory.ok())
    return memory.status();
  return std::shared_ptr<std::byte>(
      *memory, [region = std::move(region)](std::byte *address) {
        region->free(address);
      });
}

absl::StatusOr<std::shared_ptr<std::byte>>
allocateShared(const std::shared_ptr<Run> &run, size_t bytes) {
  return allocateFrom(processRunOf(run)->region, bytes);
}

absl::StatusOr<std::unique_ptr<Communicator>>
createInSharedMemory(const std::shared_ptr<Run> &run,
                     const CommunicatorGroup &group,
                     const CommunicatorOptions &options) {
  absl::StatusOr<GroupPlace> place =
      findGroupPlace(processRunOf(run), group, options);
  if (!place.ok())
    return place.status();
  // The run lives as long as any of its communicators.
  std::shared_ptr<RunState> state(run, run->state.get());
  return createMemoryCommunicator(std::move(state), run->rank, group.members,
                                  group.name, options, [&] { return place; });
}

} // namespace bagua::runtime
