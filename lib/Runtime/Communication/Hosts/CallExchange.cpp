//===- CallExchange.cpp - Calls of members on other hosts -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A record is a header, the call with its lists, and a small input. Of two
// sides one belongs to the call in progress and the other to the next one.
//
//===----------------------------------------------------------------------===//
#include "Communication/Hosts/CallExchange.h"

#include "Communication/CopyBytes.h"
#include "Communication/Hosts/PeerWaits.h"
#include "Communication/Memory/GroupMemory.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace bagua::runtime {

struct alignas(64) CallExchange::Header {
  char secret[32];
  bool isGoodbye;
};

namespace {

constexpr size_t kLine = 64;

size_t linesFor(size_t bytes) { return (bytes + kLine - 1) / kLine; }

} // namespace

CallExchange::CallExchange(const HostGroup &ownGroup)
    : layout(ownGroup.hosts, ownGroup.self), group(ownGroup),
      size(layout.size()), callBytes(CallTable::bytesFor(1, size)) {
  payloadBegin = sizeof(Header) + callBytes;
  recordBytes =
      kLine * linesFor(payloadBegin + static_cast<size_t>(kPayloadBytes));
  lines.resize(linesFor(4 * group.members.size() * recordBytes));
  tableLines.resize(linesFor(CallTable::bytesFor(size, size)));
  table = CallTable(tableLines[0].bytes, size, size);
}

CollectiveCall *CallExchange::callIn(std::byte *place) const {
  return reinterpret_cast<CollectiveCall *>(place + sizeof(Header));
}

absl::Status CallExchange::start() { return post(number + 1); }

/// Receives the records of a call.
absl::Status CallExchange::post(int64_t call) {
  for (int peer : layout.peers()) {
    std::byte *place = record(side(call), peer);
    // The record of an earlier call must not be taken for the next one.
    std::memset(place, 0, payloadBegin);
    absl::Status status = group.transport->receive(
        peer, {MessageStream::Calls, call}, place, recordBytes);
    if (!status.ok())
      return status;
  }
  return absl::OkStatus();
}

CollectiveCall &CallExchange::next() {
  ++number;
  return own();
}

void CallExchange::setHeader(bool isGoodbye) {
  auto *header = reinterpret_cast<Header *>(ownRecord(side(number)));
  *header = {};
  group.secret.copy(header->secret, sizeof header->secret);
  header->isGoodbye = isGoodbye;
}

absl::Status CallExchange::sendRecord(size_t bytes) {
  absl::Status status;
  for (int peer : layout.peers())
    status.Update(group.transport->send(peer, tag(), ownRecord(side(number)),
                                        static_cast<int64_t>(bytes)));
  return status;
}

absl::Status CallExchange::sendGoodbye() {
  ++number;
  setHeader(/*isGoodbye=*/true);
  return sendRecord(sizeof(Header));
}

/// The record of a peer.
absl::Status CallExchange::take(PeerWaits &waits, int peer,
                                absl::Span<const int> others) {
  if (absl::Status status = waits.await(peer, tag(), others); !status.ok())
    return status;
  std::byte *place = record(side(number), peer);
  const auto *header = reinterpret_cast<const Header *>(place);
  const CollectiveCall *call = callIn(place);
  if (std::string_view(header->secret, sizeof header->secret)
          .compare(0, group.secret.size(), group.secret) != 0)
    return waits.refuse(peer, "a message without this run's secret");
  if (header->isGoodbye)
    return waits.miss(peer);
  if (!call->isPossible(size))
    return waits.refuse(peer, "a malformed message");
  std::memcpy(static_cast<void *>(&table[peer]), call, callBytes);
  return absl::OkStatus();
}

//===----------------------------------------------------------------------===//
// Phases
//===----------------------------------------------------------------------===//

absl::StatusOr<SentCall> FilledCall::send(int64_t payloadBytes) && {
  CallExchange &of = leave();
  // First what the next call needs: peers may be there before this member.
  if (absl::Status status = of.post(of.number + 1); !status.ok())
    return status;
  of.setHeader(/*isGoodbye=*/false);
  absl::Status status =
      of.sendRecord(of.payloadBegin + static_cast<size_t>(payloadBytes));
  if (!status.ok())
    return status;
  return SentCall(of, payloadBytes);
}

absl::StatusOr<SentCall> FilledCall::send(
    absl::FunctionRef<absl::Span<const std::byte>(int)> payloadFor) && {
  CallExchange &of = leave();
  if (absl::Status status = of.post(of.number + 1); !status.ok())
    return status;
  of.setHeader(/*isGoodbye=*/false);
  const int side = CallExchange::side(of.number);
  absl::Status status;
  for (int peer : of.layout.peers()) {
    std::byte *place = of.recordFor(side, peer);
    const absl::Span<const std::byte> payload = payloadFor(peer);
    std::memcpy(place, of.ownRecord(side), of.payloadBegin);
    if (!payload.empty())
      std::memcpy(place + of.payloadBegin, payload.data(), payload.size());
    status.Update(of.group.transport->send(
        peer, of.tag(), place,
        static_cast<int64_t>(of.payloadBegin + payload.size())));
  }
  if (!status.ok())
    return status;
  return SentCall(of, /*bytes=*/0);
}

absl::StatusOr<ShownCall>
SentCall::show(RunState &state, std::string_view what,
               const CommunicatorOptions &options) && {
  CallExchange &of = leave();
  const int self = of.group.self;
  std::memcpy(static_cast<void *>(&of.callOf(self)), &of.own(), of.callBytes);
  copyBytes(of.stageOf(self), of.payload(), payloadBytes);
  absl::Status status =
      state.meet(*of.group.neighbours, of.layout.placeOf(self), what, options);
  if (!status.ok())
    return status;
  return ShownCall(of);
}

bool ShownCall::areNeighboursAlike() const {
  const CollectiveCall &own = exchange->own();
  for (int member : exchange->layout.neighbours()) {
    const CollectiveCall &call = exchange->callOf(member);
    if (call.isRefused() || !call.agreesWith(own))
      return false;
  }
  return true;
}

absl::StatusOr<CollectedCall> ShownCall::collect(PeerWaits &waits) && {
  CallExchange &of = leave();
  const std::vector<int> &peers = of.layout.peers();
  for (size_t i = 0; i < peers.size(); ++i) {
    absl::Status status =
        of.take(waits, peers[i], absl::MakeConstSpan(peers).subspan(i + 1));
    if (!status.ok())
      return status;
  }
  for (int member : of.layout.neighbours())
    std::memcpy(static_cast<void *>(&of.table[member]), &of.callOf(member),
                of.callBytes);
  return CollectedCall(of);
}

absl::StatusOr<AgreedCall> CollectedCall::agree() && {
  CallExchange &of = leave();
  absl::Status status = checkCalls(of.table, of.group.members, of.group.name);
  if (!status.ok())
    return status;
  return AgreedCall(of);
}

const CollectiveCall &AgreedCall::callOf(int member) const {
  return exchange->table[member];
}

const std::byte *AgreedCall::payloadOf(int member) const {
  return exchange->layout.isNeighbour(member)
             ? exchange->stageOf(member)
             : exchange->record(CallExchange::side(exchange->number), member) +
                   exchange->payloadBegin;
}

} // namespace bagua::runtime
