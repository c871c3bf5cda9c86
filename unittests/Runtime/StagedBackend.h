//===- StagedBackend.h - A device's communicators for the host's memory ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The suites of communicators have buffers of the host, and find errors where
// they call. So each call copies its buffers to the device, enqueues the call,
// waits, and copies the buffers back.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_UNITTESTS_RUNTIME_STAGEDBACKEND_H
#define BAGUA_UNITTESTS_RUNTIME_STAGEDBACKEND_H

#include "bagua/Runtime/Backend.h"

#include <memory>

namespace bagua::runtime::test {

/// `backend`, which the communicators outlive, for the host's memory.
std::unique_ptr<Backend> makeStaged(Backend &backend);

} // namespace bagua::runtime::test

#endif // BAGUA_UNITTESTS_RUNTIME_STAGEDBACKEND_H
