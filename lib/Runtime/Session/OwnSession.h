//===- OwnSession.h - A session in the process that made it ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Programs get this wrapper. In a forked process every call is an error, and
// nothing is destroyed, since the session's threads and connections belong to
// the parent.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_SESSION_OWNSESSION_H
#define BAGUA_LIB_RUNTIME_SESSION_OWNSESSION_H

#include "bagua/Runtime/Session.h"

#include <functional>
#include <memory>

namespace bagua::runtime {

/// `whenFailed` is called after each call of the session that has failed, and
/// `end` before the session is destroyed. If `end` returns false, the session
/// is leaked.
std::unique_ptr<Session> keepToProcess(std::unique_ptr<Session> session,
                                       std::function<void()> whenFailed,
                                       std::function<bool()> end);

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_SESSION_OWNSESSION_H
