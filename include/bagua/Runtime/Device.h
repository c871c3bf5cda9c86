//===- Device.h - Where a rank's tensors are ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A session's interface to the device whose memory a backend's communicators
// move: queues, and a table of kernels for instructions. Backend::allocate
// provides the memory itself.
//
// A program gets a device from its backend, to make queues of its own:
//
//   Device &device = world->control().device();
//   auto queue = device.createQueue({});
//   session->markReady(gradient, **queue);
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_RUNTIME_DEVICE_H
#define BAGUA_RUNTIME_DEVICE_H

#include "bagua/Runtime/LocalValue.h"
#include "bagua/Runtime/Queue.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace bagua::runtime {

namespace fb {
struct Instruction;
enum class Opcode : uint8_t;
} // namespace fb

/// An instruction of arithmetic with its arguments bound.
class Kernel {
public:
  virtual ~Kernel() = default;
  /// Enqueues the kernel on a queue of the device. `step` is the number of
  /// updates that a state has had before, if the instruction updates it or
  /// makes its direction; else the number of the iteration. Allocates nothing.
  virtual absl::Status launch(Queue &queue, int64_t step) = 0;
};

/// The kernels of a device by opcode. A device fills its table once.
class KernelTable {
public:
  /// Binds an instruction that the loader has verified, with this rank's
  /// elements.
  using Bind = std::function<std::unique_ptr<Kernel>(
      const fb::Instruction &instruction, const std::vector<LocalValue> &inputs,
      const std::vector<LocalValue> &outputs)>;

  void set(fb::Opcode opcode, Bind bind) { rows[opcode] = std::move(bind); }
  /// Null if the device has no kernel for the opcode.
  const Bind *find(fb::Opcode opcode) const {
    auto row = rows.find(opcode);
    return row == rows.end() ? nullptr : &row->second;
  }
  const std::map<fb::Opcode, Bind> &all() const { return rows; }

private:
  std::map<fb::Opcode, Bind> rows;
};

class Device {
public:
  virtual ~Device() = default;

  /// InvalidArgument, without the tensor's name, if the address that a program
  /// gives is neither memory of this device nor other memory that its kernels
  /// can read.
  virtual absl::Status checkAddress(const void *data, size_t bytes) const = 0;

  /// `onError` is called with the first error of enqueued work, on any thread,
  /// before the timelines after that work fail; it may be empty. Whatever it
  /// uses outlives the queue. ResourceExhausted if no queue can be created.
  virtual absl::StatusOr<std::unique_ptr<Queue>>
  createQueue(std::function<void(const absl::Status &)> onError) = 0;

  /// Tells the device of a timeline that its queues may follow or signal from
  /// now on, until dismiss(). Only then may queues use it.
  virtual void admit(Timeline & /*timeline*/) {}
  /// Tells the device that the timeline is about to be destroyed. No queue has
  /// work left that follows or signals it.
  virtual void dismiss(Timeline & /*timeline*/) {}
  /// Tells the device that the timeline has failed. Work that waits for it ends
  /// with an error.
  virtual void release(Timeline & /*timeline*/) {}

  /// Kernels of arithmetic, updates, casts, and of encoding and decoding. A
  /// plan with an instruction of these kinds that has no kernel here is refused
  /// when a session starts.
  virtual const KernelTable &kernels() const = 0;
};

/// The device whose memory is this process's and whose kernels run on its
/// threads.
Device &cpuDevice();

} // namespace bagua::runtime

#endif // BAGUA_RUNTIME_DEVICE_H
