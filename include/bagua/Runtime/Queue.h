//===- Queue.h - Work in order --------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A queue is to every device what a stream is to CUDA: each operation that is
// enqueued starts when those before it are done. The CPU's queue runs an
// operation at once, on the thread that enqueues it.
//
// A session has queues of its own. A program may have queues of the same
// device, too. It passes one to markReady if the tensor is complete only after
// the work enqueued there so far, and to wait if later work there shall start
// once the runtime is done with the tensor.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_RUNTIME_QUEUE_H
#define BAGUA_RUNTIME_QUEUE_H

#include "bagua/Runtime/Timeline.h"

#include "absl/status/status.h"

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace bagua::runtime {

/// Calls come from any thread. Memory belongs to the queue's device or to the
/// CPU, and stays valid until the enqueued work is done. Timelines were
/// admitted by the device (Device.h). If a call returns an error, nothing was
/// enqueued. An error of enqueued work is returned by drain(), and makes the
/// timelines fail that were to be signalled after that work.
class Queue {
public:
  virtual ~Queue() = default;

  /// Whether the queue can wait for timelines itself. If it can't, callers wait
  /// in its place, and don't call follow().
  virtual bool canFollow() const = 0;
  /// Makes later work wait until `timeline` reaches `value`. The signal must
  /// already have been issued or enqueued. If the timeline fails first, so does
  /// the later work.
  virtual void follow(const Timeline &timeline, uint64_t value) = 0;
  /// Signals `timeline` when all work enqueued before is done. A queue that
  /// works asynchronously then also calls tell(); the CPU's queue leaves that
  /// to the caller. So a device's signal is a function of the CPU that the
  /// device calls: a write by the device would wake no sleeping thread.
  virtual void signal(Timeline &timeline, uint64_t value) = 0;

  /// Copies `rows` rows of `rowBytes`. The strides are the distances in bytes
  /// between the beginnings of rows. Source and target may overlap if there is
  /// one row.
  virtual absl::Status copyRows(void *to, size_t toStride, const void *from,
                                size_t fromStride, size_t rowBytes,
                                size_t rows) = 0;
  absl::Status copy(void *to, const void *from, size_t bytes) {
    return copyRows(to, bytes, from, bytes, bytes, 1);
  }
  virtual absl::Status zero(void *to, size_t bytes) = 0;

  /// Waits until all enqueued work is done, and returns its first error.
  /// DeadlineExceeded if that takes longer than `limit`: then the work goes on,
  /// with the memory and the timelines that it was given.
  virtual absl::Status drain(std::chrono::nanoseconds limit) = 0;
};

/// The queue that runs work on the calling thread.
Queue &cpuQueue();

} // namespace bagua::runtime

#endif // BAGUA_RUNTIME_QUEUE_H
