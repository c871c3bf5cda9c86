//===- Poller.h - Waits for data on several connections -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One thread waits; other threads can end its wait.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_COMMUNICATION_GLOO_POLLER_H
#define BAGUA_LIB_RUNTIME_COMMUNICATION_GLOO_POLLER_H

#include "Files/Descriptor.h"

#include "absl/functional/function_ref.h"

namespace bagua::runtime {

class Poller {
public:
  /// Throws std::system_error if no descriptor is left.
  Poller();

  /// `what` is told each time that data arrives on the connection, or can be
  /// sent again. It must then handle all that is possible. Throws as above.
  void add(int connection, void *what);
  void remove(int connection);

  /// Tells all pending events. If it may block, it waits until there is an
  /// event, or until a thread calls wake(), which may have happened before.
  void wait(bool mayBlock, absl::FunctionRef<void(void *what)> tell);
  /// May be called from any thread.
  void wake();

private:
  const Descriptor events;
  const Descriptor bell;
};

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_COMMUNICATION_GLOO_POLLER_H
