//===- CallExchange.h - Calls of members on other hosts -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each call begins with a record that goes to all members of other hosts: what
// is called, and small inputs with it. What the next call's records go to is
// received before this call is answered, so that nobody waits to send one.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_COMMUNICATION_HOSTS_CALLEXCHANGE_H
#define BAGUA_LIB_RUNTIME_COMMUNICATION_HOSTS_CALLEXCHANGE_H

#include "Communication/CollectiveCall.h"
#include "Communication/Hosts/HostCommunicator.h"
#include "Communication/Hosts/PartMover.h"
#include "Communication/Hosts/PeerWaits.h"

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/types/span.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace bagua::runtime {

class CallExchange {
public:
  /// `peers`: members on other hosts.
  CallExchange(const HostGroup &group, std::vector<int> peers);

  /// Once, before the first call.
  absl::Status start();

  /// The next call of this member, to be filled in.
  CollectiveCall &next();
  /// The same, of the call in progress.
  CollectiveCall &own() const { return *callIn(ownRecord(side(number))); }
  /// Of its records, from and to all peers.
  Tag tag() const { return {MessageStream::Calls, number}; }
  /// Where its input goes if it is small; and where the others' came to.
  std::byte *payload(int member) const {
    return record(side(number), member) + payloadBegin;
  }

  /// Of what a record has beside the call, at most.
  static constexpr int64_t kPayloadBytes = PartMover::kFirstBytes;

  /// Sends this member's record with `payloadBytes` of input to all peers.
  absl::Status send(int64_t payloadBytes);
  /// The same, to each with what `payloadFor` gives it.
  absl::Status
  send(absl::FunctionRef<absl::Span<const std::byte>(int)> payloadFor);
  /// Waits for those of all peers.
  absl::Status receive(PeerWaits &waits);
  /// By member, once all are there; those of this host are the caller's to
  /// bring.
  const CallTable &calls() const { return table; }

  /// Tells peers that this member is going.
  absl::Status sendGoodbye();

  const std::vector<int> peers;

private:
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
  /// What goes to one peer alone.
  std::byte *recordFor(int side, int peer) const {
    return record(side + 2, peer);
  }
  CollectiveCall *callIn(std::byte *place) const;
  absl::Status post(int64_t call);
  void setHeader(bool isGoodbye);
  absl::Status sendRecord(size_t bytes);

  const HostGroup &group;
  size_t payloadBegin = 0;
  size_t recordBytes = 0;
  /// Records of two calls by member, and what goes to each.
  mutable std::vector<Line> lines;
  std::vector<Line> tableLines;
  CallTable table;
  /// Of the call in progress.
  int64_t number = -1;
};

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_COMMUNICATION_HOSTS_CALLEXCHANGE_H
