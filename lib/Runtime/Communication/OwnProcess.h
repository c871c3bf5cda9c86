//===- OwnProcess.h - The process that made an object ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A forked process has the objects of its parent, but neither its threads nor
// connections and shared memory of its own. Whatever the child does with them
// would happen to the parent.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_COMMUNICATION_OWNPROCESS_H
#define BAGUA_LIB_RUNTIME_COMMUNICATION_OWNPROCESS_H

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

#include <sys/types.h>
#include <unistd.h>

namespace bagua::runtime {

/// A member of an object, which remembers the process.
class OwnProcess {
public:
  OwnProcess() : maker(getpid()) {}

  /// Ok in the process that made the object. `what` names it, as in "a
  /// session".
  absl::Status check(const char *what) const {
    return isThis()
               ? absl::OkStatus()
               : absl::FailedPreconditionError(absl::StrCat(
                     "expected process ", maker, ", which made ", what,
                     ", found ", getpid(), ": a forked process can't use it"));
  }
  bool isThis() const { return getpid() == maker; }

private:
  const pid_t maker;
};

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_COMMUNICATION_OWNPROCESS_H
