//===- ProgramQueue.h - A program's queue, and what its work uses ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program in C may free its handles in any order. A queue with work left uses
// its device, which belongs to the world, and timelines of sessions, so a queue
// ends before they do.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_CAPI_PROGRAMQUEUE_H
#define BAGUA_LIB_CAPI_PROGRAMQUEUE_H

#include "bagua/Runtime/Communicator.h"
#include "bagua/Runtime/Queue.h"

#include "absl/status/status.h"

#include <memory>
#include <sys/types.h>
#include <unistd.h>
#include <utility>

namespace bagua::capi {

class ProgramQueue {
public:
  ProgramQueue(std::shared_ptr<runtime::World> world,
               std::unique_ptr<runtime::Queue> queue)
      : parts(new Parts{std::move(world), std::move(queue)}) {}
  ProgramQueue(const ProgramQueue &) = delete;
  ProgramQueue &operator=(const ProgramQueue &) = delete;
  /// A queue that stands still stays in memory, and so does its device.
  ~ProgramQueue() {
    if (!hasEnded())
      (void)parts.release(); // NOLINT(bugprone-unused-return-value)
  }

  runtime::Queue &get() { return *parts->queue; }
  const runtime::World &of() const { return *parts->world; }

  /// Waits until no work is left, for at most the world's timeout. A forked
  /// process can't wait for its parent's work.
  bool hasEnded() {
    return getpid() == maker && !absl::IsDeadlineExceeded(parts->queue->drain(
                                    parts->world->timeout()));
  }

private:
  struct Parts {
    std::shared_ptr<runtime::World> world;
    std::unique_ptr<runtime::Queue> queue;
  };

  std::unique_ptr<Parts> parts;
  const pid_t maker = getpid();
};

} // namespace bagua::capi

#endif // BAGUA_LIB_CAPI_PROGRAMQUEUE_H
