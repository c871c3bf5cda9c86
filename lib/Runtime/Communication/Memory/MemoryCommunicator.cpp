//===- MemoryCommunicator.cpp - Collectives in shared memory --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each member publishes its call, meets the others, checks that all calls
// agree, and then works directly on the members' buffers. There are three ways:
//
// - Direct: the elements are cut into one slice for each member. Each member
//   combines its slice of all inputs and writes it to all outputs, so every
//   byte is read once and written once. A second meeting ends the call.
// - Staged, for small buffers, where a meeting costs more than the bytes: each
//   member leaves a copy of its input in the group's stage before the meeting,
//   and computes its own output afterwards. No second meeting is needed.
// - Windowed, if a member's buffers are in memory of its process alone: all
//   members copy their inputs piece by piece to windows that others see, work
//   there as they would directly, and copy their outputs back.
//
// All members evaluate the same expression for each element, so that the bits
// do not depend on the way.
//
//===----------------------------------------------------------------------===//
#include "Communication/CallingCommunicator.h"
#include "Communication/CopyBytes.h"
#include "Communication/Memory/RunState.h"
#include "Kernels/ReduceKernels.h"

#include <algorithm>

namespace bagua::runtime {
namespace {

// Slices start at multiples of this, so that two members seldom write to one
// cache line and kernels seldom see a tail.
constexpr int64_t kSliceBytes = 256;

// A copy to several outputs goes block by block: the source stays in the first
// level of cache.
constexpr int64_t kCopyBytes = 16 * 1024;

ElementRange intersect(ElementRange a, ElementRange b) {
  ElementRange result = {std::max(a.begin, b.begin), std::min(a.end, b.end)};
  result.end = std::max(result.begin, result.end);
  return result;
}

const std::byte *bytesOf(const void *buffer) {
  return static_cast<const std::byte *>(buffer);
}

class MemoryCommunicator final : public CallingCommunicator {
public:
  MemoryCommunicator(std::shared_ptr<RunState> sharedState,
                     std::shared_ptr<MemoryGroup> sharedGroup, int member,
                     CommunicatorOptions ownOptions)
      : state(std::move(sharedState)), group(std::move(sharedGroup)),
        self(member), options(std::move(ownOptions)),
        inputs(group->members.size()), outputs(group->members.size()) {}
  ~MemoryCommunicator() override { RunState::leaveGroup(*group, self); }

  int rank() const override { return self; }
  int size() const override { return group->size(); }

private:
  CollectiveCall &nextCall(CollectiveOp op) override;
  std::string_view name() const override { return group->name; }
  absl::Span<const int> worldRanks() const override { return group->members; }
  absl::Status run(CollectiveCall &call,
                   const CallBuffers &ownBuffers) override;
  absl::Status runWindowed(const CollectiveCall &call);
  void offer(CollectiveCall &call) const;
  absl::Status meet(const CollectiveCall &call);
  bool areAllReachable() const;

  // Works on `range` of the elements (or bytes) that the call counts.
  void work(const CollectiveCall &call, ElementRange range);
  void allReduceWork(const CollectiveCall &call, ElementRange range);
  void reduceToOwnersWork(const CollectiveCall &call, ElementRange range);
  void gatherFromOwnersWork(const CollectiveCall &call, ElementRange range);
  void allToAllWork(const CollectiveCall &call, ElementRange range);
  void exchangeWork(const CollectiveCall &call, ElementRange range);
  // Copy to this side of the windows, and from the other side.
  void copyToWindow(const CollectiveCall &call, ElementRange range);
  void copyFromWindow(const CollectiveCall &call, ElementRange range);

  /// Element `element` of an input, or of an output, that begins at element
  /// `first`.
  const std::byte *inputAt(int member, int64_t element, int64_t first) const;
  std::byte *outputAt(int member, int64_t element, int64_t first) const;
  ElementRange slice(const CollectiveCall &call, ElementRange range) const;
  void reduceRange(const CollectiveCall &call, ElementRange range,
                   int contributors, int outputCount);
  void copyRange(const std::byte *from, int64_t bytes, int outputCount);

