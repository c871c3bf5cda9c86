//===- CallingCommunicator.h - Collectives as calls -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What communicators of this library have in common: each function of the
// interface writes its arguments down in a CollectiveCall, which is then run,
// on the thread that enqueues it. And how small calls are run wherever all
// members' inputs have been brought to one place.
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
  /// Runs it, filled in.
  virtual absl::Status run(CollectiveCall &call,
                           const CallBuffers &buffers) = 0;

private:
  absl::Status runAfter(Queue &queue, CollectiveCall &call,
                        const CallBuffers &buffers);
  absl::Status explain(const absl::Status &disagreement);

  uint64_t word = 0;
  const AgreedFacts *facts = nullptr;
};

/// Makes the results of member `self` out of copies of all members' inputs,
/// which `inputs` has by member, each as large as inputBytes() says. The
/// addresses are lost.
void combineInputs(const CollectiveCall &call, int self,
                   absl::Span<const std::byte *> inputs,
                   const CallBuffers &buffers);

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_COMMUNICATION_CALLINGCOMMUNICATOR_H
