//===- CollectiveOperations.cpp - Instructions that communicate -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Maps the plan's collectives onto the Communicator's few calls. Bytes sent are
// those of a ring (docs/PlanFormat.md, "Bytes sent"), whatever the backend
// does.
//
//===----------------------------------------------------------------------===//
#include "Plan/Opcodes.h"
#include "Session/Operation.h"

#include "bagua/Support/Peers.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace bagua::runtime {
namespace {

//===----------------------------------------------------------------------===//
// all_reduce, and what goes to or comes from owners
//===----------------------------------------------------------------------===//

class AllReduceOperation final : public Operation {
public:
  AllReduceOperation(Communicator &communicator, const LocalValue &input,
                     const LocalValue &output, ReduceKind kind)
      : communicator(communicator), input(input.place), output(output.place),
        count(input.count), type(input.type), kind(kind) {
    int64_t size = communicator.size();
    bytesSent = 2 * (size - 1) * input.bytes() / size;
  }

  absl::Status enqueue(Queue &queue, int64_t /*step*/) override {
    return communicator.allReduce(input.address(), output.address(), count,
                                  type, kind, queue);
  }

private:
  Communicator &communicator;
  Place input;
  Place output;
  int64_t count;
  DataType type;
  ReduceKind kind;
};

/// One group's part in an operation with owners.
struct OwnerCall {
  /// Null where the one member is the owner, too: a copy.
  Communicator *communicator;
  Place input;
  Place output;
  int64_t count;
  /// Contributors or receivers.
  int endpoints;
  std::vector<int> owners;
};

absl::Status copyAlone(const OwnerCall &call, DataType type, Queue &queue) {
  if (call.input == call.output)
    return absl::OkStatus();
  return queue.copy(call.output.address(), call.input.address(),
                    call.count * dataTypeBytes(type));
}

/// Runs each group's call by `communicate`. Several calls only on servers: one
/// for each group, in the same order on all.
template <typename Communicate>
absl::Status runCalls(const std::vector<OwnerCall> &calls, DataType type,
                      Queue &queue, Communicate communicate) {
  for (const OwnerCall &call : calls) {
    absl::Status status =
        call.communicator ? communicate(call) : copyAlone(call, type, queue);
    if (!status.ok())
      return status;
  }
  return absl::OkStatus();
}

class ReduceToOwnersOperation final : public Operation {
public:
  ReduceToOwnersOperation(std::vector<OwnerCall> calls, DataType type,
                          ReduceKind kind)
      : calls(std::move(calls)), type(type), kind(kind) {}

  absl::Status enqueue(Queue &queue, int64_t /*step*/) override {
    return runCalls(calls, type, queue, [&](const OwnerCall &call) {
      return call.communicator->reduceToOwners(
          call.input.address(), call.output.address(), call.count, type, kind,
          call.endpoints, call.owners, queue);
    });
  }

private:
  std::vector<OwnerCall> calls;
  DataType type;
  ReduceKind kind;
};

class GatherFromOwnersOperation final : public Operation {
public:
  GatherFromOwnersOperation(std::vector<OwnerCall> calls, DataType type)
      : calls(std::move(calls)), type(type) {}

  absl::Status enqueue(Queue &queue, int64_t /*step*/) override {
    return runCalls(calls, type, queue, [&](const OwnerCall &call) {
      return call.communicator->gatherFromOwners(
          call.input.address(), call.output.address(), call.count, type,
          call.endpoints, call.owners, queue);
    });
  }

private:
  std::vector<OwnerCall> calls;
  DataType type;
};

//===----------------------------------------------------------------------===//
// Pieces along a dimension: all_to_all, and what goes to and comes from members
//===----------------------------------------------------------------------===//

/// A tensor seen as [outer][blocks][inner]: where the blocks of a dimension
/// are.
struct BlockView {
  int64_t outer = 1;
  int64_t blocks = 1;
  int64_t innerBytes = 1;

