//===- CallingCommunicator.cpp - Collectives as calls ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes arguments into calls, and computes small calls from copies of all
// inputs.
//
//===----------------------------------------------------------------------===//
#include "Communication/CallingCommunicator.h"

#include "Communication/CopyBytes.h"
#include "Communication/Disagreement.h"
#include "Kernels/ReduceKernels.h"

#include "absl/strings/str_cat.h"

#include <string>
#include <utility>

namespace bagua::runtime {

absl::Status CallingCommunicator::allReduce(const void *input, void *output,
                                            int64_t count, DataType type,
                                            ReduceKind kind,
                                            Queue & /*queue*/) {
  CollectiveCall &call = nextCall(CollectiveOp::AllReduce);
  call.count = count;
  call.type = type;
  call.kind = kind;
  return runHere(call, {input, output, {}});
}

absl::Status CallingCommunicator::reduceToOwners(const void *input,
                                                 void *output, int64_t count,
                                                 DataType type, ReduceKind kind,
                                                 int contributors,
                                                 absl::Span<const int> owners,
                                                 Queue & /*queue*/) {
  CollectiveCall &call = nextCall(CollectiveOp::ReduceToOwners);
  call.count = count;
  call.type = type;
  call.kind = kind;
  call.endpoints = contributors;
  call.setLists(owners, {}, size());
  return runHere(call, {input, output, {}});
}

absl::Status CallingCommunicator::gatherFromOwners(const void *input,
                                                   void *output, int64_t count,
                                                   DataType type, int receivers,
                                                   absl::Span<const int> owners,
                                                   Queue & /*queue*/) {
  CollectiveCall &call = nextCall(CollectiveOp::GatherFromOwners);
  call.count = count;
  call.type = type;
  call.endpoints = receivers;
  call.setLists(owners, {}, size());
  return runHere(call, {input, output, {}});
}

absl::Status CallingCommunicator::allToAll(const void *input, void *output,
                                           int64_t blockBytes,
                                           Queue & /*queue*/) {
  CollectiveCall &call = nextCall(CollectiveOp::AllToAll);
  call.count = blockBytes;
  return runHere(call, {input, output, {}});
}

absl::Status CallingCommunicator::exchange(const void *input, int64_t bytes,
                                           absl::Span<const int> destinations,
                                           absl::Span<const int> sources,
                                           absl::Span<void *const> outputs,
                                           Queue & /*queue*/) {
  CollectiveCall &call = nextCall(CollectiveOp::Exchange);
  call.count = bytes;
  call.setLists(sources, destinations, size());
  return runHere(call, {input, nullptr, outputs});
}

absl::Status CallingCommunicator::barrier(Queue & /*queue*/) {
  return runHere(nextCall(CollectiveOp::Barrier), {});
}

/// A queue of the host has nothing under way, so the call runs at once.
absl::Status CallingCommunicator::runHere(CollectiveCall &call,
                                          const CallBuffers &buffers) {
  call.agreement = word;
  absl::Status status = run(call, buffers);
  return status.ok() || !isDisagreement(status) ? status : explain(status);
}

/// Either all members come here, or none.
absl::Status CallingCommunicator::explain(const absl::Status &disagreement) {
  const uint64_t stated = std::exchange(word, 0);
  absl::StatusOr<std::string> what =
      describeDisagreement(*this, worldRanks(), *facts);
  word = stated;
  if (!what.ok() || what->empty())
    return what.ok() ? disagreement : what.status();
  return absl::Status(
      disagreement.code(),
      absl::StrCat("communicator '", std::string(name()), "': ", *what));
}

//===----------------------------------------------------------------------===//
// Small calls
//===----------------------------------------------------------------------===//

namespace {

std::byte *bytesAt(void *buffer, int64_t offset) {
  return static_cast<std::byte *>(buffer) + offset;
}

void reduceInputs(const CollectiveCall &call,
                  absl::Span<const std::byte *> inputs, ElementRange range,
                  void *output) {
  for (const std::byte *&input : inputs)
    input += range.begin * call.elementBytes();
  std::byte *const outputs[] = {bytesAt(output, 0)};
  reduceElements(call.type, call.kind, inputs, outputs, range.size());
}

} // namespace

void combineInputs(const CollectiveCall &call, int self,
                   absl::Span<const std::byte *> inputs,
                   const CallBuffers &buffers) {
  const int64_t bytes = call.elementBytes();
  switch (call.op) {
  case CollectiveOp::AllReduce:
    if (call.count > 0)
      reduceInputs(call, inputs, {0, call.count}, buffers.output);
    return;
  case CollectiveOp::ReduceToOwners:
    if (ElementRange part = call.partOf(self); part.size() > 0)
      reduceInputs(call, inputs.first(call.endpoints), part, buffers.output);
    return;
  case CollectiveOp::GatherFromOwners:
    for (size_t i = 0; i < call.ranks().size() && self < call.endpoints; ++i) {
      ElementRange part = call.part(i);
      copyBytes(bytesAt(buffers.output, part.begin * bytes),
                inputs[call.ranks()[i]], part.size() * bytes);
    }
    return;
  case CollectiveOp::AllToAll:
    for (size_t from = 0; from < inputs.size(); ++from)
      copyBytes(bytesAt(buffers.output, from * call.count),
                inputs[from] + self * call.count, call.count);
    return;
  case CollectiveOp::Exchange:
    for (size_t i = 0; i < buffers.outputs.size(); ++i)
      copyBytes(bytesAt(buffers.outputs[i], 0), inputs[call.ranks()[i]],
                call.count);
    return;
  case CollectiveOp::Barrier:
    return;
  }
}

} // namespace bagua::runtime
