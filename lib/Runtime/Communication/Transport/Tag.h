//===- Tag.h - What names a message between two members -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A member sends another one messages of several streams, each of which numbers
// its own. Both ends count them alike, so a message that is lost, repeated or
// out of order is found where it arrives.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_COMMUNICATION_TRANSPORT_TAG_H
#define BAGUA_LIB_RUNTIME_COMMUNICATION_TRANSPORT_TAG_H

#include "bagua/Runtime/ErrorPlace.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace bagua::runtime {

enum class MessageStream : uint8_t { Calls, Contributions, Results, Blocks };
inline constexpr int kStreams = 4;

/// As in messages: calls, contributions, ...
inline absl::string_view streamName(MessageStream stream) {
  constexpr absl::string_view kNames[kStreams] = {"calls", "contributions",
                                                  "results", "blocks"};
  return kNames[static_cast<size_t>(stream)];
}

/// Names one message from one member to another.
struct Tag {
  MessageStream stream = MessageStream::Calls;
  /// From 0, in the order in which a stream's messages are sent.
  int64_t sequence = 0;
};

/// "message 5 of contributions, expected message 4"
inline std::string describeWrongSequence(absl::string_view stream,
                                         int64_t found, int64_t expected) {
  return absl::StrCat("message ", found, " of ", stream, ", expected message ",
                      expected);
}

/// InvalidArgument, with the peer in its place, where a tag is not the next one
/// of its stream.
inline absl::Status checkNext(int peer, Tag tag, int64_t expected) {
  if (tag.sequence == expected)
    return absl::OkStatus();
  return withPlace(absl::InvalidArgumentError(describeWrongSequence(
                       streamName(tag.stream), tag.sequence, expected)),
                   {peer});
}

/// Counts the messages of one stream between a member and each of its peers.
class StreamTags {
public:
  StreamTags(MessageStream ownStream, int members)
      : stream(ownStream), counts(static_cast<size_t>(members)) {}

  /// For Transport::send.
  Tag nextSent(int peer) { return {stream, countsOf(peer).sent++}; }
  /// For Transport::receive.
  Tag nextReceived(int peer) { return {stream, countsOf(peer).received++}; }
  /// For Transport::awaitReceived.
  Tag nextAwaited(int peer) { return {stream, countsOf(peer).awaited++}; }

private:
  struct Counts {
    int64_t sent = 0;
    int64_t received = 0;
    int64_t awaited = 0;
  };
  Counts &countsOf(int peer) { return counts[static_cast<size_t>(peer)]; }

  MessageStream stream;
  /// By member.
  std::vector<Counts> counts;
};

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_COMMUNICATION_TRANSPORT_TAG_H