  int64_t blockBytes() const { return outer * innerBytes; }
  /// Whether each block's bytes are together.
  bool isContiguous() const { return outer == 1 || blocks == 1; }
};

/// Between a tensor and its blocks one after the other.
absl::Status copyBlocks(const BlockView &view, const std::byte *from,
                        std::byte *to, bool toBlocks, Queue &queue) {
  const auto row = static_cast<size_t>(view.innerBytes);
  const size_t inTensor = row * view.blocks;
  for (int64_t block = 0; block < view.blocks; ++block) {
    const size_t ofTensor = block * row;
    const size_t ofBlocks = block * view.blockBytes();
    absl::Status status =
        toBlocks ? queue.copyRows(to + ofBlocks, row, from + ofTensor, inTensor,
                                  row, view.outer)
                 : queue.copyRows(to + ofTensor, inTensor, from + ofBlocks, row,
                                  row, view.outer);
    if (!status.ok())
      return status;
  }
  return absl::OkStatus();
}

/// An all_to_all of blocks that lie one after the other.
class AllToAllOperation final : public Operation {
public:
  AllToAllOperation(Communicator &communicator, Place input, Place output,
                    int64_t blockBytes)
      : communicator(communicator), input(input), output(output),
        blockBytes(blockBytes) {
    bytesSent = (communicator.size() - 1) * blockBytes;
  }

  absl::Status enqueue(Queue &queue, int64_t /*step*/) override {
    return communicator.allToAll(input.address(), output.address(), blockBytes,
                                 queue);
  }

private:
  Communicator &communicator;
  Place input;
  Place output;
  int64_t blockBytes;
};

/// Memory of an operation's own.
class Scratch {
public:
  Scratch(std::shared_ptr<std::byte> memory, int64_t bytes)
      : size(bytes), owned(std::move(memory)), data(owned.get()) {}
  Scratch(const Scratch &) = delete;

  const int64_t size;
  /// Valid as long as this.
  Place place() const { return Place(&data); }

private:
  std::shared_ptr<std::byte> owned;
  std::byte *data;
};

/// A tensor of this rank's own and what `inner` makes of its blocks, which lie
/// one after the other in memory of this operation's.
class InBlocksOperation final : public Operation {
public:
  /// `blocks` is what `inner` reads (`isPacked`) or writes.
  InBlocksOperation(BlockView view, Place tensor, bool isPacked,
                    std::unique_ptr<Scratch> blocks,
                    std::unique_ptr<Operation> inner)
      : view(view), tensor(tensor), isPacked(isPacked),
        blocks(std::move(blocks)), inner(std::move(inner)) {
    bytesSent = this->inner->bytesSent;
    scratchBytes = this->inner->scratchBytes + this->blocks->size;
  }

  absl::Status enqueue(Queue &queue, int64_t step) override {
    std::byte *inBlocks = blocks->place().address();
    absl::Status status;
    if (isPacked)
      status = copyBlocks(view, tensor.address(), inBlocks, /*toBlocks=*/true,
                          queue);
    if (status.ok())
      status = inner->enqueue(queue, step);
    if (status.ok() && !isPacked)
      status = copyBlocks(view, inBlocks, tensor.address(), /*toBlocks=*/false,
                          queue);
    return status;
  }

private:
  BlockView view;
  Place tensor;
  bool isPacked;
  std::unique_ptr<Scratch> blocks;
  std::unique_ptr<Operation> inner;
};

//===----------------------------------------------------------------------===//
// exchange, permute
//===----------------------------------------------------------------------===//

class ExchangeOperation final : public Operation {
public:
  ExchangeOperation(Communicator &communicator, fb::ExchangePattern pattern,
                    const LocalValue &input, std::vector<Place> places)
      : communicator(communicator), pattern(pattern), input(input.place),
        bytes(input.bytes()), places(std::move(places)),
        outputs(this->places.size()), peers(this->places.size()) {
    bytesSent = bytes * static_cast<int64_t>(peers.size());
  }

