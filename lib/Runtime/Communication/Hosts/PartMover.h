//===- PartMover.h - Parts of tensors between hosts -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// all_reduce, reduce_to_owners and gather_from_owners of what is not small: who
// owns a part of the result gets all contributions to it and combines them in
// member order. What it makes goes once to each other host.
//
// Parts move in segments, so that sums and results of one overlap contributions
// to the next. All members receive in one order, a few messages at a time, each
// from the member as far before it as the others: so in a network in which all
// send at once, nobody's messages meet at one receiver.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_COMMUNICATION_HOSTS_PARTMOVER_H
#define BAGUA_LIB_RUNTIME_COMMUNICATION_HOSTS_PARTMOVER_H

#include "Communication/CollectiveCall.h"
#include "Communication/Hosts/HostLayout.h"
#include "Communication/Hosts/PeerWaits.h"
#include "Communication/Transport/Transport.h"

#include "absl/status/status.h"
#include "absl/types/span.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace bagua::runtime {

/// By member: buffers of this host's, as this member reaches them.
struct NeighbourBuffers {
  std::vector<const std::byte *> inputs;
  std::vector<std::byte *> outputs;
};

class PartMover {
public:
  PartMover(const HostLayout &layout, Transport &transport, PeerWaits &waits);

  /// The most bytes of a contribution that goes with the call itself.
  static constexpr int64_t kFirstBytes = 32 * 1024;

  /// A call that is not small begins on this member.
  void begin(const CollectiveCall &call, const NeighbourBuffers &buffers);
  /// The bytes that go to a peer with the call: the contribution to its first
  /// segment, or none. Members whose calls agree decide this alike.
  absl::Span<const std::byte> firstFor(int peer) const;
  /// Moves parts between hosts. `firsts` has, by member, the bytes that have
  /// come with its call.
  absl::Status exchange(absl::Span<const std::byte *const> firsts);
  /// Copies the parts that other members of this host have computed or
  /// received. Called after exchange(), once the neighbours are as far.
  void takeFromNeighbours();

private:
  /// A message to be received, or none.
  struct Receive {
    int peer = -1;
    MessageStream stream = MessageStream::Results;
    int64_t segment = 0;
    ElementRange range;
  };
  /// A position in the order of messages.
  struct Cursor {
    int64_t step = 0;
    size_t turn = 0;
  };

  bool isEnd(Cursor cursor) const;
  void advance(Cursor &cursor) const;
  Receive receiveAt(Cursor cursor) const;
  std::byte *destination(const Receive &receive);
  absl::Status postNext();
  absl::Status sendContributions();
  absl::Status makeSegment(int64_t segment);
  void combine(int64_t segment, ElementRange range, std::byte *result);
  /// Whether contributions to a segment go with the call.
  bool isFirst(int64_t segment) const {
    return segment == 0 && segmentSize * elementBytes <= kFirstBytes;
  }
  absl::Status sendResult(const std::byte *result, int64_t bytes);
  StreamTags &tagsOf(MessageStream stream) {
    return stream == MessageStream::Results ? results : contributions;
  }

  int owner(int part) const {
    return call->op == CollectiveOp::AllReduce ? part : call->ranks()[part];
  }
  /// The part that a member owns; -1: it owns none.
  int partOfOwner(int member) const {
    return call->op == CollectiveOp::AllReduce ? member : call->indexOf(member);
  }
  ElementRange part(int index) const {
    return partRange(call->count, owners, index);
  }
  ElementRange segmentOf(int index, int64_t segment) const;
  /// The member of a host that gets a part first; -1: no member there receives.
  int delegate(int index, int host) const;
  std::byte *scratchAt(int64_t segment, int peer);

  const HostLayout &layout;
  Transport &transport;
  PeerWaits &waits;
  /// Peers by how far they are before this member, and behind it.
  std::vector<int> before;
  std::vector<int> behind;
  StreamTags contributions;
  StreamTags results;

  // The fields below describe the call in progress.
  const CollectiveCall *call = nullptr;
  const NeighbourBuffers *buffers = nullptr;
  absl::Span<const std::byte *const> firsts;
  int owners = 0;
  int contributors = 0;
  int receivers = 0;
  int64_t elementBytes = 1;
  int ownPart = -1;
  int64_t segments = 0;
  /// In elements.
  int64_t segmentSize = 0;
  /// Up to where messages are received.
  Cursor posted;
  /// Segments whose contributions are here or on their way.
  int64_t scratchSegments = 0;
  std::vector<std::byte> scratch;

  /// For the kernels, sized once.
  std::vector<const std::byte *> inputs;
};

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_COMMUNICATION_HOSTS_PARTMOVER_H
