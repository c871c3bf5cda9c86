//===- CallExchange.cpp - Calls of members on other hosts -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A record is a header, the call with its lists, and a small input. Of two
// sides one belongs to the call in progress and the other to the next one.
//
//===----------------------------------------------------------------------===//
#include "Communication/Hosts/CallExchange.h"

#include "Communication/Memory/GroupMemory.h"

#include "absl/strings/str_cat.h"

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

CallExchange::CallExchange(const HostGroup &ownGroup, std::vector<int> others)
    : peers(std::move(others)), group(ownGroup) {
  const auto size = static_cast<int>(group.members.size());
  payloadBegin = sizeof(Header) + CallTable::bytesFor(1, size);
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
  for (int peer : peers) {
    std::byte *place = record(side(call), peer);
    // What was there before must not be taken for what comes.
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
  for (int peer : peers)
    status.Update(group.transport->send(peer, tag(), ownRecord(side(number)),
                                        static_cast<int64_t>(bytes)));
  return status;
}

absl::Status CallExchange::send(int64_t payloadBytes) {
  // First what the next call needs: peers may be there before this member.
  if (absl::Status status = post(number + 1); !status.ok())
    return status;
  setHeader(/*isGoodbye=*/false);
  return sendRecord(payloadBegin + static_cast<size_t>(payloadBytes));
}

absl::Status CallExchange::send(
    absl::FunctionRef<absl::Span<const std::byte>(int)> payloadFor) {
  if (absl::Status status = post(number + 1); !status.ok())
    return status;
  setHeader(/*isGoodbye=*/false);
  absl::Status status;
  for (int peer : peers) {
    std::byte *place = recordFor(side(number), peer);
    const absl::Span<const std::byte> payload = payloadFor(peer);
    std::memcpy(place, ownRecord(side(number)), payloadBegin);
    if (!payload.empty())
      std::memcpy(place + payloadBegin, payload.data(), payload.size());
    status.Update(group.transport->send(
        peer, tag(), place,
        static_cast<int64_t>(payloadBegin + payload.size())));
  }
  return status;
}

absl::Status CallExchange::sendGoodbye() {
  ++number;
  setHeader(/*isGoodbye=*/true);
  return sendRecord(sizeof(Header));
}

absl::Status CallExchange::receive(PeerWaits &waits) {
  const auto size = static_cast<int>(group.members.size());
  const size_t callBytes = CallTable::bytesFor(1, size);
  for (size_t i = 0; i < peers.size(); ++i) {
    const int peer = peers[i];
    absl::Status status =
        waits.await(peer, tag(), absl::MakeConstSpan(peers).subspan(i + 1));
    if (!status.ok())
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
      return waits.refuse(peer, "a message that is none");
    std::memcpy(static_cast<void *>(&table[peer]), call, callBytes);
  }
  std::memcpy(static_cast<void *>(&table[group.self]), &own(), callBytes);
  return absl::OkStatus();
}

} // namespace bagua::runtime
