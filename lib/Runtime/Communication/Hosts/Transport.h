//===- Transport.h - Bytes between processes of different hosts -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What HostCommunicator stands on: ranges of memory that go from one member of
// a group to another, each into a range that the other has said before. A
// Network makes one for each group.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_COMMUNICATION_HOSTS_TRANSPORT_H
#define BAGUA_LIB_RUNTIME_COMMUNICATION_HOSTS_TRANSPORT_H

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace bagua::runtime {

/// One member's connections to others of its group. Between two members the
/// messages of a channel arrive in order, in the order in which they are sent
/// and received; what is sent waits until the other side receives. From a
/// member's first wait for messages on, bytes move within its waits alone, to
/// and from all peers: who has sent must wait, too.
class Transport {
public:
  enum class Channel : uint8_t { Calls, Contributions, Results, Blocks };
  static constexpr int kChannels = 4;

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

  // These don't block. Memory stays as it is until the message is done. Errors
  // have the peer in their place (ErrorPlace), as the member that it is.

  virtual absl::Status send(int peer, Channel channel, const void *data,
                            int64_t bytes) = 0;
  /// At most `bytes` come.
  virtual absl::Status receive(int peer, Channel channel, void *data,
                               int64_t bytes) = 0;

  /// Sends at once what peers have said that they receive, as far as that does
  /// not block. Waits do so first.
  virtual void flush() = 0;

  /// Until one more message of a channel has come. Cancelled after interrupt(),
  /// and then it may be called again; Unavailable where the connection is lost,
  /// DataLoss where the peer has sent what is no message, which ends it, too;
  /// DeadlineExceeded where the peer's host has acknowledged nothing for longer
  /// than the network's patience, which does as well. One thread at a time.
  virtual absl::Status awaitReceived(int peer, Channel channel) = 0;
  /// Whether one more message of a channel has come.
  virtual bool hasReceived(int peer, Channel channel) = 0;
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

/// A process's way to other hosts.
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

/// TCP, by Gloo, at a numeric address of this host's. A connection is lost when
/// nothing of what was sent on it was acknowledged for `patience`, and when the
/// other host does not answer for as long: large packets may be lost where
/// small ones are not. Unavailable where the address can't be used;
/// Unimplemented where the library was built without Gloo.
absl::StatusOr<std::unique_ptr<Network>>
createGlooNetwork(const std::string &address,
                  std::chrono::nanoseconds patience);

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_COMMUNICATION_HOSTS_TRANSPORT_H
