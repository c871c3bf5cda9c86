//===- PartMover.cpp - Parts of tensors between hosts ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The order of messages: of each step first the contributions to one segment,
// from all peers, then the results of a segment before it. Nobody waits in a
// circle: a result needs contributions alone, which come before it in every
// member's order, and what is sent waits for its receiver only.
//
//===----------------------------------------------------------------------===//
#include "Communication/Hosts/PartMover.h"

#include "Communication/CopyBytes.h"
#include "Kernels/ReduceKernels.h"

#include <algorithm>

namespace bagua::runtime {
namespace {

// Measured between four hosts at 100 Mbit/s to 10 Gbit/s, on idle and on busy
// cores (docs/Performance.md). Segments: small ones, so that little is left
// when the last contribution has come, but each costs each of its receivers a
// turn of a core, and one more where it goes a little beyond a large packet,
// or two: these have 64 KiB with all heads. So segments are cut to end before,
// also those of parts that are a power of two. What is in flight queues before
// the receiver's card: with 512 KiB a segment (4.5 MiB) a connection that had
// once lost a packet stayed behind the others for good, and 64 MiB took 1.2
// times as long.
constexpr int64_t kPacketBytes = 64 * 1024 - 512;
constexpr int64_t kLeastSegmentBytes = PartMover::kFirstBytes;
constexpr int64_t kMostSegmentBytes = 2 * kPacketBytes;
constexpr int64_t kMostSegments = 17;
/// Messages that are received at once: some come while the next ones' senders
/// hear that they may, or are not as far. With more of the larger ones members
/// end further apart.
constexpr int kInFlight = 9;
constexpr int kSmallInFlight = 12;
/// Segments from contributions to results.
constexpr int64_t kLag = 1;

} // namespace

PartMover::PartMover(const HostLayout &ownLayout, Transport &ownTransport,
                     PeerWaits &ownWaits)
    : layout(ownLayout), transport(ownTransport), waits(ownWaits),
      contributions(MessageStream::Contributions, layout.size()),
      results(MessageStream::Results, layout.size()), inputs(layout.size()) {
  const int size = layout.size();
  for (int distance = 1; distance < size; ++distance) {
    const int left = (layout.self() + size - distance) % size;
    const int right = (layout.self() + distance) % size;
    if (!layout.isNeighbour(left))
      before.push_back(left);
    if (!layout.isNeighbour(right))
      behind.push_back(right);
  }
}

void PartMover::begin(const CollectiveCall &newCall,
                      const NeighbourBuffers &newBuffers) {
  call = &newCall;
  buffers = &newBuffers;
  const int size = layout.size();
  const bool isAll = call->op == CollectiveOp::AllReduce;
  owners = isAll ? size : static_cast<int>(call->ranks().size());
  contributors = isAll                                      ? size
                 : call->op == CollectiveOp::ReduceToOwners ? call->endpoints
                                                            : 0;
  receivers = isAll                                        ? size
              : call->op == CollectiveOp::GatherFromOwners ? call->endpoints
                                                           : 0;
  elementBytes = call->elementBytes();
  ownPart = partOfOwner(layout.self());
  const int64_t bytes = part(0).size() * elementBytes;
  segments = std::min(partSize(bytes, kLeastSegmentBytes), kMostSegments);
  segments =
      std::max({segments, partSize(bytes, kMostSegmentBytes), int64_t{1}});
  segmentSize = partSize(part(0).size(), segments);
  posted = {};
  auto contributes = [&](int peer) { return peer < contributors; };
  const int64_t sources =
      std::count_if(before.begin(), before.end(), contributes);
  // That of the segment which is being combined, and those in the window, which
  // may begin and end within one.
  scratchSegments =
      std::max(kInFlight, kSmallInFlight) / std::max<int64_t>(sources, 1) + 2;
  if (ownPart >= 0 && contributors > 0)
    scratch.resize(std::max<size_t>(
        scratch.size(), scratchSegments * before.size() *
                            arenaAligned(segmentSize * elementBytes)));
}

ElementRange PartMover::segmentOf(int index, int64_t segment) const {
  const ElementRange whole = part(index);
  return {std::min(whole.end, whole.begin + segment * segmentSize),
          std::min(whole.end, whole.begin + (segment + 1) * segmentSize)};
}

int PartMover::delegate(int index, int host) const {
  const std::vector<int> &members = layout.membersOf(host);
  auto end = std::lower_bound(members.begin(), members.end(), receivers);
  auto count = static_cast<int>(end - members.begin());
  return count == 0 ? -1 : members[index % count];
}

std::byte *PartMover::scratchAt(int64_t segment, int peer) {
  auto place = std::find(before.begin(), before.end(), peer) - before.begin();
  const int64_t slot =
      (segment % scratchSegments) * static_cast<int64_t>(before.size()) + place;
  return scratch.data() + slot * arenaAligned(segmentSize * elementBytes);
}

//===----------------------------------------------------------------------===//
// The order of messages
//===----------------------------------------------------------------------===//

bool PartMover::isEnd(Cursor cursor) const {
  return cursor.step == segments + kLag;
}

void PartMover::advance(Cursor &cursor) const {
  if (++cursor.turn < 2 * before.size())
    return;
  cursor.turn = 0;
  ++cursor.step;
}

PartMover::Receive PartMover::receiveAt(Cursor cursor) const {
  const bool isResult = cursor.turn >= before.size();
  Receive receive;
  receive.stream =
      isResult ? MessageStream::Results : MessageStream::Contributions;
  receive.segment = cursor.step - (isResult ? kLag : 0);
  const int peer = before[cursor.turn - (isResult ? before.size() : 0)];
  const int index = isResult ? partOfOwner(peer) : ownPart;
  if (index < 0 || receive.segment < 0 || receive.segment >= segments)
    return receive;
  const bool isMine =
      isResult ? delegate(index, layout.hostOf(layout.self())) == layout.self()
               : peer < contributors;
  if (!isMine)
    return receive;
  if (!isResult && isFirst(receive.segment))
    return receive;
  receive.range = segmentOf(index, receive.segment);
  receive.peer = receive.range.size() > 0 ? peer : -1;
  return receive;
}

std::byte *PartMover::destination(const Receive &receive) {
  return receive.stream == MessageStream::Contributions
             ? scratchAt(receive.segment, receive.peer)
             : buffers->outputs[layout.self()] +
                   receive.range.begin * elementBytes;
}

/// Receives the next message that there is.
absl::Status PartMover::postNext() {
  while (!isEnd(posted)) {
    const Receive receive = receiveAt(posted);
    advance(posted);
    if (receive.peer >= 0)
      return transport.receive(
          receive.peer, tagsOf(receive.stream).nextReceived(receive.peer),
          destination(receive), receive.range.size() * elementBytes);
  }
  return absl::OkStatus();
}

absl::Span<const std::byte> PartMover::firstFor(int peer) const {
  const int index = partOfOwner(peer);
  if (index < 0 || layout.self() >= contributors || !isFirst(0))
    return {};
  const ElementRange range = segmentOf(index, 0);
  return {buffers->inputs[layout.self()] + range.begin * elementBytes,
          static_cast<size_t>(range.size() * elementBytes)};
}

absl::Status PartMover::exchange(absl::Span<const std::byte *const> newFirsts) {
  firsts = newFirsts;
  absl::Status status;
  const bool isSmall = segmentSize * elementBytes <= kLeastSegmentBytes;
  for (int i = 0; i < (isSmall ? kSmallInFlight : kInFlight); ++i)
    status.Update(postNext());
  status.Update(sendContributions());
  if (!status.ok())
    return waits.lose(status);
  for (Cursor cursor; !isEnd(cursor); advance(cursor)) {
    const Receive receive = receiveAt(cursor);
    if (receive.peer >= 0) {
      status = waits.await(receive.peer,
                           tagsOf(receive.stream).nextAwaited(receive.peer));
      if (!status.ok())
        return status;
      if (status = postNext(); !status.ok())
        return waits.lose(status);
    }
    // All contributions to a segment are there.
    if (cursor.turn + 1 == before.size() && cursor.step < segments)
      if (status = makeSegment(cursor.step); !status.ok())
        return waits.lose(status);
  }
  return absl::OkStatus();
}

/// In the order in which they are received.
absl::Status PartMover::sendContributions() {
  absl::Status status;
  if (layout.self() >= contributors)
    return status;
  for (int64_t segment = isFirst(0) ? 1 : 0; segment < segments; ++segment)
    for (int peer : behind) {
      const int index = partOfOwner(peer);
      if (index < 0)
        continue;
      const ElementRange range = segmentOf(index, segment);
      if (range.size() > 0)
        status.Update(transport.send(peer, contributions.nextSent(peer),
                                     buffers->inputs[layout.self()] +
                                         range.begin * elementBytes,
                                     range.size() * elementBytes));
    }
  return status;
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// A segment of this member's own part: combined, or its input, and sent on.
absl::Status PartMover::makeSegment(int64_t segment) {
  if (ownPart < 0)
    return absl::OkStatus();
  const ElementRange range = segmentOf(ownPart, segment);
  if (range.size() == 0)
    return absl::OkStatus();
  const int self = layout.self();
  const int64_t inPart = (range.begin - part(ownPart).begin) * elementBytes;
  // Parts of gather_from_owners and of reduce_to_owners are by themselves.
  if (contributors == 0)
    return sendResult(buffers->inputs[self] + inPart,
                      range.size() * elementBytes);
  std::byte *result = buffers->outputs[self] +
                      (receivers > 0 ? range.begin * elementBytes : inPart);
  combine(segment, range, result);
  return sendResult(result, range.size() * elementBytes);
}

void PartMover::combine(int64_t segment, ElementRange range,
                        std::byte *result) {
  for (int member = 0; member < contributors; ++member)
    inputs[member] = layout.isNeighbour(member)
                         ? buffers->inputs[member] + range.begin * elementBytes
                     : isFirst(segment) ? firsts[member]
                                        : scratchAt(segment, member);
  std::byte *const outputs[] = {result};
  reduceElements(call->type, call->kind,
                 absl::MakeConstSpan(inputs).first(contributors), outputs,
                 range.size());
}

absl::Status PartMover::sendResult(const std::byte *result, int64_t bytes) {
  absl::Status status;
  // Hosts in the order in which theirs receive from this member.
  for (int peer : behind)
    if (delegate(ownPart, layout.hostOf(peer)) == peer)
      status.Update(
          transport.send(peer, results.nextSent(peer), result, bytes));
  return status;
}

void PartMover::takeFromNeighbours() {
  const int self = layout.self();
  if (self >= receivers)
    return;
  for (int i = 0; i < owners; ++i) {
    const ElementRange whole = part(i);
    const bool isOwners = layout.isNeighbour(owner(i));
    const int source = isOwners ? owner(i) : delegate(i, layout.hostOf(self));
    const int64_t place = whole.begin * elementBytes;
    // The parts of gather_from_owners are by themselves.
    const std::byte *from = isOwners && contributors == 0
                                ? buffers->inputs[source]
                                : buffers->outputs[source] + place;
    copyBytes(buffers->outputs[self] + place, from,
              whole.size() * elementBytes);
  }
}

} // namespace bagua::runtime
