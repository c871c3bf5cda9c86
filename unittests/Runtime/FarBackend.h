//===- FarBackend.h - Communicators of the far device ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What an accelerator's communicators are to a session, without one. They
// promise less than the host's: a call only enqueues, errors come after it,
// and sums are those of a ring, whose members begin at different places and
// round each sum to the type of the elements.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_UNITTESTS_RUNTIME_FARBACKEND_H
#define BAGUA_UNITTESTS_RUNTIME_FARBACKEND_H

#include "bagua/Runtime/Backend.h"

#include <memory>

namespace bagua::runtime::test {

/// The name of the backend.
inline constexpr char kFar[] = "far";
inline constexpr BackendTraits kFarTraits = {.findsDifferingCalls = true};

/// A world that has the far backend beside its own.
std::unique_ptr<World> makeFar(std::unique_ptr<World> world);

} // namespace bagua::runtime::test

#endif // BAGUA_UNITTESTS_RUNTIME_FARBACKEND_H
