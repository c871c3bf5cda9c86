//===- HostCommunicator.cpp - Collectives between hosts -------------------===//
//
// A call begins as everywhere: members show each other what they call, here by
// records to other hosts and through memory on this one. Small inputs come with
// the records, and each member makes its own result. Large ones move: who owns
// a part of the result gets all contributions to it and combines them in member
// order. What it makes goes once to each other host, from whose memory the
// members there take it. Parts move in segments, so that sums and results of
// one overlap contributions to the next.
//
//===----------------------------------------------------------------------===//
#include "Communication/Hosts/HostCommunicator.h"

#include "Communication/CallingCommunicator.h"
#include "Communication/Hosts/CallExchange.h"
#include "Communication/Hosts/PeerWaits.h"
#include "Communication/Hosts/SharedCopy.h"
#include "Kernels/ReduceKernels.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace bagua::runtime {
namespace {

using Channel = Transport::Channel;

/// Of a part, at least, and the most of these; contributions to so many are on
/// their way at once. Measured between four hosts at 1 Gbit/s.
constexpr int64_t kSegmentBytes = 64 * 1024;
constexpr int64_t kMostSegments = 32;
constexpr int64_t kInFlight = 6;

void copyBytes(std::byte *to, const std::byte *from, int64_t bytes) {
  if (bytes > 0 && to != from)
    std::memcpy(to, from, bytes);
}

/// Which members own, contribute to and receive parts of a call's tensor.
struct PartsOf {
  explicit PartsOf(const CollectiveCall &call, int size) : call(call) {
    switch (call.op) {
    case CollectiveOp::AllReduce:
      owners = contributors = receivers = size;
      return;
    case CollectiveOp::ReduceToOwners:
      owners = static_cast<int>(call.ranks().size());
      contributors = call.endpoints;
      return;
    case CollectiveOp::GatherFromOwners:
      owners = static_cast<int>(call.ranks().size());
      receivers = call.endpoints;
      return;
    case CollectiveOp::AllToAll:
    case CollectiveOp::Exchange:
    case CollectiveOp::Barrier:
      return;
    }
  }

  int owner(int index) const {
    return call.op == CollectiveOp::AllReduce ? index : call.ranks()[index];
  }
  ElementRange part(int index) const {
    return partRange(call.count, owners, index);
  }

  const CollectiveCall &call;
  int owners = 0;
  int contributors = 0;
  int receivers = 0;
};

/// What outlives the communicator: its connections, and the memory that they
/// write to.
class Membership final : public Farewell {
public:
  Membership(HostGroup ownGroup, std::vector<int> peers)
      : group(std::move(ownGroup)), exchange(group, std::move(peers)) {}

  void await(Alarm &alarm, Alarm::Time time) override {
    Alarm::Entry bell(alarm, [this] { group.transport->interrupt(); });
    bell.set(time);
    for (int peer : exchange.peers)
      while (absl::IsCancelled(
                 group.transport->awaitReceived(peer, Channel::Calls)) &&
             std::chrono::steady_clock::now() < time)
        bell.set(time);
  }

  HostGroup group;
  CallExchange exchange;
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
  absl::Status run(CollectiveCall &call, const CallBuffers &buffers) override;

  bool isNeighbour(int member) const {
    return group.hosts[member] == group.hosts[group.self];
  }
  bool hasNeighbours() const { return group.neighbours->size() > 1; }
  /// Place among the members of this host.
  int placeOf(int member) const { return places[member]; }
  const CollectiveCall &callOf(int neighbour) const {
    return group.neighbours->memory.calls(turn)[placeOf(neighbour)];
  }
  const std::byte *at(uint64_t offset) const {
    return group.neighbours->place.addresses.at(offset);
  }

  absl::Status offer(CollectiveCall &call, bool isSmall);
  absl::Status exchangeCalls(CollectiveCall &call, bool isSmall);
  void combineSmall(const CollectiveCall &call);
  absl::Status move(const CollectiveCall &call);
  absl::Status finish(absl::Status status);