  const CollectiveCall &callOf(int member) const {
    return group->memory.calls(turn)[member];
  }

  const std::shared_ptr<RunState> state;
  const std::shared_ptr<MemoryGroup> group;
  const int self;
  const CommunicatorOptions options;

  // The state of the call in progress.
  int turn = 0;
  CallBuffers buffers;
  bool isWindowed = false;
  /// The elements in the windows, and the side of the windows they are in.
  ElementRange piece;
  int side = 0;

  // Addresses for the kernels, sized once.
  std::vector<const std::byte *> inputs;
  std::vector<std::byte *> outputs;
};

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

CollectiveCall &MemoryCommunicator::nextCall(CollectiveOp op) {
  turn ^= 1;
  CollectiveCall &call = group->memory.calls(turn)[self];
  call.reset(op);
  return call;
}

absl::Status MemoryCommunicator::run(CollectiveCall &call,
                                     const CallBuffers &ownBuffers) {
  buffers = ownBuffers;
  isWindowed = false;
  bool isStaged = false;
  if (!call.isRefused())
    call.refuse(refusalOf(call, buffers, self, size()));
  if (!call.isRefused()) {
    // All members must come to the same answer, so it depends on the member
    // that stages most.
    isStaged = call.inputBytes(-1, size()) <= GroupMemory::stageBytes(size());
    if (isStaged)
      copyBytes(group->memory.stage(turn, self), bytesOf(buffers.input),
                call.inputBytes(self, size()));
    else
      offer(call);
  }
  if (absl::Status status = meet(call); !status.ok())
    return status;
  absl::Status status =
      checkCalls(group->memory.calls(turn), group->members, group->name);
  if (!status.ok())
    return status;
  if (isStaged) {
    for (int member = 0; member < size(); ++member)
      inputs[member] = group->memory.stage(turn, member);
    combineInputs(call, self, absl::MakeSpan(inputs), buffers);
    return absl::OkStatus();
  }
  if (!areAllReachable())
    return runWindowed(call);
  work(call, {0, call.count});
  return state->meetAfterWork(*group, self, collectiveOpName(call.op), options);
}

/// Fills in where the buffers are.
void MemoryCommunicator::offer(CollectiveCall &call) const {
  const AddressSpace &space = group->place.addresses;
  call.input = space.offsetOf(buffers.input);
  call.output = space.offsetOf(buffers.output);
  call.isReachable =
      space.contains(buffers.input, call.inputBytes(self, size())) &&
      space.contains(buffers.output, call.outputBytes(self));
}

absl::Status MemoryCommunicator::meet(const CollectiveCall &call) {
  return state->meet(*group, self, collectiveOpName(call.op), options);
}

bool MemoryCommunicator::areAllReachable() const {
  for (int member = 0; member < size(); ++member)
    if (!callOf(member).isReachable)
      return false;
  return true;
}

/// Works piece by piece. While all members work in one side of the windows,
/// each fills the other side with the next piece, so that one meeting for each
/// piece is enough. No member touches another's buffers, so an abort may end
/// this at any point.
absl::Status MemoryCommunicator::runWindowed(const CollectiveCall &call) {
  isWindowed = true;
  // Blocks of all members lie side by side.
  int64_t bytes =
      call.op == CollectiveOp::AllToAll ? size() : call.elementBytes();
  int64_t most = GroupMemory::kWindowBytes / bytes;
  auto pieceAt = [&](int64_t begin) -> ElementRange {
    return {begin, std::min(begin + most, call.count)};
  };
  side = 0;
  copyToWindow(call, pieceAt(0));
  absl::Status status = meet(call);
  for (int64_t begin = 0; status.ok() && begin < call.count; begin += most) {
    piece = pieceAt(begin);
    work(call, piece);
    side ^= 1;
    if (begin + most < call.count)
      copyToWindow(call, pieceAt(begin + most));
    status = meet(call);
    if (status.ok())
      copyFromWindow(call, piece);
  }
  return status;
}

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

void MemoryCommunicator::copyToWindow(const CollectiveCall &call,
                                      ElementRange range) {
  std::byte *window = group->memory.window(side, self);
  const std::byte *input = bytesOf(buffers.input);
  int64_t bytes = call.elementBytes();
  switch (call.op) {
  case CollectiveOp::AllReduce:
  case CollectiveOp::ReduceToOwners:
  case CollectiveOp::Exchange:
    if (call.inputBytes(self, size()) > 0)
      copyBytes(window, input + range.begin * bytes, range.size() * bytes);
    return;
  case CollectiveOp::GatherFromOwners: {
    ElementRange part = call.partOf(self);
    ElementRange own = intersect(part, range);
    copyBytes(window + (own.begin - range.begin) * bytes,
              input + (own.begin - part.begin) * bytes, own.size() * bytes);
    return;
  }
  case CollectiveOp::AllToAll:
    for (int to = 0; to < size(); ++to)
      copyBytes(window + to * range.size(),
                input + to * call.count + range.begin, range.size());
    return;
  case CollectiveOp::Barrier:
    return;
  }
}

void MemoryCommunicator::copyFromWindow(const CollectiveCall &call,
                                        ElementRange range) {
  const std::byte *window = group->memory.window(side ^ 1, self);
  auto *output = static_cast<std::byte *>(buffers.output);
  int64_t bytes = call.elementBytes();
  switch (call.op) {
  case CollectiveOp::AllReduce:
  case CollectiveOp::GatherFromOwners:
    if (call.outputBytes(self) > 0)
      copyBytes(output + range.begin * bytes, window, range.size() * bytes);
    return;
  case CollectiveOp::ReduceToOwners: {
    ElementRange part = call.partOf(self);
    ElementRange own = intersect(part, range);
    copyBytes(output + (own.begin - part.begin) * bytes,
              window + (own.begin - range.begin) * bytes, own.size() * bytes);
    return;
  }
  case CollectiveOp::AllToAll:
  case CollectiveOp::Exchange:
  case CollectiveOp::Barrier:
    return; // the members that work write it
  }
}

//===----------------------------------------------------------------------===//
// Work on the members' buffers
//===----------------------------------------------------------------------===//

void MemoryCommunicator::work(const CollectiveCall &call, ElementRange range) {
  switch (call.op) {
  case CollectiveOp::AllReduce:
    return allReduceWork(call, range);
  case CollectiveOp::ReduceToOwners:
    return reduceToOwnersWork(call, range);
  case CollectiveOp::GatherFromOwners:
    return gatherFromOwnersWork(call, range);
  case CollectiveOp::AllToAll:
    return allToAllWork(call, range);
  case CollectiveOp::Exchange:
    return exchangeWork(call, range);
  case CollectiveOp::Barrier:
    return;
  }
}

const std::byte *MemoryCommunicator::inputAt(int member, int64_t element,
                                             int64_t first) const {
  const CollectiveCall &call = callOf(member);
  int64_t bytes = call.elementBytes();
  if (isWindowed)
    return group->memory.window(side, member) + (element - piece.begin) * bytes;
  return group->place.addresses.at(call.input) + (element - first) * bytes;
}

std::byte *MemoryCommunicator::outputAt(int member, int64_t element,
                                        int64_t first) const {
  const CollectiveCall &call = callOf(member);
  int64_t bytes = call.elementBytes();
  if (isWindowed)
    return group->memory.window(side, member) + (element - piece.begin) * bytes;
  std::byte *output = member == self ? static_cast<std::byte *>(buffers.output)
                                     : group->place.addresses.at(call.output);
  return output + (element - first) * bytes;
}

/// This member's share when all members work on one tensor together.
ElementRange MemoryCommunicator::slice(const CollectiveCall &call,
                                       ElementRange range) const {
  int64_t unit = kSliceBytes / call.elementBytes();
  ElementRange units = partRange(partSize(range.size(), unit), size(), self);
  return intersect(
      {range.begin + units.begin * unit, range.begin + units.end * unit},
      range);
}

/// Combines elements `range` of the inputs into outputs[0..outputCount), whose
/// addresses are those of the range's first element.
void MemoryCommunicator::reduceRange(const CollectiveCall &call,
                                     ElementRange range, int contributors,
                                     int outputCount) {
  for (int member = 0; member < contributors; ++member)
    inputs[member] = inputAt(member, range.begin, 0);
  reduceElements(call.type, call.kind,
                 absl::MakeConstSpan(inputs).first(contributors),
                 absl::MakeConstSpan(outputs).first(outputCount), range.size());
}

/// Copies `from` to outputs[0..outputCount).
void MemoryCommunicator::copyRange(const std::byte *from, int64_t bytes,
                                   int outputCount) {
  for (int64_t at = 0; at < bytes; at += kCopyBytes)
    for (int i = 0; i < outputCount; ++i)
      copyBytes(outputs[i] + at, from + at, std::min(kCopyBytes, bytes - at));
}

void MemoryCommunicator::allReduceWork(const CollectiveCall &call,
                                       ElementRange range) {
  ElementRange own = slice(call, range);
  if (own.size() == 0)
    return;
  int outputCount = 0;
  for (int member = 0; member < size(); ++member)
    outputs[outputCount++] = outputAt(member, own.begin, 0);
  reduceRange(call, own, size(), outputCount);
}

void MemoryCommunicator::reduceToOwnersWork(const CollectiveCall &call,
                                            ElementRange range) {
  ElementRange shared = slice(call, range);
  for (size_t i = 0; i < call.ranks().size(); ++i) {
    int owner = call.ranks()[i];
    ElementRange part = call.part(i);
    ElementRange own = intersect(part, shared);
    if (own.size() == 0)
      continue;
    outputs[0] = outputAt(owner, own.begin, part.begin);
    reduceRange(call, own, call.endpoints, 1);
  }
}

void MemoryCommunicator::gatherFromOwnersWork(const CollectiveCall &call,
                                              ElementRange range) {
  ElementRange shared = slice(call, range);
  for (size_t i = 0; i < call.ranks().size(); ++i) {
    ElementRange part = call.part(i);
    ElementRange own = intersect(part, shared);
    if (own.size() == 0)
      continue;
    int outputCount = 0;
    for (int member = 0; member < call.endpoints; ++member)
      outputs[outputCount++] = outputAt(member, own.begin, 0);
    copyRange(inputAt(call.ranks()[i], own.begin, part.begin),
              own.size() * call.elementBytes(), outputCount);
  }
}

void MemoryCommunicator::allToAllWork(const CollectiveCall &call,
                                      ElementRange range) {
  auto *output = static_cast<std::byte *>(buffers.output);
  // Members start at different sources, so that they seldom read the same one.
  for (int step = 0; step < size(); ++step) {
    int from = (self + step) % size();
    // Blocks in a window are as long as the piece.
    const std::byte *block =
        isWindowed ? group->memory.window(side, from) + self * range.size()
                   : inputAt(from, self * call.count, 0);
    copyBytes(output + from * call.count + range.begin, block, range.size());
  }
}

void MemoryCommunicator::exchangeWork(const CollectiveCall &call,
                                      ElementRange range) {
  for (size_t i = 0; i < buffers.outputs.size(); ++i)
    copyBytes(static_cast<std::byte *>(buffers.outputs[i]) + range.begin,
              inputAt(call.ranks()[i], range.begin, 0), range.size());
}

} // namespace

absl::StatusOr<std::unique_ptr<Communicator>> createMemoryCommunicator(
    std::shared_ptr<RunState> state, int rank, const std::vector<int> &members,
    const std::string &name, const CommunicatorOptions &options,
    absl::FunctionRef<absl::StatusOr<GroupPlace>()> makePlace) {
  auto self = std::find(members.begin(), members.end(), rank);
  int member = static_cast<int>(self - members.begin());
  auto group = state->joinGroup(members, members, name, member, makePlace);
  if (!group.ok())
    return group.status();
  absl::Status met =
      state->meet(**group, member, "create_communicator", options);
  if (!met.ok())
    return met;
  return std::make_unique<MemoryCommunicator>(
      std::move(state), *std::move(group), member, options);
}

} // namespace bagua::runtime
