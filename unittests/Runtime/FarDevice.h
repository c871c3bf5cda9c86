//===- FarDevice.h - A device that is not the host ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What an accelerator is to a session, without one: memory whose addresses the
// host can't read (who does crashes), and queues on which work is done some
// time after it was enqueued, by a thread of the queue's.
//
// Faults that it makes visible: a look at a tensor by the host, work that is
// taken for done when it is enqueued, an address of the host's handed to a
// kernel.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_UNITTESTS_RUNTIME_FARDEVICE_H
#define BAGUA_UNITTESTS_RUNTIME_FARDEVICE_H

#include "bagua/Runtime/Queue.h"

#include <cstddef>
#include <functional>
#include <memory>

namespace bagua::runtime {
class Device;
} // namespace bagua::runtime

namespace bagua::runtime::test {

Device &farDevice();

/// Memory of that device, zeros.
std::shared_ptr<std::byte> allocateFar(size_t bytes);
/// The same, whose bytes are at `near` for the host, which is freed with it.
std::shared_ptr<std::byte> makeFarMemory(std::shared_ptr<std::byte> near,
                                         size_t bytes);

/// Where the host finds what is at an address of the device's; others are the
/// host's own.
std::byte *near(std::byte *address);
void *near(void *address);
const void *near(const void *address);

/// Enqueues work of the host's threads on a queue of the device. On the host's
/// queue it is done at once.
absl::Status enqueueFar(Queue &queue, std::function<absl::Status()> work);

/// A queue of the device's, as a program has one. `fail` enqueues work that
/// fails.
class FarQueue : public Queue {
public:
  virtual void fail(const absl::Status &why) = 0;
};
std::unique_ptr<FarQueue> makeFarQueue();

} // namespace bagua::runtime::test

#endif // BAGUA_UNITTESTS_RUNTIME_FARDEVICE_H