  absl::Status moveParts(const PartsOf &parts);
  absl::Status postResults(const PartsOf &parts);
  absl::Status sendContributions(const PartsOf &parts);
  absl::Status postContributions(const PartsOf &parts, int64_t segment);
  absl::Status makeSegment(const PartsOf &parts, int64_t segment);
  void combine(const PartsOf &parts, int64_t segment, ElementRange range,
               std::byte *result);
  absl::Status sendResult(const PartsOf &parts, const std::byte *result,
                          int64_t bytes);
  absl::Status awaitResults(const PartsOf &parts);
  absl::Status takeFromNeighbours(const PartsOf &parts);
  absl::Status moveBlocks(const CollectiveCall &call);
  absl::Status moveMessages(const CollectiveCall &call);

  ElementRange segmentOf(ElementRange part, int64_t segment) const {
    return {std::min(part.end, part.begin + segment * segmentSize),
            std::min(part.end, part.begin + (segment + 1) * segmentSize)};
  }
  /// Who of a host gets a part first; -1: nobody there receives.
  int delegate(const PartsOf &parts, int index, int host) const;
  /// Bytes of one segment's contributions of a peer.
  std::byte *scratchAt(int64_t segment, size_t peer) const {
    return scratch.data() +
           ((segment % kInFlight) * exchange.peers.size() + peer) * slotBytes;
  }

  std::unique_ptr<Membership> membership;
  const HostServices services;
  const CommunicatorOptions options;
  HostGroup &group;
  CallExchange &exchange;
  PeerWaits waits;
  /// By member: place among those of its host.
  std::vector<int> places;
  /// By host: its members.
  std::vector<std::vector<int>> membersOf;

  // Of the call in progress.
  int turn = 0;
  /// What this member reads and writes: its buffers, or what neighbours can
  /// reach in their place.
  const std::byte *input = nullptr;
  std::byte *output = nullptr;
  CallBuffers buffers;
  SharedCopy inputCopy;
  SharedCopy outputCopy;
  /// This member's part: its number, or -1.
  int ownPart = -1;
  int64_t segments = 0;
  /// In elements.
  int64_t segmentSize = 0;
  size_t slotBytes = 0;
  mutable std::vector<std::byte> scratch;

