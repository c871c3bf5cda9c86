//===- CallingCommunicator.h - Collectives as calls -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The common part of this library's communicators. Each function of the
// interface writes its arguments into a CollectiveCall, which then runs on the
// thread that enqueues it. Also, how a member computes the result of a small
// call from copies of all members' inputs.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_COMMUNICATION_CALLINGCOMMUNICATOR_H
#define BAGUA_LIB_RUNTIME_COMMUNICATION_CALLINGCOMMUNICATOR_H

#include "Communication/CollectiveCall.h"

#include "bagua/Runtime/Communicator.h"

#include "absl/status/status.h"
#include "absl/types/span.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace bagua::runtime {

class CallingCommunicator : public Communicator {
public:
  absl::Status allReduce(const void *input, void *output, int64_t count,
                         DataType type, ReduceKind kind, Queue &queue) final;
  absl::Status reduceToOwners(const void *input, void *output, int64_t count,
                              DataType type, ReduceKind kind, int contributors,
                              absl::Span<const int> owners, Queue &queue) final;
  absl::Status gatherFromOwners(const void *input, void *output, int64_t count,
                                DataType type, int receivers,
                                absl::Span<const int> owners,
                                Queue &queue) final;
  absl::Status allToAll(const void *input, void *output, int64_t blockBytes,
                        Queue &queue) final;
  absl::Status exchange(const void *input, int64_t bytes,
                        absl::Span<const int> destinations,
                        absl::Span<const int> sources,
                        absl::Span<void *const> outputs, Queue &queue) final;
  absl::Status barrier(Queue &queue) final;
  void agreeOn(uint64_t newWord, const AgreedFacts *newFacts) final {
    word = newWord;
    facts = newFacts;
  }

protected:
  /// This member's next call, reset for `op`.
  virtual CollectiveCall &nextCall(CollectiveOp op) = 0;
  virtual std::string_view name() const = 0;
  /// The members' ranks in the world.
  virtual absl::Span<const int> worldRanks() const = 0;
  /// Runs a call whose arguments are filled in.
  virtual absl::Status run(CollectiveCall &call,
                           const CallBuffers &buffers) = 0;

private:
  absl::Status runHere(CollectiveCall &call, const CallBuffers &buffers);
  absl::Status explain(const absl::Status &disagreement);

  uint64_t word = 0;
  const AgreedFacts *facts = nullptr;
};

/// Computes the results of member `self` from copies of all members' inputs.
/// `inputs` has one copy for each member, of inputBytes() each; its addresses
/// are overwritten.
void combineInputs(const CollectiveCall &call, int self,
                   absl::Span<const std::byte *> inputs,
                   const CallBuffers &buffers);

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_COMMUNICATION_CALLINGCOMMUNICATOR_H
