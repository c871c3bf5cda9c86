//===- ControlChannel.h - Messages over a connected socket ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sends and receives control messages without ever blocking, for loops that
// poll many sockets. Incoming data is bounded and verified, whoever sends it.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_COMMUNICATION_CONTROL_CONTROLCHANNEL_H
#define BAGUA_LIB_RUNTIME_COMMUNICATION_CONTROL_CONTROLCHANNEL_H

#include "Communication/Control/ControlMessageGenerated.h"
#include "Files/Descriptor.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace bagua::runtime {

using ControlMessage = fb::ControlMessageT;

class ControlChannel {
public:
  /// The most bytes of a message. A longer message is garbage.
  static constexpr size_t kMaxBytes = size_t{1} << 20;

  ControlChannel() = default;
  /// Takes a connected socket and makes it non-blocking.
  explicit ControlChannel(Descriptor connected);

  int socket() const { return descriptor.number(); }

  /// Appends a message to the data to be sent.
  void queue(const ControlMessage &message);
  bool hasUnsent() const { return unsentBytes() > 0; }
  size_t unsentBytes() const { return outgoing.size() - sent; }
  /// Sends what fits into the socket. Unavailable if the other side is gone.
  absl::Status flush();

  /// Reads what has arrived. Unavailable if the other side is gone.
  absl::Status fill();
  /// Whether there is data that next() has not returned.
  bool hasUnread() const { return !incoming.empty(); }
  /// The next whole message, if there is one. InvalidArgument for data that is
  /// no message.
  absl::StatusOr<std::optional<ControlMessage>> next();

private:
  Descriptor descriptor;
  std::string incoming;
  std::string outgoing;
  /// How much of `outgoing` is sent.
  size_t sent = 0;
};

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_COMMUNICATION_CONTROL_CONTROLCHANNEL_H
