//===- CollectiveOperations.cpp - Instructions that communicate -----------===//
//
// Maps the plan's collectives onto the Communicator's few calls. Bytes sent are
// those of a ring (docs/PlanFormat.md, "Bytes sent"), whatever the backend
// does.
//
//===----------------------------------------------------------------------===//
#include "Plan/Opcodes.h"
#include "Session/Operation.h"

#include "bagua/Support/Peers.h"

#include <algorithm>
#include <cstring>
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

  absl::Status run(int64_t) override {
    return communicator.allReduce(input.address(), output.address(), count,
                                  type, kind);
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

void copyAlone(const OwnerCall &call, DataType type) {
  if (call.input != call.output)
    std::memcpy(call.output.address(), call.input.address(),
                call.count * dataTypeBytes(type));
}

/// Runs each group's call by `communicate`. Several calls only on servers: one
/// for each group, in the same order on all.
template <typename Communicate>
absl::Status runCalls(const std::vector<OwnerCall> &calls, DataType type,
                      Communicate communicate) {
  for (const OwnerCall &call : calls) {
    if (!call.communicator) {
      copyAlone(call, type);
      continue;
    }
    if (absl::Status status = communicate(call); !status.ok())
      return status;
  }
  return absl::OkStatus();
}

class ReduceToOwnersOperation final : public Operation {
public:
  ReduceToOwnersOperation(std::vector<OwnerCall> calls, DataType type,
                          ReduceKind kind)
      : calls(std::move(calls)), type(type), kind(kind) {}

  absl::Status run(int64_t) override {
    return runCalls(calls, type, [this](const OwnerCall &call) {
      return call.communicator->reduceToOwners(
          call.input.address(), call.output.address(), call.count, type, kind,
          call.endpoints, call.owners);
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

  absl::Status run(int64_t) override {
    return runCalls(calls, type, [this](const OwnerCall &call) {
      return call.communicator->gatherFromOwners(
          call.input.address(), call.output.address(), call.count, type,
          call.endpoints, call.owners);
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
void copyBlocks(const BlockView &view, const std::byte *from, std::byte *to,
                bool toBlocks) {
  for (int64_t block = 0; block < view.blocks; ++block)
    for (int64_t outer = 0; outer < view.outer; ++outer) {
      int64_t inTensor = (outer * view.blocks + block) * view.innerBytes;
      int64_t inBlocks = (block * view.outer + outer) * view.innerBytes;
      std::memcpy(to + (toBlocks ? inBlocks : inTensor),
                  from + (toBlocks ? inTensor : inBlocks), view.innerBytes);
    }
}

/// Of blocks that lie one after the other.
class AllToAllOperation final : public Operation {
public:
  AllToAllOperation(Communicator &communicator, Place input, Place output,
                    int64_t blockBytes)
      : communicator(communicator), input(input), output(output),
        blockBytes(blockBytes) {
    bytesSent = (communicator.size() - 1) * blockBytes;
  }

  absl::Status run(int64_t) override {
    return communicator.allToAll(input.address(), output.address(), blockBytes);
  }

private:
  Communicator &communicator;
  Place input;
  Place output;
  int64_t blockBytes;
};

/// Memory of an operation's own; none where it is empty.
class Scratch {
public:
  explicit Scratch(int64_t size) : bytes(size), data(bytes.data()) {}
  Scratch(const Scratch &) = delete;

  bool isEmpty() const { return bytes.empty(); }
  int64_t size() const { return static_cast<int64_t>(bytes.size()); }
  /// Valid as long as this.
  Place place() const { return Place(&data); }

private:
  std::vector<std::byte> bytes;
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
    scratchBytes = this->inner->scratchBytes + this->blocks->size();
  }

  absl::Status run(int64_t step) override {
    if (isPacked)
      copyBlocks(view, tensor.address(), blocks->place().address(),
                 /*toBlocks=*/true);
    absl::Status status = inner->run(step);
    if (status.ok() && !isPacked)
      copyBlocks(view, blocks->place().address(), tensor.address(),
                 /*toBlocks=*/false);
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

  absl::Status run(int64_t step) override {
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
    return communicator.exchange(input.address(), bytes, peers, peers, outputs);
  }

private:
  Communicator &communicator;
  fb::ExchangePattern pattern;
  Place input;
  int64_t bytes;
  std::vector<Place> places;
  // Of a call.
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

  absl::Status run(int64_t) override {
    if (sources.empty())
      std::memset(output.address(), 0, bytes);
    std::fill(outputs.begin(), outputs.end(), output.address());
    return communicator.exchange(input.address(), bytes, destinations, sources,
                                 outputs);
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

class CollectiveBuilder {
public:
  CollectiveBuilder(const OperationSource &source, const fb::Instruction &op)
      : source(source), op(op), groups(source.communicators.groupsOf(op)),
        input(source.memory.value(op.inputs()->Get(0))),
        output(source.memory.value(op.outputs()->Get(0))),
        kind(static_cast<ReduceKind>(op.kind())),
        collective(*collectiveOf(op)) {}

  std::unique_ptr<Operation> build();

private:
  std::unique_ptr<Operation> copyInput();
  std::unique_ptr<Operation> withOwners(bool isReduction);
  std::unique_ptr<Operation> inPieces(bool isReduction);
  std::unique_ptr<Operation> withServers(bool isPush);
  std::unique_ptr<Operation> allToAll();
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

/// A group of one: every result is the operand, or nothing is sent.
std::unique_ptr<Operation> CollectiveBuilder::copyInput() {
  if (collective == Collective::Permute &&
      (!op.pairs() || op.pairs()->size() == 0))
    return makeCopies({{output.place, Place(), output.bytes()}});
  std::vector<CopyStep> copies;
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
std::unique_ptr<Operation> CollectiveBuilder::inPieces(bool isReduction) {
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
  auto blocks = std::make_unique<Scratch>(whole.bytes());
  Place tensor = std::exchange(whole.place, blocks->place());
  std::unique_ptr<Operation> inner = withOwners(isReduction);
  return std::make_unique<InBlocksOperation>(
      view, tensor, isReduction, std::move(blocks), std::move(inner));
}

std::unique_ptr<Operation> CollectiveBuilder::withServers(bool isPush) {
  const PlanCluster &cluster = source.plan.cluster();
  const LocalValue &served = isPush ? output : input;
  const LocalValue &worked = isPush ? input : output;
  int64_t elementBytes = dataTypeBytes(served.type);
  // Of one slot the server has its own part, not the largest one.
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

std::unique_ptr<Operation> CollectiveBuilder::allToAll() {
  int64_t size = groups[0].workers;
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
  auto packed =
      std::make_unique<Scratch>(split.isContiguous() ? 0 : input.bytes());
  auto received =
      std::make_unique<Scratch>(concat.isContiguous() ? 0 : output.bytes());
  std::unique_ptr<Operation> operation = std::make_unique<AllToAllOperation>(
      *groups[0].communicator,
      packed->isEmpty() ? input.place : packed->place(),
      received->isEmpty() ? output.place : received->place(),
      split.blockBytes());
  if (!packed->isEmpty())
    operation = std::make_unique<InBlocksOperation>(
        split, input.place, /*isPacked=*/true, std::move(packed),
        std::move(operation));
  if (!received->isEmpty())
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

std::unique_ptr<Operation> CollectiveBuilder::build() {
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

std::unique_ptr<Operation> makeCollective(const OperationSource &source,
                                          const fb::Instruction &instruction) {
  return CollectiveBuilder(source, instruction).build();
}

} // namespace bagua::runtime
