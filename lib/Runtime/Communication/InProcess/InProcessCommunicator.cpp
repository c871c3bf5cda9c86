//===- InProcessCommunicator.cpp - Collectives in shared memory -----------===//
//
// Each member publishes its call, meets the others, checks that all calls
// agree, and then works straight on the members' buffers. Two ways:
//
// - Direct: the elements are cut into one slice for each member. It combines
// its
//   slice of all inputs and writes it to all outputs: every byte is read once
//   and written once, by whoever. A second meeting ends the call.
// - Staged, for small buffers, where meeting costs more than bytes: each member
//   leaves a copy of its input in the group's stage before the meeting and
//   makes its own output afterwards. No second meeting is needed.
//
// Both evaluate the same expression for each element, so that the bits do not
// depend on the way.
//
//===----------------------------------------------------------------------===//
#include "Communication/InProcess/InProcessWorld.h"
#include "Kernels/ReduceKernels.h"

#include <algorithm>
#include <cstring>

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

void copyBytes(std::byte *to, const std::byte *from, int64_t bytes) {
  if (bytes > 0 && to != from)
    std::memcpy(to, from, bytes);
}

class InProcessCommunicator final : public Communicator {
public:
  InProcessCommunicator(std::shared_ptr<InProcessState> sharedState,
                        std::shared_ptr<InProcessGroup> sharedGroup, int member,
                        CommunicatorOptions ownOptions)
      : state(std::move(sharedState)), group(std::move(sharedGroup)),
        self(member), options(std::move(ownOptions)),
        inputs(group->members.size()), outputs(group->members.size()) {}
  ~InProcessCommunicator() override { state->leaveGroup(*group, self); }

  int rank() const override { return self; }
  int size() const override { return group->size(); }

  absl::Status allReduce(const void *input, void *output, int64_t count,
                         DataType type, ReduceKind kind) override;
  absl::Status reduceToOwners(const void *input, void *output, int64_t count,
                              DataType type, ReduceKind kind, int contributors,
                              absl::Span<const int> owners) override;
  absl::Status gatherFromOwners(const void *input, void *output, int64_t count,
                                DataType type, int receivers,
                                absl::Span<const int> owners) override;
  absl::Status allToAll(const void *input, void *output,
                        int64_t blockBytes) override;
  absl::Status exchange(const void *input, int64_t bytes,
                        absl::Span<const int> destinations,
                        absl::Span<const int> sources,
                        absl::Span<void *const> sourceOutputs) override;
  absl::Status barrier() override;

private:
  CollectiveCall &nextCall(CollectiveOp op);
  absl::Status run(CollectiveCall &call);

  // What a member puts on its stage: its whole input.
  int64_t stagedBytes(const CollectiveCall &call, int member) const;
  void work(const CollectiveCall &call);
  void allReduceWork(const CollectiveCall &call);
  void reduceToOwnersWork(const CollectiveCall &call);
  void gatherFromOwnersWork(const CollectiveCall &call);
  void allToAllWork(const CollectiveCall &call);
  void exchangeWork(const CollectiveCall &call);

  /// The other members' view of this call.
  const CollectiveCall &callOf(int member) const {
    return group->calls[turn][member];
  }
  const std::byte *inputOf(int member) const {
    return isStaged ? group->stageOf(turn, member)
                    : static_cast<const std::byte *>(callOf(member).input);
  }
  std::byte *outputOf(int member) const {
    return static_cast<std::byte *>(callOf(member).output);
  }
  ElementRange slice(const CollectiveCall &call) const;
  void reduceRange(const CollectiveCall &call, ElementRange range,
                   int contributors, int outputCount);
  void copyRange(const std::byte *from, int64_t bytes, int outputCount);

  const std::shared_ptr<InProcessState> state;
  const std::shared_ptr<InProcessGroup> group;
  const int self;
  const CommunicatorOptions options;

  // Of the call in progress.
  int turn = 0;
  bool isStaged = false;

  // Addresses for the kernels, sized once.
  std::vector<const std::byte *> inputs;
  std::vector<std::byte *> outputs;
};

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

CollectiveCall &InProcessCommunicator::nextCall(CollectiveOp op) {
  turn ^= 1;
  CollectiveCall &call = group->calls[turn][self];
  call.op = op;
  call.type = DataType::Float32;
  call.kind = ReduceKind::Sum;
  call.endpoints = 0;
  call.count = 0;
  call.input = nullptr;
  call.output = nullptr;
  call.outputs = {};
  call.ranks.clear();
  call.destinations.clear();
  call.refusal.clear();
  return call;
}

