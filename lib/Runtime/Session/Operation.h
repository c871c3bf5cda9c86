//===- Operation.h - An instruction, ready to run on one rank -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An operation is a plan's instruction when a session starts: places, counts
// and a communicator. Running it allocates nothing and looks up only addresses.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_SESSION_OPERATION_H
#define BAGUA_LIB_RUNTIME_SESSION_OPERATION_H

#include "Session/PlanCommunicators.h"
#include "Session/SessionMemory.h"

#include "bagua/Runtime/Backend.h"
#include "bagua/Runtime/Plan.h"
#include "bagua/Runtime/Queue.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <cstdint>
#include <memory>

namespace bagua::runtime {

class UpdateCounts;

class Operation {
public:
  virtual ~Operation() = default;

  /// Enqueues the operation; `step` is the session's. On the CPU's queue, the
  /// operation is done when this returns.
  virtual absl::Status enqueue(Queue &queue, int64_t step) = 0;

  /// Bytes that this rank sends each time.
  int64_t bytesSent = 0;
  /// Bytes of memory that the operation has besides arenas.
  int64_t scratchBytes = 0;
  /// The communicator whose members must agree on what was stated of the step.
  /// Null if there is none, or if it includes servers, whose programs state
  /// nothing.
  Communicator *agreeing = nullptr;
};

/// The inputs for making operations. It lives only while operations are made;
/// the communicators live longer.
struct OperationSource {
  const Plan &plan;
  int64_t rank;
  const SessionMemory &memory;
  PlanCommunicators &communicators;
  Backend &backend;
  /// Outlives the operations.
  const UpdateCounts &updates;
};

/// The operation of an instruction. Null if this rank has nothing to do: it
/// takes no part, or operands and results share their places. ResourceExhausted
/// if there is no memory for what it needs besides arenas; Unimplemented if the
/// device has no kernel for it.
absl::StatusOr<std::unique_ptr<Operation>>
makeOperation(const OperationSource &source, uint32_t instruction);

/// The two halves of makeOperation.
absl::StatusOr<std::unique_ptr<Operation>>
makeCollective(const OperationSource &source,
               const fb::Instruction &instruction);
absl::StatusOr<std::unique_ptr<Operation>>
makeLocalOperation(const OperationSource &source, uint32_t instruction);

/// A copy between buffers, or zeros for padding.
struct BufferCopy {
  Place to;
  /// If it is nowhere, zeros are written.
  Place from;
  int64_t bytes;
};
std::unique_ptr<Operation> makeCopies(const std::vector<BufferCopy> &copies);

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_SESSION_OPERATION_H
