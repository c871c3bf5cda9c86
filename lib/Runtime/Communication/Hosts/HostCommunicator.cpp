//===- HostCommunicator.cpp - Collectives between hosts -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A call begins as everywhere: members show each other what they call, here by
// records to other hosts and through memory on this one. Small inputs come with
// the records, and each member makes its own result. Large ones move, while
// members of one host read each other's buffers, or copies where these are
// memory of one process alone.
//
//===----------------------------------------------------------------------===//
#include "Communication/Hosts/HostCommunicator.h"

#include "Communication/CallingCommunicator.h"
#include "Communication/CopyBytes.h"
#include "Communication/Hosts/CallExchange.h"
#include "Communication/Hosts/HostLayout.h"
#include "Communication/Hosts/PartMover.h"
#include "Communication/Hosts/PeerWaits.h"
#include "Communication/Hosts/SharedCopy.h"
#include "Communication/StatusCopy.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

namespace bagua::runtime {
namespace {

/// Blocks go piece by piece: each puts off the limit.
constexpr int64_t kPieceBytes = int64_t{16} << 20;

/// Whether the tensor has parts with owners.
bool hasParts(const CollectiveCall &call) {
  return call.op == CollectiveOp::AllReduce ||
         call.op == CollectiveOp::ReduceToOwners ||
         call.op == CollectiveOp::GatherFromOwners;
}

/// The state that outlives the communicator: its connections, and the memory
/// that they write to.
class Membership final : public Farewell {
public:
  explicit Membership(HostGroup ownGroup)
      : group(std::move(ownGroup)), exchange(group),
        staying(exchange.layout.peers()) {}
  /// Connections first: what is not done yet is written to the exchange.
  ~Membership() override { group.transport.reset(); }

  bool await(Alarm &alarm, Alarm::Time time) override {
    Transport &transport = *group.transport;
    Alarm::Entry bell(alarm, [&] { transport.interrupt(); });
    // Each wait wants the bell, which rings once.
    auto isOver = [&](auto wait) {
      absl::Status status;
      do {
        bell.set(time);
        status = wait();
      } while (absl::IsCancelled(status) &&
               std::chrono::steady_clock::now() < time);
      return !absl::IsCancelled(status);
    };
    while (!staying.empty() && isOver([&] {
      return transport.awaitReceived(staying.back(), exchange.tag());
    }))
      staying.pop_back();
    absl::StatusOr<bool> hasSent = true;
    while (staying.empty() && hasSent.ok() && *hasSent &&
           isOver([&] { return (hasSent = transport.awaitSent()).status(); }))
      continue;
    return staying.empty() && !absl::IsCancelled(hasSent.status());
  }

  HostGroup group;
  CallExchange exchange;

private:
  /// Peers that have not been heard to go.
  std::vector<int> staying;
};

class HostCommunicator final : public CallingCommunicator {
public:
  HostCommunicator(std::unique_ptr<Membership> ownMembership,
                   HostServices ownServices,
                   const CommunicatorOptions &ownOptions);
  ~HostCommunicator() override;

  absl::Status start();

  int rank() const override { return group.self; }
  int size() const override { return static_cast<int>(group.members.size()); }

private:
  CollectiveCall &nextCall(CollectiveOp op) override;
  std::string_view name() const override { return group.name; }
  absl::Span<const int> worldRanks() const override { return group.members; }
  absl::Status run(CollectiveCall &call, const CallBuffers &buffers) override;

  bool hasNeighbours() const { return layout.neighbours().size() > 1; }

  absl::Status offer(CollectiveCall &call, bool isSmall);
  absl::StatusOr<ShownCall> showCall(const CollectiveCall &call, bool isSmall);
  absl::Status leaveWork(const absl::Status &work,
                         const absl::Status &difference);
  void combineSmall(const AgreedCall &agreed);
  absl::Status move(const AgreedCall &agreed);
  absl::Status finish(absl::Status status);

  absl::Status moveParts(const AgreedCall &agreed);
  absl::Status receiveBlock(int from, std::byte *to, int64_t bytes);
  absl::Status sendBlock(int to, const std::byte *from, int64_t bytes);
  absl::Status awaitBlock(int from, int64_t bytes);
  absl::Status moveBlocks(const CollectiveCall &call);
  absl::Status moveMessages(const CollectiveCall &call);

