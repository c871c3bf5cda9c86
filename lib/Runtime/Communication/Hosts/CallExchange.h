//===- CallExchange.h - Calls of members on other hosts -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each call begins with a record that goes to all members of other hosts: what
// is called, and small inputs with it. Receives for the next call's records are
// posted before this call is answered, so that no peer waits to send one.
//
// A message that is larger than its receiver expects ends a connection of
// Gloo's. So nothing but records, whose size is bounded, is sent before the
// calls are known to agree.
// Members of this host show each other their calls in memory.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_COMMUNICATION_HOSTS_CALLEXCHANGE_H
#define BAGUA_LIB_RUNTIME_COMMUNICATION_HOSTS_CALLEXCHANGE_H

#include "Communication/CollectiveCall.h"
#include "Communication/Hosts/CallPhases.h"
#include "Communication/Hosts/HostCommunicator.h"
#include "Communication/Hosts/HostLayout.h"
#include "Communication/Hosts/PartMover.h"
#include "Communication/Hosts/PeerWaits.h"

#include "absl/status/status.h"
#include "absl/types/span.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace bagua::runtime {

class CallExchange {
public:
  explicit CallExchange(const HostGroup &group);

  /// Once, before the first call.
  absl::Status start();

  /// The next call of this member, to be filled in; its phases begin with
  /// filled().
  CollectiveCall &next();
  FilledCall filled() { return FilledCall(*this); }
  /// Where its input goes if it is small.
  std::byte *payload() const { return ownRecord(side(number)) + payloadBegin; }
  /// The most bytes that a record has beside the call.
  static constexpr int64_t kPayloadBytes = PartMover::kFirstBytes;

  /// The tag of the last call's records, from and to all peers.
  Tag tag() const { return {MessageStream::Calls, number}; }
  /// Tells peers that this member is going.
  absl::Status sendGoodbye();

  const HostLayout layout;

private:
  friend class FilledCall;
  friend class SentCall;
  friend class ShownCall;
  friend class CollectedCall;
  friend class AgreedCall;
  struct Header;
  struct alignas(64) Line {
    std::byte bytes[64];
  };

  static int side(int64_t call) { return static_cast<int>(call % 2); }
  std::byte *record(int side, int member) const {
    return lines[0].bytes +
           (side * group.members.size() + member) * recordBytes;
  }
  std::byte *ownRecord(int side) const { return record(side, group.self); }
  /// The record that goes to one peer alone.
  std::byte *recordFor(int side, int peer) const {
    return record(side + 2, peer);
  }
  CollectiveCall *callIn(std::byte *place) const;
  CollectiveCall &own() const { return *callIn(ownRecord(side(number))); }
  /// The last call of a member of this host.
  CollectiveCall &callOf(int neighbour) const {
    return group.neighbours->memory.calls(
        side(number))[layout.placeOf(neighbour)];
  }
  std::byte *stageOf(int neighbour) const {
    return group.neighbours->memory.stage(side(number),
                                          layout.placeOf(neighbour));
  }
  absl::Status post(int64_t call);
  void setHeader(bool isGoodbye);
  absl::Status sendRecord(size_t bytes);
  absl::Status take(PeerWaits &waits, int peer, absl::Span<const int> others);

  const HostGroup &group;
  const int size;
  const size_t callBytes;
  size_t payloadBegin = 0;
  size_t recordBytes = 0;
  /// Records of two calls by member, and what goes to each.
  mutable std::vector<Line> lines;
  /// All calls by member, once they are collected.
  std::vector<Line> tableLines;
  CallTable table;
  /// The number of the call in progress.
  int64_t number = -1;
};

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_COMMUNICATION_HOSTS_CALLEXCHANGE_H
