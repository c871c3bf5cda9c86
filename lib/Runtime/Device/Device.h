//===- Device.h - Where a rank's tensors are ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A session's interface to the device whose memory a world's communicators
// move: queues, and the kernels of instructions. World::allocate provides the
// memory itself.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_DEVICE_DEVICE_H
#define BAGUA_LIB_RUNTIME_DEVICE_DEVICE_H

#include "Kernels/LocalValue.h"

#include "bagua/Runtime/PlanGenerated.h"
#include "bagua/Runtime/Queue.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace bagua::runtime {

/// An instruction of arithmetic with its arguments bound.
class Kernel {
public:
  virtual ~Kernel() = default;
  /// Enqueues the kernel on a queue of the device; `step` is the session's.
  /// Allocates nothing.
  virtual absl::Status launch(Queue &queue, int64_t step) = 0;
};

class Device {
public:
  virtual ~Device() = default;

  /// InvalidArgument, without the tensor's name, if the address that a program
  /// gives is neither memory of this device nor other memory that its kernels
  /// can read.
  virtual absl::Status checkAddress(const void *data, size_t bytes) const = 0;

  /// `onError` is called with the first error of enqueued work, on any thread,
  /// before the timelines after that work fail. Whatever it uses outlives the
  /// queue. ResourceExhausted if no queue can be created.
  virtual absl::StatusOr<std::unique_ptr<Queue>>
  createQueue(std::function<void(const absl::Status &)> onError) = 0;

  /// Binds an instruction of arithmetic, an update or a cast (Opcodes.h) that
  /// the loader has verified, with this rank's elements. Null for other
  /// opcodes.
  virtual std::unique_ptr<Kernel>
  bind(const fb::Instruction &instruction,
       const std::vector<LocalValue> &inputs,
       const std::vector<LocalValue> &outputs) = 0;
};

/// The device whose memory is this process's and whose kernels run on its
/// threads.
Device &hostDevice();

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_DEVICE_DEVICE_H
