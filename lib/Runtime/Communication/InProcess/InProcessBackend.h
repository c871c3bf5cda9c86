//===- InProcessBackend.h - Communicators of threads of one process -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions of the row "in-process" (Backends.h).
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_COMMUNICATION_INPROCESS_INPROCESSBACKEND_H
#define BAGUA_LIB_RUNTIME_COMMUNICATION_INPROCESS_INPROCESSBACKEND_H

#include "Communication/Run.h"

#include "bagua/Runtime/Backend.h"

namespace bagua::runtime {

bool isInProcess(const Run &run);

absl::StatusOr<std::shared_ptr<std::byte>>
allocateInProcess(const std::shared_ptr<Run> &run, size_t bytes);

absl::StatusOr<std::unique_ptr<Communicator>>
createInProcess(const std::shared_ptr<Run> &run, const CommunicatorGroup &group,
                const CommunicatorOptions &options);

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_COMMUNICATION_INPROCESS_INPROCESSBACKEND_H
