//===- Queue.h - Work in order --------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a CUDA stream is, for every device: each thing that is enqueued starts
// when those before it are done. The host's queue does it at once, on the
// thread that enqueues it.
//
// A session has queues of its own. A program that has some of the same device,
// too, says to markReady behind which work of its own a tensor is ready, and to
// wait which work of its own is to start when the runtime is done with one.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_RUNTIME_QUEUE_H
#define BAGUA_RUNTIME_QUEUE_H

#include "bagua/Runtime/Timeline.h"

#include "absl/status/status.h"

#include <cstddef>
#include <cstdint>

namespace bagua::runtime {

/// Calls come from any thread. Memory is the queue's device's or the host's,
/// and stays until what was enqueued is done. An error of a call says that
/// nothing was enqueued; one of work that was is drain()'s, and makes the
/// timelines fail that were to be signalled behind it.
class Queue {
public:
  virtual ~Queue() = default;

  /// Has what is enqueued later start when `timeline` has come to `value`,
  /// which somebody has said, or enqueued, already. False, and nothing is
  /// enqueued, where the device can't: then the caller waits himself. True
  /// where it has come there.
  virtual bool follow(const Timeline &timeline, uint64_t value) = 0;
  /// Signals it when all that was enqueued before is done. A queue that works
  /// late then calls tell(), too; the host's leaves that to the caller.
  virtual void signal(Timeline &timeline, uint64_t value) = 0;

  /// `rows` of `rowBytes`, their beginnings so many bytes apart. Source and
  /// target may overlap where there is one row.
  virtual absl::Status copyRows(void *to, size_t toStride, const void *from,
                                size_t fromStride, size_t rowBytes,
                                size_t rows) = 0;
  absl::Status copy(void *to, const void *from, size_t bytes) {
    return copyRows(to, bytes, from, bytes, bytes, 1);
  }
  virtual absl::Status zero(void *to, size_t bytes) = 0;

  /// Waits until all that was enqueued is done; the first error of it.
  virtual absl::Status drain() = 0;
};

/// The calling thread.
Queue &hostQueue();

} // namespace bagua::runtime

#endif // BAGUA_RUNTIME_QUEUE_H