  std::unique_ptr<Membership> membership;
  const HostServices services;
  const CommunicatorOptions options;
  /// The options for the transfers once all members have entered the call.
  const CommunicatorOptions movingOptions;
  HostGroup &group;
  CallExchange &exchange;
  const HostLayout &layout;
  std::unique_ptr<PeerWaits> waits;
  PartMover parts;
  StreamTags blocks;

  // The fields below describe the call in progress.
  /// The call's name, as in messages.
  std::string_view callName;
  /// The memory that this member reads and writes: its buffers, or memory that
  /// neighbours can reach in their place.
  const std::byte *input = nullptr;
  std::byte *output = nullptr;
  CallBuffers buffers;
  SharedCopy inputCopy;
  SharedCopy outputCopy;
  NeighbourBuffers reachable;
  /// By member: what came with its call.
  std::vector<const std::byte *> firsts;
};

HostCommunicator::HostCommunicator(std::unique_ptr<Membership> ownMembership,
                                   HostServices ownServices,
                                   const CommunicatorOptions &ownOptions)
    : membership(std::move(ownMembership)), services(std::move(ownServices)),
      options(ownOptions), movingOptions(PeerWaits::whileMoving(ownOptions)),
      group(membership->group), exchange(membership->exchange),
      layout(exchange.layout),
      waits(std::make_unique<PeerWaits>(group, services.state, *services.alarm,
                                        options)),
      parts(layout, *group.transport, *waits),
      blocks(MessageStream::Blocks, size()) {
  reachable.inputs.resize(group.members.size());
  reachable.outputs.resize(group.members.size());
  firsts.resize(group.members.size());
}

HostCommunicator::~HostCommunicator() {
  RunState::leaveGroup(*group.neighbours, layout.placeOf(group.self));
  group.neighbours = nullptr;
  // From here on others may end the connections that it interrupts.
  waits.reset();
  if (!services.state->status().ok()) {
    group.transport->close();
    return;
  }
  exchange.sendGoodbye().IgnoreError(); // who has gone needs none
  group.transport->flush();
  services.retire(std::move(membership));
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

/// The first call is one of its own: all have come when it is over.
absl::Status HostCommunicator::start() {
  absl::Status status = exchange.start();
  CollectiveCall &call = nextCall(CollectiveOp::Barrier);
  callName = "create_communicator";
  waits->begin(callName);
  return status.ok() ? run(call, {}) : waits->lose(status);
}

CollectiveCall &HostCommunicator::nextCall(CollectiveOp op) {
  CollectiveCall &call = exchange.next();
  callName = collectiveOpName(op);
  call.reset(op);
  return call;
}

absl::Status HostCommunicator::run(CollectiveCall &call,
                                   const CallBuffers &ownBuffers) {
  if (absl::Status status = services.state->status(); !status.ok())
    return status;
  buffers = ownBuffers;
  if (!call.isRefused())
    call.refuse(refusalOf(call, buffers, group.self, size()));
  // Must come out the same on all members, so it is asked of the member whose
  // input is the largest.
  const bool isSmall = call.isRefused() || call.inputBytes(-1, size()) <=
                                               GroupMemory::stageBytes(size());
  waits->begin(callName);
  absl::Status status = offer(call, isSmall);
  if (!status.ok()) {
    const int own = group.members[group.self];
    services.state->abortBy(
        own, withMessage(status,
                         absl::StrCat("rank ", own, ": ", status.message())));
    status = services.state->status();
  }
  if (!status.ok())
    return finish(status);
  absl::StatusOr<ShownCall> shown = showCall(call, isSmall);
  if (!shown.ok())
    return finish(shown.status());
  // The same on all neighbours: whether they may come to work on each other's
  // memory, so that none returns while another may be at work.
  const bool mayShare =
      hasNeighbours() && !isSmall && shown->areNeighboursAlike();
  absl::StatusOr<CollectedCall> collected = (*std::move(shown)).collect(*waits);
  status = collected.status();
  absl::Status difference;
  if (status.ok()) {
    absl::StatusOr<AgreedCall> agreed = (*std::move(collected)).agree();
    difference = agreed.status();
    if (agreed.ok() && isSmall)
      combineSmall(*agreed);
    else if (agreed.ok())
      status = move(*agreed);
  }
  // Bytes move within the transport's waits alone, so peers get nothing while
  // this member waits for neighbours: first all must be sent.
  if (status.ok())
    status = waits->awaitSent();
  if (mayShare)
    status = leaveWork(status, difference);
  if (status.ok() && difference.ok() && !isSmall && output != buffers.output)
    copyBytes(static_cast<std::byte *>(buffers.output), output,
              call.outputBytes(group.self));
  status = finish(status);
  return status.ok() ? difference : status;
}

/// Until no neighbour is at work on this member's memory.
absl::Status HostCommunicator::leaveWork(const absl::Status &work,
                                         const absl::Status &difference) {
  RunState &state = *services.state;
  const int self = layout.placeOf(group.self);
  if (!work.ok())
    state.departAfterAbort(*group.neighbours, self);
  else if (!difference.ok())
    state.depart(*group.neighbours, self); // nobody is
  else
    return state.meetAfterWork(*group.neighbours, self, callName,
                               movingOptions);
  return work;
}

/// Any error but a difference of calls has ended the run.
absl::Status HostCommunicator::finish(absl::Status status) {
  waits->end();
  if (!status.ok())
    group.transport->close();
  return status;
}

/// Brings a small input to where it goes, a large one to where neighbours find
/// it.
absl::Status HostCommunicator::offer(CollectiveCall &call, bool isSmall) {
  input = static_cast<const std::byte *>(buffers.input);
  output = static_cast<std::byte *>(buffers.output);
  const int64_t inputBytes =
      call.isRefused() ? 0 : call.inputBytes(group.self, size());
  if (isSmall) {
    copyBytes(exchange.payload(), input, inputBytes);
    return absl::OkStatus();
  }
  if (!hasNeighbours())
    return absl::OkStatus();
  const AddressSpace &space = group.neighbours->place.addresses;
  // Results of one member's own are written by itself alone.
  const int64_t outputBytes = call.op == CollectiveOp::ReduceToOwners
                                  ? 0
                                  : call.outputBytes(group.self);
  if (!space.contains(input, inputBytes)) {
    auto copy = inputCopy.reserve(inputBytes, services.allocate);
    if (!copy.ok())
      return copy.status();
    copyBytes(*copy, input, inputBytes);
    input = *copy;
  }
  if (!space.contains(output, outputBytes)) {
    auto copy = outputCopy.reserve(outputBytes, services.allocate);
    if (!copy.ok())
      return copy.status();
    output = *copy;
  }
  call.input = space.offsetOf(input);
  call.output = space.offsetOf(output);
  return absl::OkStatus();
}

/// To peers first, for which it takes longer, then to neighbours, whose calls
/// are here afterwards.
absl::StatusOr<ShownCall> HostCommunicator::showCall(const CollectiveCall &call,
                                                     bool isSmall) {
  const bool goesInParts = !isSmall && hasParts(call);
  if (goesInParts) {
    reachable.inputs[group.self] = input;
    reachable.outputs[group.self] = output;
    parts.begin(call, reachable);
  }
  absl::StatusOr<SentCall> sent =
      goesInParts
          ? exchange.filled().send(
                [this](int peer) { return parts.firstFor(peer); })
          : exchange.filled().send(isSmall && !call.isRefused()
                                       ? call.inputBytes(group.self, size())
                                       : 0);
  if (!sent.ok())
    return waits->lose(sent.status());
  group.transport->flush();
  return (*std::move(sent)).show(*services.state, callName, options);
}

void HostCommunicator::combineSmall(const AgreedCall &agreed) {
  for (int member = 0; member < size(); ++member)
    reachable.inputs[member] = agreed.payloadOf(member);
  combineInputs(agreed.callOf(group.self), group.self,
                absl::MakeSpan(reachable.inputs), buffers);
}

absl::Status HostCommunicator::move(const AgreedCall &agreed) {
  waits->beginMoving();
  const AddressSpace &space = group.neighbours->place.addresses;
  for (int member : layout.neighbours()) {
    reachable.inputs[member] = space.at(agreed.callOf(member).input);
    reachable.outputs[member] = space.at(agreed.callOf(member).output);
  }
  reachable.inputs[group.self] = input;
  reachable.outputs[group.self] = output;
  const CollectiveCall &call = agreed.callOf(group.self);
  if (hasParts(call))
    return moveParts(agreed);
  return call.op == CollectiveOp::AllToAll ? moveBlocks(call)
                                           : moveMessages(call);
}

absl::Status HostCommunicator::moveParts(const AgreedCall &agreed) {
  for (int peer : layout.peers())
    firsts[peer] = agreed.payloadOf(peer);
  absl::Status status = parts.exchange(firsts);
  if (status.ok() && hasNeighbours())
    status = waits->awaitSent();
  if (status.ok() && hasNeighbours())
    status = services.state->meet(*group.neighbours, layout.placeOf(group.self),
                                  callName, movingOptions);
  if (status.ok())
    parts.takeFromNeighbours();
  return status;
}

absl::Status HostCommunicator::receiveBlock(int from, std::byte *to,
                                            int64_t bytes) {
  absl::Status status;
  for (int64_t at = 0; at < bytes; at += kPieceBytes)
    status.Update(group.transport->receive(from, blocks.nextReceived(from),
                                           to + at,
                                           std::min(bytes - at, kPieceBytes)));
  return status;
}

absl::Status HostCommunicator::sendBlock(int to, const std::byte *from,
                                         int64_t bytes) {
  absl::Status status;
  for (int64_t at = 0; at < bytes; at += kPieceBytes)
    status.Update(group.transport->send(to, blocks.nextSent(to), from + at,
                                        std::min(bytes - at, kPieceBytes)));
  return status;
}

absl::Status HostCommunicator::awaitBlock(int from, int64_t bytes) {
  for (int64_t at = 0; at < bytes; at += kPieceBytes)
    if (absl::Status status = waits->await(from, blocks.nextAwaited(from));
        !status.ok())
      return status;
  return absl::OkStatus();
}

absl::Status HostCommunicator::moveBlocks(const CollectiveCall &call) {
  absl::Status status;
  for (int peer : layout.peers())
    status.Update(receiveBlock(peer, output + peer * call.count, call.count));
  for (int peer : layout.peers())
    status.Update(sendBlock(peer, input + peer * call.count, call.count));
  if (!status.ok())
    return waits->lose(status);
  group.transport->flush();
  for (int member : layout.neighbours())
    copyBytes(output + member * call.count,
              reachable.inputs[member] + group.self * call.count, call.count);
  for (int peer : layout.peers())
    if (status = awaitBlock(peer, call.count); !status.ok())
      return status;
  return absl::OkStatus();
}

absl::Status HostCommunicator::moveMessages(const CollectiveCall &call) {
  absl::Status status;
  absl::Span<const int32_t> sources = call.ranks();
  for (size_t i = 0; i < sources.size(); ++i)
    if (!layout.isNeighbour(sources[i]))
      status.Update(receiveBlock(sources[i],
                                 static_cast<std::byte *>(buffers.outputs[i]),
                                 call.count));
  for (int to : call.destinations())
    if (!layout.isNeighbour(to))
      status.Update(sendBlock(to, input, call.count));
  if (!status.ok())
    return waits->lose(status);
  group.transport->flush();
  for (size_t i = 0; i < sources.size(); ++i)
    if (layout.isNeighbour(sources[i]))
      copyBytes(static_cast<std::byte *>(buffers.outputs[i]),
                reachable.inputs[sources[i]], call.count);
  for (int from : sources)
    if (!layout.isNeighbour(from))
      if (status = awaitBlock(from, call.count); !status.ok())
        return status;
  return absl::OkStatus();
}

} // namespace

absl::StatusOr<std::unique_ptr<Communicator>>
createHostCommunicator(HostGroup group, HostServices services,
                       const CommunicatorOptions &options) {
  auto membership = std::make_unique<Membership>(std::move(group));
  auto communicator = std::make_unique<HostCommunicator>(
      std::move(membership), std::move(services), options);
  if (absl::Status status = communicator->start(); !status.ok())
    return status;
  return communicator;
}

} // namespace bagua::runtime
