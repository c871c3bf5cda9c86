//===- Transport.h - Messages between members of a group ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A message is a range of memory that goes from one member of a group to
// another, into a range that the receiver has named before. A Network makes one
// Transport for each group.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_COMMUNICATION_TRANSPORT_TRANSPORT_H
#define BAGUA_LIB_RUNTIME_COMMUNICATION_TRANSPORT_TRANSPORT_H

#include "Communication/Transport/Tag.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace bagua::runtime {

/// One member's connections to others of its group. A message is received by
/// the tag under which it was sent. The messages of a stream from one member to
/// another are sent, received and awaited in the order of their sequence
/// numbers, and arrive in this order. A message that is sent waits until the
/// other side receives it. From a member's first wait for messages on, bytes
/// move within its waits alone, to and from all peers: a member that has sent
/// must wait, too.
class Transport {
public:
  virtual ~Transport() = default;

  /// Where a peer finds this member; at most some hundred bytes, of any kind.
  virtual std::string address(int peer) const = 0;
  /// Blocks until somebody has connected, who may be a stranger in the peer's
  /// place. Aborted where the peer turns this member away, for one it may have;
  /// Cancelled where it was interrupted before.
  virtual absl::Status connect(int peer, const std::string &address) = 0;
  /// For another connection to the peer: its address is another one, too.
  /// Before messages are sent to the peer, or received.
  virtual absl::Status renew(int peer) = 0;

  /// As many characters in all greetings.
  static constexpr size_t kGreetingBytes = 32;
  /// Shows the peer a text; waits for that of whoever is there. Once each for a
  /// connection, but that the wait goes on after it was interrupted. The first
  /// does not block; errors of the second are those of awaitReceived.
  virtual absl::Status greet(int peer, const std::string &text) = 0;
  virtual absl::StatusOr<std::string> awaitGreeting(int peer) = 0;

  // Errors of what follows have the peer in their place (ErrorPlace), as the
  // member that it is; Cancelled has none. The first two don't block: memory
  // stays as it is until the message is done. InvalidArgument where the tag is
  // not the next one of its stream.

  virtual absl::Status send(int peer, Tag tag, const void *data,
                            int64_t bytes) = 0;
  /// At most `bytes` come.
  virtual absl::Status receive(int peer, Tag tag, void *data,
                               int64_t bytes) = 0;

  /// Sends at once what peers have said that they receive, as far as that does
  /// not block. Waits do so first.
  virtual void flush() = 0;

  /// Until the message of this tag, which was received before, has come.
  /// Cancelled after interrupt(), and then it may be called again; Unavailable
  /// where the connection is lost; DataLoss where the peer has sent what is no
  /// message, or a message of a stream out of its order, which ends the
  /// connection, too; DeadlineExceeded where the peer's host has acknowledged
  /// nothing for longer than the network's patience, which does as well. One
  /// thread at a time.
  virtual absl::Status awaitReceived(int peer, Tag tag) = 0;
  /// Whether the message of this tag has come.
  virtual bool hasReceived(int peer, Tag tag) = 0;
  /// Until one more message that was sent is on its way; false once all are.
  /// Errors are those of awaitReceived.
  virtual absl::StatusOr<bool> awaitSent() = 0;

  /// Addresses of the ends of a connection, as far as they are known.
  struct Ends {
    std::string own;
    std::string peer;
  };
  virtual Ends ends(int /*peer*/) const { return {}; }

  /// Ends the wait in progress, or the next one; a connection that is being
  /// made does not come to be. From any thread.
  virtual void interrupt() = 0;

  /// From the thread that waits: messages that are not done never are, and no
  /// memory of theirs is touched from now on.
  virtual void close() = 0;
};

/// A process's way to the other members of groups.
class Network {
public:
  virtual ~Network() = default;

  /// For member `self` of `size`, not yet connected to `peers`. `secret` is the
  /// group's: who doesn't know it can't say anything that a member takes for a
  /// peer's. A connection comes to be within `limit`.
  virtual absl::StatusOr<std::unique_ptr<Transport>>
  open(int self, int size, absl::Span<const int> peers,
       const std::string &secret, std::chrono::nanoseconds limit) = 0;
};

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_COMMUNICATION_TRANSPORT_TRANSPORT_H
