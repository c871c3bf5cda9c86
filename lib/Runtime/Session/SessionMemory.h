//===- SessionMemory.h - Where a rank's tensors and arenas are ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The arenas of one rank, allocated, and the program's bindings; from both the
// address of every tensor and value of the plan.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_SESSION_SESSIONMEMORY_H
#define BAGUA_LIB_RUNTIME_SESSION_SESSIONMEMORY_H

#include "Kernels/LocalValue.h"

#include "bagua/Runtime/Communicator.h"
#include "bagua/Runtime/Plan.h"
#include "bagua/Runtime/PlanGenerated.h"

#include "absl/status/status.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace bagua::runtime {

class SessionMemory {
public:
  SessionMemory(const Plan &plan, int64_t rank);

  /// In memory of the world. With `guarded`, zones round each arena are filled
  /// with a pattern and the arenas with bytes that read as NaN.
  /// ResourceExhausted where memory is out.
  absl::Status allocate(World &world, Queue &queue, bool guarded);
  /// Internal, naming the arena, if a byte of a zone has changed.
  absl::Status checkGuards(Queue &queue) const;

  /// Of what is allocated, without guards.
  int64_t arenaBytes() const { return allocatedBytes; }

  int64_t tensorBytes(uint32_t tensor) const;
  /// Null where the program has neither bound nor moved it.
  std::byte *tensorAddress(uint32_t tensor) const;
  /// Of one that lives in an arena, which stays as long as what is returned.
  std::shared_ptr<std::byte> hold(uint32_t tensor) const;
  bool isBound(uint32_t tensor) const { return bindings[tensor] != nullptr; }
  void bind(uint32_t tensor, std::byte *data) {
    bindings[tensor] = addresses[tensor] = data;
  }
  /// Of a tensor of the program's, which the runtime doesn't have.
  void move(uint32_t tensor, std::byte *data) { addresses[tensor] = data; }
  void moveBack(uint32_t tensor) { addresses[tensor] = bindings[tensor]; }

  /// Its place follows the tensor.
  LocalValue value(uint32_t number) const;

private:
  const Plan &plan;
  const int64_t rank;
  bool isGuarded = false;
  int64_t allocatedBytes = 0;
  std::vector<std::shared_ptr<std::byte>> arenas;
  /// Where they begin, after guards. Stays where it is: places point into it.
  std::vector<std::byte *> arenaAddresses;
  /// By tensor: what the program has bound, and where it is now.
  std::vector<std::byte *> bindings;
  std::vector<std::byte *> addresses;
};

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_SESSION_SESSIONMEMORY_H