  // Addresses for the kernels, sized once.
  std::vector<const std::byte *> inputs;
};

HostCommunicator::HostCommunicator(std::unique_ptr<Membership> ownMembership,
                                   HostServices ownServices,
                                   const CommunicatorOptions &ownOptions)
    : membership(std::move(ownMembership)), services(std::move(ownServices)),
      options(ownOptions), group(membership->group),
      exchange(membership->exchange),
      waits(group, services.state, *services.alarm, options),
      inputs(group.members.size()) {
  for (size_t member = 0; member < group.members.size(); ++member) {
    membersOf.resize(
        std::max<size_t>(membersOf.size(), group.hosts[member] + 1));
    std::vector<int> &host = membersOf[group.hosts[member]];
    places.push_back(static_cast<int>(host.size()));
    host.push_back(static_cast<int>(member));
  }
}

HostCommunicator::~HostCommunicator() {
  RunState::leaveGroup(*group.neighbours, placeOf(group.self));
  group.neighbours = nullptr;
  if (services.state->status().ok() && exchange.sendGoodbye().ok())
    services.retire(std::move(membership));
  else
    group.transport->close();
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

/// The first call is one of its own: all have come when it is over.
absl::Status HostCommunicator::start() {
  absl::Status status = exchange.start();
  waits.begin("create_communicator");
  return status.ok() ? barrier() : waits.lose(status);
}

CollectiveCall &HostCommunicator::nextCall(CollectiveOp op) {
  CollectiveCall &call = exchange.next();
  turn ^= 1;
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
  waits.begin(collectiveOpName(call.op));
  absl::Status status = offer(call, isSmall);
  if (!status.ok()) {
    services.state->abort(status);
    status = services.state->status();
  }
  if (status.ok())
    status = exchangeCalls(call, isSmall);
  if (!status.ok())
    return finish(status);
  absl::Status agreed = checkCalls(exchange.calls(), group.members, group.name);
  if (agreed.ok() && !isSmall) {
    waits.beginMoving();
    status = move(call);
    // Neighbours may be at work on this member's memory.
    if (hasNeighbours()) {
      absl::Status met =
          services.state->meetAfterWork(*group.neighbours, placeOf(group.self));
      status = status.ok() ? met : status;
    }
    if (status.ok() && output != buffers.output)
      copyBytes(static_cast<std::byte *>(buffers.output), output,
                call.outputBytes(group.self));
  } else if (agreed.ok()) {
    combineSmall(call);
  }
  if (status.ok())
    status = waits.awaitSent();
  status = finish(status);
  return status.ok() ? agreed : status;
}

/// Any error but a difference of calls has ended the run.
absl::Status HostCommunicator::finish(absl::Status status) {
  waits.end();
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
    copyBytes(exchange.payload(group.self), input, inputBytes);
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

absl::Status HostCommunicator::exchangeCalls(CollectiveCall &call,
                                             bool isSmall) {
  const int64_t payload =
      isSmall && !call.isRefused() ? call.inputBytes(group.self, size()) : 0;
  if (absl::Status status = exchange.send(payload); !status.ok())
    return waits.lose(status);
  const GroupMemory &memory = group.neighbours->memory;
  const int self = placeOf(group.self);
  std::memcpy(static_cast<void *>(&memory.calls(turn)[self]), &call,
              CallTable::bytesFor(1, size()));
  copyBytes(memory.stage(turn, self), exchange.payload(group.self), payload);
  absl::Status status = services.state->meet(
      *group.neighbours, self, collectiveOpName(call.op), options);
  if (status.ok())
    status = exchange.receive(waits);
  if (!status.ok())
    return status;
  for (int member : membersOf[group.hosts[group.self]])
    std::memcpy(static_cast<void *>(&exchange.calls()[member]), &callOf(member),
                CallTable::bytesFor(1, size()));
  return absl::OkStatus();
}

void HostCommunicator::combineSmall(const CollectiveCall &call) {
  for (int member = 0; member < size(); ++member)
    inputs[member] = isNeighbour(member)
                         ? group.neighbours->memory.stage(turn, placeOf(member))
                         : exchange.payload(member);
  combineInputs(call, group.self, absl::MakeSpan(inputs), buffers);
}

absl::Status HostCommunicator::move(const CollectiveCall &call) {
  switch (call.op) {
  case CollectiveOp::AllReduce:
  case CollectiveOp::ReduceToOwners:
  case CollectiveOp::GatherFromOwners:
    return moveParts(PartsOf(call, size()));
  case CollectiveOp::AllToAll:
    return moveBlocks(call);
  case CollectiveOp::Exchange:
    return moveMessages(call);
  case CollectiveOp::Barrier:
    return absl::OkStatus();
  }
  return absl::OkStatus();
}

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

int HostCommunicator::delegate(const PartsOf &parts, int index,
                               int host) const {
  const std::vector<int> &members = membersOf[host];
  auto end = std::lower_bound(members.begin(), members.end(), parts.receivers);
  auto count = static_cast<int>(end - members.begin());
  return count == 0 ? -1 : members[index % count];
}

absl::Status HostCommunicator::moveParts(const PartsOf &parts) {
  const int64_t bytes = parts.call.elementBytes();
  const int64_t largest = parts.part(0).size();
  segments =
      std::clamp<int64_t>(largest * bytes / kSegmentBytes, 1, kMostSegments);
  segmentSize = partSize(largest, segments);
  slotBytes = static_cast<size_t>(arenaAligned(segmentSize * bytes));
  ownPart = -1;
  for (int i = 0; i < parts.owners; ++i)
    if (parts.owner(i) == group.self)
      ownPart = i;
  if (ownPart >= 0 && parts.contributors > 0)
    scratch.resize(std::max(scratch.size(),
                            kInFlight * exchange.peers.size() * slotBytes));

  absl::Status status = postResults(parts);
  for (int64_t i = 0; i < std::min(segments, kInFlight); ++i)
    status.Update(postContributions(parts, i));
  status.Update(sendContributions(parts));
  if (!status.ok())
    return waits.lose(status);
  for (int64_t i = 0; i < segments && status.ok() && ownPart >= 0; ++i)
    status = makeSegment(parts, i);
  if (status.ok())
    status = awaitResults(parts);
  if (status.ok() && parts.receivers > 0)
    status = takeFromNeighbours(parts);
  return status;
}

/// Of other hosts' owners, where this member is the first here to get them.
absl::Status HostCommunicator::postResults(const PartsOf &parts) {
  const int64_t bytes = parts.call.elementBytes();
  absl::Status status;
  for (int64_t segment = 0; segment < segments; ++segment)
    for (int i = 0; i < parts.owners; ++i) {
      ElementRange range = segmentOf(parts.part(i), segment);
      if (range.size() > 0 && !isNeighbour(parts.owner(i)) &&
          delegate(parts, i, group.hosts[group.self]) == group.self)
        status.Update(group.transport->receive(parts.owner(i), Channel::Results,
                                               output + range.begin * bytes,
                                               range.size() * bytes));
    }
  return status;
}

absl::Status HostCommunicator::postContributions(const PartsOf &parts,
                                                 int64_t segment) {
  if (ownPart < 0 || segment >= segments)
    return absl::OkStatus();
  ElementRange range = segmentOf(parts.part(ownPart), segment);
  absl::Status status;
  for (size_t i = 0; i < exchange.peers.size(); ++i)
    if (range.size() > 0 && exchange.peers[i] < parts.contributors)
      status.Update(group.transport->receive(
          exchange.peers[i], Channel::Contributions, scratchAt(segment, i),
          range.size() * parts.call.elementBytes()));
  return status;
}

absl::Status HostCommunicator::sendContributions(const PartsOf &parts) {
  absl::Status status;
  if (group.self >= parts.contributors)
    return status;
  const int64_t bytes = parts.call.elementBytes();
  for (int64_t segment = 0; segment < segments; ++segment)
    for (int next = 1; next <= parts.owners; ++next) {
      // Not all to the same owner first.
      int i = (std::max(ownPart, 0) + next) % parts.owners;
      ElementRange range = segmentOf(parts.part(i), segment);
      if (range.size() > 0 && !isNeighbour(parts.owner(i)))
        status.Update(group.transport->send(
            parts.owner(i), Channel::Contributions, input + range.begin * bytes,
            range.size() * bytes));
    }
  return status;
}

/// A segment of this member's own part: combined, or its input, and sent on.
absl::Status HostCommunicator::makeSegment(const PartsOf &parts,
                                           int64_t segment) {
  const int64_t bytes = parts.call.elementBytes();
  const ElementRange part = parts.part(ownPart);
  const ElementRange range = segmentOf(part, segment);
  if (range.size() == 0)
    return absl::OkStatus();
  const int64_t inPart = (range.begin - part.begin) * bytes;
  // Parts of gather_from_owners and of reduce_to_owners are by themselves.
  if (parts.contributors == 0)
    return sendResult(parts, input + inPart, range.size() * bytes);
  for (int peer : exchange.peers)
    if (peer < parts.contributors)
      if (absl::Status status = waits.await(peer, Channel::Contributions);
          !status.ok())
        return status;
  std::byte *result =
      output + (parts.receivers > 0 ? range.begin * bytes : inPart);
  combine(parts, segment, range, result);
  absl::Status status = postContributions(parts, segment + kInFlight);
  if (!status.ok())
    return waits.lose(status);
  return sendResult(parts, result, range.size() * bytes);
}

void HostCommunicator::combine(const PartsOf &parts, int64_t segment,
                               ElementRange range, std::byte *result) {
  const int64_t offset = range.begin * parts.call.elementBytes();
  size_t peer = 0;
  for (int member = 0; member < parts.contributors; ++member) {
    if (member == group.self)
      inputs[member] = input + offset;
    else if (isNeighbour(member))
      inputs[member] = at(callOf(member).input) + offset;
    else
      inputs[member] = scratchAt(segment, peer++);
  }
  std::byte *const outputs[] = {result};
  reduceElements(parts.call.type, parts.call.kind,
                 absl::MakeConstSpan(inputs).first(parts.contributors), outputs,
                 range.size());
}

absl::Status HostCommunicator::sendResult(const PartsOf &parts,
                                          const std::byte *result,
                                          int64_t bytes) {
  for (size_t host = 0; host < membersOf.size(); ++host) {
    int receiver = delegate(parts, ownPart, static_cast<int>(host));
    if (receiver < 0 || isNeighbour(receiver))
      continue;
    absl::Status status =
        group.transport->send(receiver, Channel::Results, result, bytes);
    if (!status.ok())
      return waits.lose(status);
  }
  return absl::OkStatus();
}

absl::Status HostCommunicator::awaitResults(const PartsOf &parts) {
  for (int64_t segment = 0; segment < segments; ++segment)
    for (int i = 0; i < parts.owners; ++i)
      if (segmentOf(parts.part(i), segment).size() > 0 &&
          !isNeighbour(parts.owner(i)) &&
          delegate(parts, i, group.hosts[group.self]) == group.self)
        if (absl::Status status = waits.await(parts.owner(i), Channel::Results);
            !status.ok())
          return status;
  return absl::OkStatus();
}

/// What the members of this host have made, or got from others.
absl::Status HostCommunicator::takeFromNeighbours(const PartsOf &parts) {
  if (hasNeighbours())
    if (absl::Status status =
            services.state->meet(*group.neighbours, placeOf(group.self),
                                 collectiveOpName(parts.call.op), options);
        !status.ok())
      return status;
  if (group.self >= parts.receivers)
    return absl::OkStatus();
  const int64_t bytes = parts.call.elementBytes();
  for (int i = 0; i < parts.owners; ++i) {
    const ElementRange part = parts.part(i);
    const bool isOwners = isNeighbour(parts.owner(i));
    const int source =
        isOwners ? parts.owner(i) : delegate(parts, i, group.hosts[group.self]);
    // The parts of gather_from_owners are by themselves.
    const bool isAlone = isOwners && parts.contributors == 0;
    if (source == group.self && !isAlone)
      continue;
    const std::byte *from =
        source == group.self
            ? input
            : at(isAlone ? callOf(source).input : callOf(source).output);
    copyBytes(output + part.begin * bytes,
              from + (isAlone ? 0 : part.begin * bytes), part.size() * bytes);
  }
  return absl::OkStatus();
}

//===----------------------------------------------------------------------===//
// Blocks and messages
//===----------------------------------------------------------------------===//

absl::Status HostCommunicator::moveBlocks(const CollectiveCall &call) {
  absl::Status status;
  for (int peer : exchange.peers)
    status.Update(group.transport->receive(
        peer, Channel::Blocks, output + peer * call.count, call.count));
  for (int peer : exchange.peers)
    status.Update(group.transport->send(peer, Channel::Blocks,
                                        input + peer * call.count, call.count));
  if (!status.ok())
    return waits.lose(status);
  for (int member : membersOf[group.hosts[group.self]])
    copyBytes(output + member * call.count,
              (member == group.self ? input : at(callOf(member).input)) +
                  group.self * call.count,
              call.count);
  for (int peer : exchange.peers)
    if (status = waits.await(peer, Channel::Blocks); !status.ok())
      return status;
  return absl::OkStatus();
}

absl::Status HostCommunicator::moveMessages(const CollectiveCall &call) {
  absl::Status status;
  absl::Span<const int32_t> sources = call.ranks();
  for (size_t i = 0; i < sources.size(); ++i)
    if (!isNeighbour(sources[i]))
      status.Update(group.transport->receive(sources[i], Channel::Blocks,
                                             buffers.outputs[i], call.count));
  for (int to : call.destinations())
    if (!isNeighbour(to))
      status.Update(
          group.transport->send(to, Channel::Blocks, input, call.count));
  if (!status.ok())
    return waits.lose(status);
  for (size_t i = 0; i < sources.size(); ++i)
    if (isNeighbour(sources[i]))
      copyBytes(static_cast<std::byte *>(buffers.outputs[i]),
                sources[i] == group.self ? input : at(callOf(sources[i]).input),
                call.count);
  for (int from : sources)
    if (!isNeighbour(from))
      if (status = waits.await(from, Channel::Blocks); !status.ok())
        return status;
  return absl::OkStatus();
}

} // namespace

absl::StatusOr<std::unique_ptr<Communicator>>
createHostCommunicator(HostGroup group, HostServices services,
                       const CommunicatorOptions &options) {
  std::vector<int> peers;
  for (size_t member = 0; member < group.members.size(); ++member)
    if (group.hosts[member] != group.hosts[group.self])
      peers.push_back(static_cast<int>(member));
  auto membership =
      std::make_unique<Membership>(std::move(group), std::move(peers));
  auto communicator = std::make_unique<HostCommunicator>(
      std::move(membership), std::move(services), options);
  if (absl::Status status = communicator->start(); !status.ok())
    return status;
  return communicator;
}

} // namespace bagua::runtime
