//===- CpuDevice.cpp - This process's memory and its threads --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The queue runs each operation on the calling thread, so nothing is ever under
// way in it.
//
//===----------------------------------------------------------------------===//
#include "Kernels/Arithmetic.h"
#include "bagua/Runtime/Device.h"

#include "bagua/Runtime/Communicator.h"

#include <cstring>
#include <utility>

namespace bagua::runtime {
namespace {

class CpuQueue final : public Queue {
public:
  bool canFollow() const override { return false; }
  void follow(const Timeline & /*timeline*/, uint64_t /*value*/) override {}
  void signal(Timeline &timeline, uint64_t value) override {
    timeline.signal(value);
  }
  absl::Status copyRows(void *to, size_t toStride, const void *from,
                        size_t fromStride, size_t rowBytes,
                        size_t rows) override {
    if (rowBytes == 0) // addresses may be null, which memmove forbids
      return absl::OkStatus();
    auto *target = static_cast<std::byte *>(to);
    auto *source = static_cast<const std::byte *>(from);
    for (size_t row = 0; row < rows; ++row)
      std::memmove(target + row * toStride, source + row * fromStride,
                   rowBytes);
    return absl::OkStatus();
  }
  absl::Status zero(void *to, size_t bytes) override {
    if (bytes > 0)
      std::memset(to, 0, bytes);
    return absl::OkStatus();
  }
  absl::Status drain(std::chrono::nanoseconds /*limit*/) override {
    return absl::OkStatus();
  }
};

class CpuKernel final : public Kernel {
public:
  explicit CpuKernel(BoundKernel bound) : kernel(std::move(bound)) {}

  absl::Status launch(Queue & /*queue*/, int64_t step) override {
    kernel(step);
    return absl::OkStatus();
  }

private:
  BoundKernel kernel;
};

class CpuDevice final : public Device {
public:
  CpuDevice() {
    for (const CpuKernelRow &row : cpuKernels())
      table.set(row.opcode, [bind = row.bind](const auto &...arguments) {
        return std::make_unique<CpuKernel>(bind(arguments...));
      });
  }

  absl::Status checkAddress(const void * /*data*/,
                            size_t /*bytes*/) const override {
    return absl::OkStatus(); // unknown before it is used
  }
  absl::StatusOr<std::unique_ptr<Queue>>
  createQueue(std::function<void(const absl::Status &)> /*onError*/) override {
    return std::make_unique<CpuQueue>();
  }
  const KernelTable &kernels() const override { return table; }

private:
  KernelTable table;
};

} // namespace

Queue &cpuQueue() {
  static CpuQueue queue;
  return queue;
}

Device &cpuDevice() {
  static CpuDevice device;
  return device;
}

namespace {
/// From the start: what a thread has half made when another one forks stays so
/// in the child.
[[maybe_unused]] Queue &queueMadeAtLoad = cpuQueue();
[[maybe_unused]] Device &deviceMadeAtLoad = cpuDevice();
} // namespace

} // namespace bagua::runtime