  absl::Status enqueue(Queue &queue, int64_t step) override {
    int64_t rank = communicator.rank();
    int64_t size = communicator.size();
    if (pattern == fb::ExchangePattern::Ring) {
      peers[0] = static_cast<int>(ringLeft(rank, size));
      peers[1] = static_cast<int>(ringRight(rank, size));
    } else {
      peers[0] = static_cast<int>(shiftOnePeer(rank, size, step));
    }
    for (size_t i = 0; i < places.size(); ++i)
      outputs[i] = places[i].address();
    return communicator.exchange(input.address(), bytes, peers, peers, outputs,
                                 queue);
  }

private:
  Communicator &communicator;
  fb::ExchangePattern pattern;
  Place input;
  int64_t bytes;
  std::vector<Place> places;
  // The arguments of a call.
  std::vector<void *> outputs;
  std::vector<int> peers;
};

/// From one member to another each; who gets nothing gets zeros.
class PermuteOperation final : public Operation {
public:
  PermuteOperation(Communicator &communicator, const LocalValue &input,
                   const LocalValue &output,
                   const flatbuffers::Vector<uint32_t> *pairs)
      : communicator(communicator), input(input.place), bytes(input.bytes()),
        output(output.place) {
    for (uint32_t i = 0; pairs && i + 1 < pairs->size(); i += 2) {
      int from = static_cast<int>(pairs->Get(i));
      int to = static_cast<int>(pairs->Get(i + 1));
      if (from == communicator.rank())
        destinations.push_back(to);
      if (to == communicator.rank())
        sources.push_back(from);
    }
    outputs.resize(sources.size());
    bytesSent = destinations.empty() ? 0 : bytes;
  }

  absl::Status enqueue(Queue &queue, int64_t /*step*/) override {
    if (sources.empty())
      if (absl::Status status = queue.zero(output.address(), bytes);
          !status.ok())
        return status;
    std::fill(outputs.begin(), outputs.end(), output.address());
    return communicator.exchange(input.address(), bytes, destinations, sources,
                                 outputs, queue);
  }

private:
  Communicator &communicator;
  Place input;
  int64_t bytes;
  Place output;
  std::vector<int> destinations;
  std::vector<int> sources;
  std::vector<void *> outputs;
};

//===----------------------------------------------------------------------===//
// From instructions
//===----------------------------------------------------------------------===//

/// An encoded value as communicators see it: bytes, of which each member owns a
/// slot. Other values stay as they are.
LocalValue asBytes(LocalValue value) {
  if (value.encoding.isNone())
    return value;
  value.count = value.bytes();
  value.type = DataType::Int8;
  value.encoding = Encoding();
  return value;
}

class CollectiveBuilder {
public:
  CollectiveBuilder(const OperationSource &source, const fb::Instruction &op)
      : source(source), op(op), groups(source.communicators.groupsOf(op)),
        input(asBytes(source.memory.value(op.inputs()->Get(0)))),
        output(asBytes(source.memory.value(op.outputs()->Get(0)))),
        kind(static_cast<ReduceKind>(op.kind())),
        collective(*collectiveOf(op)) {}

  absl::StatusOr<std::unique_ptr<Operation>> build();

private:
  absl::StatusOr<std::unique_ptr<Scratch>> makeScratch(int64_t bytes);
  std::unique_ptr<Operation> copyInput();
  std::unique_ptr<Operation> withOwners(bool isReduction);
  absl::StatusOr<std::unique_ptr<Operation>> inPieces(bool isReduction);
  std::unique_ptr<Operation> withServers(bool isPush);
  absl::StatusOr<std::unique_ptr<Operation>> allToAll();
  std::unique_ptr<Operation> exchange();
  std::unique_ptr<Operation> permute();