absl::Status InProcessCommunicator::allReduce(const void *input, void *output,
                                              int64_t count, DataType type,
                                              ReduceKind kind) {
  CollectiveCall &call = nextCall(CollectiveOp::AllReduce);
  call.input = input;
  call.output = output;
  call.count = count;
  call.type = type;
  call.kind = kind;
  return run(call);
}

absl::Status InProcessCommunicator::reduceToOwners(
    const void *input, void *output, int64_t count, DataType type,
    ReduceKind kind, int contributors, absl::Span<const int> owners) {
  CollectiveCall &call = nextCall(CollectiveOp::ReduceToOwners);
  call.input = input;
  call.output = output;
  call.count = count;
  call.type = type;
  call.kind = kind;
  call.endpoints = contributors;
  call.ranks.assign(owners.begin(), owners.end());
  return run(call);
}

absl::Status InProcessCommunicator::gatherFromOwners(
    const void *input, void *output, int64_t count, DataType type,
    int receivers, absl::Span<const int> owners) {
  CollectiveCall &call = nextCall(CollectiveOp::GatherFromOwners);
  call.input = input;
  call.output = output;
  call.count = count;
  call.type = type;
  call.endpoints = receivers;
  call.ranks.assign(owners.begin(), owners.end());
  return run(call);
}

absl::Status InProcessCommunicator::allToAll(const void *input, void *output,
                                             int64_t blockBytes) {
  CollectiveCall &call = nextCall(CollectiveOp::AllToAll);
  call.input = input;
  call.output = output;
  call.count = blockBytes;
  return run(call);
}

absl::Status InProcessCommunicator::exchange(
    const void *input, int64_t bytes, absl::Span<const int> destinations,
    absl::Span<const int> sources, absl::Span<void *const> sourceOutputs) {
  CollectiveCall &call = nextCall(CollectiveOp::Exchange);
  call.input = input;
  call.count = bytes;
  call.outputs = sourceOutputs;
  call.ranks.assign(sources.begin(), sources.end());
  call.destinations.assign(destinations.begin(), destinations.end());
  return run(call);
}

absl::Status InProcessCommunicator::barrier() {
  return run(nextCall(CollectiveOp::Barrier));
}

absl::Status InProcessCommunicator::run(CollectiveCall &call) {
  call.refusal = refusalOf(call, self, size());
  isStaged = false;
  if (call.refusal.empty()) {
    // Whether to stage must come out the same on all members, so it is asked of
    // the member that stages most.
    isStaged = stagedBytes(call, -1) <= group->stageBytes;
    if (isStaged)
      copyBytes(group->stageOf(turn, self),
                static_cast<const std::byte *>(call.input),
                stagedBytes(call, self));
  }
  absl::Status status =
      state->meet(*group, self, collectiveOpName(call.op), options);
  if (!status.ok())
    return status;
  status = checkCalls(group->calls[turn], group->members, group->name);
  if (!status.ok())
    return status;
  work(call);
  // Members are still at work on this one's buffers. They wait for nobody until
  // they come here too, so neither time nor an abort may end this wait.
  if (!isStaged)
    group->gate.meetAlways(InProcessState::hasCoresForAll());
  return absl::OkStatus();
}

/// Of -1: the most that any member stages.
int64_t InProcessCommunicator::stagedBytes(const CollectiveCall &call,
                                           int member) const {
  switch (call.op) {
  case CollectiveOp::AllReduce:
    return call.count * call.elementBytes();
  case CollectiveOp::ReduceToOwners:
    return member < call.endpoints ? call.count * call.elementBytes() : 0;
  case CollectiveOp::GatherFromOwners: {
    int index = member < 0 ? 0 : call.indexOf(member);
    return index < 0 ? 0 : call.part(index).size() * call.elementBytes();
  }
  case CollectiveOp::AllToAll:
    return call.count * size();
  case CollectiveOp::Exchange:
    // Who sends to nobody has no input.
    return member < 0 || !call.destinations.empty() ? call.count : 0;
  case CollectiveOp::Barrier:
    return 0;
  }
  return 0;
}

//===----------------------------------------------------------------------===//
// Work on the members' buffers
//===----------------------------------------------------------------------===//

