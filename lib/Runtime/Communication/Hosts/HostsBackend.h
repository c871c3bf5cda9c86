//===- HostsBackend.h - Communicators between hosts -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The function of the row "gloo" (Backends.h) that is its own: memory is what
// processes of a host share.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_COMMUNICATION_HOSTS_HOSTSBACKEND_H
#define BAGUA_LIB_RUNTIME_COMMUNICATION_HOSTS_HOSTSBACKEND_H

#include "Communication/Run.h"

#include "bagua/Runtime/Backend.h"

namespace bagua::runtime {

absl::StatusOr<std::unique_ptr<Communicator>>
createBetweenHosts(const std::shared_ptr<Run> &run,
                   const CommunicatorGroup &group,
                   const CommunicatorOptions &options);

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_COMMUNICATION_HOSTS_HOSTSBACKEND_H