  const OperationSource &source;
  const fb::Instruction &op;
  const std::vector<PlanGroup> &groups;
  LocalValue input;
  LocalValue output;
  ReduceKind kind;
  Collective collective;
};

/// In memory of the backend's, as arenas are.
absl::StatusOr<std::unique_ptr<Scratch>>
CollectiveBuilder::makeScratch(int64_t bytes) {
  auto memory = source.backend.allocate(bytes);
  if (!memory.ok())
    return absl::ResourceExhaustedError(
        absl::StrCat("rank ", source.rank, ": no memory for the blocks of '",
                     op.name()->str(), "' of ", bytes,
                     " bytes: ", memory.status().message()));
  return std::make_unique<Scratch>(*std::move(memory), bytes);
}

/// A group of one: every result is the operand, or nothing is sent.
std::unique_ptr<Operation> CollectiveBuilder::copyInput() {
  if (collective == Collective::Permute &&
      (!op.pairs() || op.pairs()->size() == 0))
    return makeCopies({{output.place, Place(), output.bytes()}});
  std::vector<BufferCopy> copies;
  for (uint32_t number : *op.outputs()) {
    LocalValue result = source.memory.value(number);
    copies.push_back({result.place, input.place, result.bytes()});
  }
  return makeCopies(copies);
}

std::unique_ptr<Operation> CollectiveBuilder::withOwners(bool isReduction) {
  const PlanGroup &group = groups[0];
  const LocalValue &whole = isReduction ? input : output;
  bool isRooted =
      collective == Collective::Reduce || collective == Collective::Broadcast;
  OwnerCall call = {group.communicator.get(),
                    input.place,
                    output.place,
                    whole.count,
                    group.workers,
                    std::vector<int>()};
  call.owners.resize(isRooted ? 1 : group.workers);
  std::iota(call.owners.begin(), call.owners.end(), 0);
  if (isRooted && group.position != 0)
    (isReduction ? call.output : call.input) = Place();

  int64_t bytes = whole.bytes();
  int64_t sent = bytes * (group.workers - 1) / group.workers;
  if (isRooted) // a chain towards the root, or from it
    sent = group.position != (isReduction ? 0 : group.workers - 1) ? bytes : 0;
  std::unique_ptr<Operation> result;
  std::vector<OwnerCall> calls = {std::move(call)};
  if (isReduction)
    result = std::make_unique<ReduceToOwnersOperation>(std::move(calls),
                                                       input.type, kind);
  else
    result = std::make_unique<GatherFromOwnersOperation>(std::move(calls),
                                                         input.type);
  result->bytesSent = sent;
  return result;
}

/// Pieces along a dimension are parts of a whole whose blocks are in order.
absl::StatusOr<std::unique_ptr<Operation>>
CollectiveBuilder::inPieces(bool isReduction) {
  LocalValue &whole = isReduction ? input : output;
  uint32_t dimension = isReduction ? op.split_dim() : op.concat_dim();
  BlockView view;
  view.blocks = groups[0].workers;
  view.innerBytes = dataTypeBytes(whole.type);
  for (uint32_t i = 0; i < op.shape()->size(); ++i)
    (i < dimension ? view.outer : view.innerBytes) *=
        op.shape()->Get(i) / (i == dimension ? view.blocks : 1);
  if (view.isContiguous())
    return withOwners(isReduction);
  auto blocks = makeScratch(whole.bytes());
  if (!blocks.ok())
    return blocks.status();
  Place tensor = std::exchange(whole.place, (*blocks)->place());
  std::unique_ptr<Operation> inner = withOwners(isReduction);
  return std::make_unique<InBlocksOperation>(
      view, tensor, isReduction, *std::move(blocks), std::move(inner));
}

std::unique_ptr<Operation> CollectiveBuilder::withServers(bool isPush) {
  const PlanCluster &cluster = source.plan.cluster();
  const LocalValue &served = isPush ? output : input;
  const LocalValue &worked = isPush ? input : output;
  int64_t elementBytes = dataTypeBytes(served.type);
  // If there is only one slot, the server has its own part, not the largest
  // one.
  int64_t slotBytes =
      elementBytes *
      (serverSlots(served.layout, cluster) > 1
           ? serverSlotCount(served.wholeCount, served.layout, cluster)
           : 0);
  std::vector<OwnerCall> calls;
  int64_t sent = 0;
  for (const PlanGroup &group : groups) {
    int64_t count =
        workerRange(worked.wholeCount, worked.layout, cluster, group.firstRank)
            .size();
    if (count == 0)
      continue;
    bool isWorker = group.position < group.workers;
    int owned = -1;
    for (size_t i = 0; i < group.owners.size(); ++i)
      if (group.owners[i] == group.position)
        owned = static_cast<int>(i);
    Place slot = owned >= 0 ? served.place + group.slot * slotBytes : Place();
    Place work = isWorker ? worked.place : Place();
    int64_t ownBytes =
        owned < 0 ? 0
                  : elementBytes *
                        partRange(count, group.owners.size(), owned).size();
    if (isPush)
      sent += isWorker ? count * elementBytes - ownBytes : 0;
    else
      sent += ownBytes * (group.workers - (isWorker ? 1 : 0));
    calls.push_back({group.communicator.get(), isPush ? work : slot,
                     isPush ? slot : work, count, group.workers, group.owners});
  }
  if (calls.empty())
    return nullptr;
  std::unique_ptr<Operation> result;
  if (isPush)
    result = std::make_unique<ReduceToOwnersOperation>(std::move(calls),
                                                       served.type, kind);
  else
    result = std::make_unique<GatherFromOwnersOperation>(std::move(calls),
                                                         served.type);
  result->bytesSent = sent;
  return result;
}

absl::StatusOr<std::unique_ptr<Operation>> CollectiveBuilder::allToAll() {
  int64_t size = groups[0].workers;
  if (!op.shape() || op.shape()->size() == 0) // encoded parts
    return std::make_unique<AllToAllOperation>(*groups[0].communicator,
                                               input.place, output.place,
                                               input.bytes() / size);
  BlockView split, concat;
  split.blocks = concat.blocks = size;
  split.innerBytes = concat.innerBytes = dataTypeBytes(input.type);
  for (uint32_t i = 0; i < op.shape()->size(); ++i) {
    int64_t dimension = op.shape()->Get(i);
    if (i == op.split_dim())
      dimension /= size;
    // Both views are of the block's shape, which is cut already.
    (i < op.split_dim() ? split.outer : split.innerBytes) *= dimension;
    (i < op.concat_dim() ? concat.outer : concat.innerBytes) *= dimension;
  }
  std::unique_ptr<Scratch> packed, received;
  for (auto [view, blocks] :
       {std::pair(&split, &packed), std::pair(&concat, &received)}) {
    if (view->isContiguous())
      continue;
    auto made = makeScratch(size * view->blockBytes());
    if (!made.ok())
      return made.status();
    *blocks = *std::move(made);
  }
  std::unique_ptr<Operation> operation = std::make_unique<AllToAllOperation>(
      *groups[0].communicator, packed ? packed->place() : input.place,
      received ? received->place() : output.place, split.blockBytes());
  if (packed)
    operation = std::make_unique<InBlocksOperation>(
        split, input.place, /*isPacked=*/true, std::move(packed),
        std::move(operation));
  if (received)
    operation = std::make_unique<InBlocksOperation>(
        concat, output.place, /*isPacked=*/false, std::move(received),
        std::move(operation));
  return operation;
}

std::unique_ptr<Operation> CollectiveBuilder::exchange() {
  std::vector<Place> outputs;
  for (uint32_t number : *op.outputs())
    outputs.push_back(source.memory.value(number).place);
  return std::make_unique<ExchangeOperation>(
      *groups[0].communicator, op.pattern(), input, std::move(outputs));
}

std::unique_ptr<Operation> CollectiveBuilder::permute() {
  return std::make_unique<PermuteOperation>(*groups[0].communicator, input,
                                            output, op.pairs());
}

absl::StatusOr<std::unique_ptr<Operation>> CollectiveBuilder::build() {
  if (groups.empty())
    return nullptr;
  // All members of a group store equally much of the larger value.
  bool isAlone = !usesServers(collective) && !groups[0].communicator;
  if (!usesServers(collective) &&
      source.memory.value(wholeValueOf(op)).count == 0)
    return nullptr;
  if (isAlone)
    return copyInput();
  switch (collective) {
  case Collective::AllReduce:
    return std::make_unique<AllReduceOperation>(*groups[0].communicator, input,
                                                output, kind);
  case Collective::ReduceScatter:
  case Collective::Reduce:
    return isInPieces(op) ? inPieces(/*isReduction=*/true)
                          : withOwners(/*isReduction=*/true);
  case Collective::AllGather:
  case Collective::Broadcast:
    return isInPieces(op) ? inPieces(/*isReduction=*/false)
                          : withOwners(/*isReduction=*/false);
  case Collective::AllToAll:
    return allToAll();
  case Collective::ExchangeRing:
  case Collective::ExchangeShiftOne:
    return exchange();
  case Collective::Permute:
    return permute();
  case Collective::Push:
  case Collective::Pull:
    return withServers(collective == Collective::Push);
  }
  return nullptr;
}

} // namespace

absl::StatusOr<std::unique_ptr<Operation>>
makeCollective(const OperationSource &source,
               const fb::Instruction &instruction) {
  auto operation = CollectiveBuilder(source, instruction).build();
  const auto &groups = source.communicators.groupsOf(instruction);
  if (operation.ok() && *operation && groups.size() == 1 &&
      !usesServers(*collectiveOf(instruction)))
    (*operation)->agreeing = groups[0].communicator.get();
  return operation;
}

} // namespace bagua::runtime
