//===- Device.h - Where a rank's tensors are ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What sessions need of the device whose memory a world's communicators move,
// besides that memory, which is World::allocate's: queues, and the kernels of
// instructions.
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

/// An instruction of arithmetic, its arguments bound.
class Kernel {
public:
  virtual ~Kernel() = default;
  /// Of a queue of the device's; `step` is the session's. Allocates nothing.
  virtual absl::Status launch(Queue &queue, int64_t step) = 0;
};

class Device {
public:
  virtual ~Device() = default;

  /// InvalidArgument, without a name, where a program gives an address that is
  /// not one of this device's memory, or of none that its kernels can read.
  virtual absl::Status checkAddress(const void *data, size_t bytes) const = 0;

  /// `onError` is told of the first error of work that was enqueued, before
  /// timelines behind it fail; on any thread. Outlived by what it calls.
  /// ResourceExhausted where there is none to be had.
  virtual absl::StatusOr<std::unique_ptr<Queue>>
  createQueue(std::function<void(const absl::Status &)> onError) = 0;

  /// Of an instruction of arithmetic, an update or a cast (Opcodes.h) that the
  /// loader has verified, with elements on this rank. Null for other opcodes.
  virtual std::unique_ptr<Kernel>
  bind(const fb::Instruction &instruction,
       const std::vector<LocalValue> &inputs,
       const std::vector<LocalValue> &outputs) = 0;
};

/// The memory of this process, which kernels of its threads work on.
Device &hostDevice();

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_DEVICE_DEVICE_H
