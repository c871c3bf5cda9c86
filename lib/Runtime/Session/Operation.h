//===- Operation.h - An instruction, ready to run on one rank -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is left of a plan's instruction when a session starts: places, counts
// and a communicator. Running one allocates nothing and looks nothing up but
// addresses.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_SESSION_OPERATION_H
#define BAGUA_LIB_RUNTIME_SESSION_OPERATION_H

#include "Session/PlanCommunicators.h"
#include "Session/SessionMemory.h"

#include "bagua/Runtime/Communicator.h"
#include "bagua/Runtime/Plan.h"
#include "bagua/Runtime/Queue.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <cstdint>
#include <memory>

namespace bagua::runtime {

class Operation {
public:
  virtual ~Operation() = default;

  /// `step` is the session's. On the host's queue, returns when it is done.
  virtual absl::Status enqueue(Queue &queue, int64_t step) = 0;

  /// Bytes that this rank sends each time.
  int64_t bytesSent = 0;
  /// Bytes of memory that it has besides arenas.
  int64_t scratchBytes = 0;
  /// Whose members must have alike what was stated of the step; null where
  /// there is none, and where servers, whose programs state nothing, are among
  /// them.
  Communicator *agreeing = nullptr;
};

/// What an operation is made of. Lives only while operations are made, apart
/// from the communicators.
struct OperationSource {
  const Plan &plan;
  int64_t rank;
  const SessionMemory &memory;
  PlanCommunicators &communicators;
  World &world;
};

/// The operation of an instruction; null where this rank has nothing to do: it
/// takes no part, or operands and results share their places.
/// ResourceExhausted where there is no memory for what it needs besides arenas.
absl::StatusOr<std::unique_ptr<Operation>>
makeOperation(const OperationSource &source, uint32_t instruction);

/// The two halves of makeOperation.
absl::StatusOr<std::unique_ptr<Operation>>
makeCollective(const OperationSource &source,
               const fb::Instruction &instruction);
std::unique_ptr<Operation>
makeLocalOperation(const OperationSource &source,
                   const fb::Instruction &instruction);

/// Copies between buffers, and zeros for padding. Null if there are none.
struct CopyStep {
  Place to;
  /// Nowhere: zeros.
  Place from;
  int64_t bytes;
};
std::unique_ptr<Operation> makeCopies(const std::vector<CopyStep> &copies);

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_SESSION_OPERATION_H
