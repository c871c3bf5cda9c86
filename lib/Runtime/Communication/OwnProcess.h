//===- OwnProcess.h - The process that made an object ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A forked process has the objects of its parent, but neither its threads nor
// connections and shared memory of its own: whatever it did with them would be
// the parent's.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_COMMUNICATION_OWNPROCESS_H
#define BAGUA_LIB_RUNTIME_COMMUNICATION_OWNPROCESS_H

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

#include <sys/types.h>
#include <unistd.h>

namespace bagua::runtime {

/// A member of an object.
class OwnProcess {
public:
  OwnProcess() : maker(getpid()) {}

  /// Ok in the process that made the object. `what`: "a session".
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
