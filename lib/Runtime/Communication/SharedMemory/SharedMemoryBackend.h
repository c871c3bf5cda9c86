//===- SharedMemoryBackend.h - Communicators of processes of one host -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions of the row "shared-memory" (Backends.h).
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_COMMUNICATION_SHAREDMEMORY_SHAREDMEMORYBACKEND_H
#define BAGUA_LIB_RUNTIME_COMMUNICATION_SHAREDMEMORY_SHAREDMEMORYBACKEND_H

#include "Communication/Run.h"
#include "Communication/SharedMemory/SharedRegion.h"

#include "bagua/Runtime/Backend.h"

namespace bagua::runtime {

/// Whether ranks are processes.
bool isOfProcesses(const Run &run);
/// Whether all members are on this rank's host.
bool isOnOneHost(const Run &run, const std::vector<int> &members);

/// Memory that processes of this host share.
absl::StatusOr<std::shared_ptr<std::byte>>
allocateFrom(std::shared_ptr<SharedRegion> region, size_t bytes);
absl::StatusOr<std::shared_ptr<std::byte>>
allocateShared(const std::shared_ptr<Run> &run, size_t bytes);

absl::StatusOr<std::unique_ptr<Communicator>>
createInSharedMemory(const std::shared_ptr<Run> &run,
                     const CommunicatorGroup &group,
                     const CommunicatorOptions &options);

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_COMMUNICATION_SHAREDMEMORY_SHAREDMEMORYBACKEND_H