void InProcessCommunicator::work(const CollectiveCall &call) {
  switch (call.op) {
  case CollectiveOp::AllReduce:
    return allReduceWork(call);
  case CollectiveOp::ReduceToOwners:
    return reduceToOwnersWork(call);
  case CollectiveOp::GatherFromOwners:
    return gatherFromOwnersWork(call);
  case CollectiveOp::AllToAll:
    return allToAllWork(call);
  case CollectiveOp::Exchange:
    return exchangeWork(call);
  case CollectiveOp::Barrier:
    return;
  }
}

/// What this member works on when all work on one tensor together.
ElementRange InProcessCommunicator::slice(const CollectiveCall &call) const {
  int64_t unit = kSliceBytes / call.elementBytes();
  ElementRange units = partRange(partSize(call.count, unit), size(), self);
  return intersect({units.begin * unit, units.end * unit}, {0, call.count});
}

/// Combines elements `range` of the inputs into outputs[0..outputCount), whose
/// addresses are those of the range's first element.
void InProcessCommunicator::reduceRange(const CollectiveCall &call,
                                        ElementRange range, int contributors,
                                        int outputCount) {
  for (int member = 0; member < contributors; ++member)
    inputs[member] = inputOf(member) + range.begin * call.elementBytes();
  reduceElements(call.type, call.kind,
                 absl::MakeConstSpan(inputs).first(contributors),
                 absl::MakeConstSpan(outputs).first(outputCount), range.size());
}

/// Copies to outputs[0..outputCount).
void InProcessCommunicator::copyRange(const std::byte *from, int64_t bytes,
                                      int outputCount) {
  for (int64_t at = 0; at < bytes; at += kCopyBytes)
    for (int i = 0; i < outputCount; ++i)
      copyBytes(outputs[i] + at, from + at, std::min(kCopyBytes, bytes - at));
}

void InProcessCommunicator::allReduceWork(const CollectiveCall &call) {
  ElementRange range = isStaged ? ElementRange{0, call.count} : slice(call);
  if (range.size() == 0)
    return;
  int outputCount = 0;
  for (int member = 0; member < size(); ++member)
    if (!isStaged || member == self)
      outputs[outputCount++] =
          outputOf(member) + range.begin * call.elementBytes();
  reduceRange(call, range, size(), outputCount);
}

void InProcessCommunicator::reduceToOwnersWork(const CollectiveCall &call) {
  for (size_t i = 0; i < call.ranks.size(); ++i) {
    int owner = call.ranks[i];
    ElementRange part = call.part(i);
    ElementRange range = part;
    if (!isStaged)
      range = intersect(part, slice(call));
    else if (owner != self)
      continue;
    if (range.size() == 0)
      continue;
    outputs[0] =
        outputOf(owner) + (range.begin - part.begin) * call.elementBytes();
    reduceRange(call, range, call.endpoints, 1);
  }
}

void InProcessCommunicator::gatherFromOwnersWork(const CollectiveCall &call) {
  int64_t bytes = call.elementBytes();
  for (size_t i = 0; i < call.ranks.size(); ++i) {
    ElementRange part = call.part(i);
    ElementRange range = isStaged ? part : intersect(part, slice(call));
    if (range.size() == 0)
      continue;
    int outputCount = 0;
    for (int member = 0; member < call.endpoints; ++member)
      if (!isStaged || member == self)
        outputs[outputCount++] = outputOf(member) + range.begin * bytes;
    copyRange(inputOf(call.ranks[i]) + (range.begin - part.begin) * bytes,
              range.size() * bytes, outputCount);
  }
}

void InProcessCommunicator::allToAllWork(const CollectiveCall &call) {
  if (call.count == 0)
    return;
  // Members start at different sources, so that they seldom read the same one.
  for (int step = 0; step < size(); ++step) {
    int from = (self + step) % size();
    copyBytes(outputOf(self) + from * call.count,
              inputOf(from) + self * call.count, call.count);
  }
}

void InProcessCommunicator::exchangeWork(const CollectiveCall &call) {
  for (size_t i = 0; i < call.ranks.size(); ++i)
    copyBytes(static_cast<std::byte *>(call.outputs[i]), inputOf(call.ranks[i]),
              call.count);
}

} // namespace

std::unique_ptr<Communicator>
makeInProcessCommunicator(std::shared_ptr<InProcessState> state,
                          std::shared_ptr<InProcessGroup> group, int member,
                          CommunicatorOptions options) {
  return std::make_unique<InProcessCommunicator>(
      std::move(state), std::move(group), member, std::move(options));
}

} // namespace bagua::runtime
