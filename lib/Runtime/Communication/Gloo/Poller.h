//===- Poller.h - Waits for what comes by several connections -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One thread waits, others end its waits.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_COMMUNICATION_GLOO_POLLER_H
#define BAGUA_LIB_RUNTIME_COMMUNICATION_GLOO_POLLER_H

#include "Files/Descriptor.h"

#include "absl/functional/function_ref.h"

namespace bagua::runtime {

class Poller {
public:
  /// Throws std::system_error where there is no descriptor left.
  Poller();

  /// `what` is told of each time that something comes by the connection, or
  /// can be sent again: it has to take all there is. Throws as above.
  void add(int connection, void *what);
  void remove(int connection);

  /// Tells what there is to tell. Where it may block, it does until there is
  /// something, or somebody wakes it, before or now.
  void wait(bool mayBlock, absl::FunctionRef<void(void *what)> tell);
  /// From any thread.
  void wake();

private:
  const Descriptor events;
  const Descriptor bell;
};

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_COMMUNICATION_GLOO_POLLER_H
