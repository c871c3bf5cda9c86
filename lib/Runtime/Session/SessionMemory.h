//===- SessionMemory.h - The addresses of a rank's tensors and arenas -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The arenas of one rank and the program's bindings. Both together give the
// address of every tensor and value of the plan.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_SESSION_SESSIONMEMORY_H
#define BAGUA_LIB_RUNTIME_SESSION_SESSIONMEMORY_H

#include "bagua/Runtime/LocalValue.h"

#include "bagua/Runtime/Backend.h"
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

  /// Allocates the arenas in memory of the world. With `guarded`, zones around
  /// each arena are filled with a pattern, and the arenas with bytes that read
  /// as NaN. ResourceExhausted if there is no memory.
  absl::Status allocate(Backend &backend, Queue &queue, bool guarded);
  /// Internal, naming the arena, if a byte of a zone has changed.
  absl::Status checkGuards(Queue &queue) const;

  /// Bytes of the arenas, without guards.
  int64_t arenaBytes() const { return allocatedBytes; }

  int64_t tensorBytes(uint32_t tensor) const;
  /// The tensor's address; null if the program has neither bound nor moved it.
  std::byte *tensorAddress(uint32_t tensor) const;
  /// The memory of a tensor in an arena, which stays as long as the returned
  /// pointer.
  std::shared_ptr<std::byte> hold(uint32_t tensor) const;
  bool isBound(uint32_t tensor) const { return bindings[tensor] != nullptr; }
  void bind(uint32_t tensor, std::byte *data) {
    bindings[tensor] = addresses[tensor] = data;
  }
  /// Moves a tensor of the program that the runtime doesn't own.
  void move(uint32_t tensor, std::byte *data) { addresses[tensor] = data; }
  void moveBack(uint32_t tensor) { addresses[tensor] = bindings[tensor]; }

  /// A value of the plan; its place follows the tensor.
  LocalValue value(uint32_t number) const;

private:
  const Plan &plan;
  const int64_t rank;
  bool isGuarded = false;
  int64_t allocatedBytes = 0;
  std::vector<std::shared_ptr<std::byte>> arenas;
  /// The beginnings of arenas, after guards. The vector never moves, since
  /// places point into it.
  std::vector<std::byte *> arenaAddresses;
  /// By tensor: the address that the program has bound, and the present one.
  std::vector<std::byte *> bindings;
  std::vector<std::byte *> addresses;
};

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_SESSION_SESSIONMEMORY_H
