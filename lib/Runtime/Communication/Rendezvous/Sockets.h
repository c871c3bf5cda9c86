//===- Sockets.h - Connections between processes --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// TCP between hosts and names of the kernel's within one. Descriptors are
// closed by exec; nothing here waits beyond a deadline.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_COMMUNICATION_RENDEZVOUS_SOCKETS_H
#define BAGUA_LIB_RUNTIME_COMMUNICATION_RENDEZVOUS_SOCKETS_H

#include "Files/Descriptor.h"

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <chrono>
#include <string>

namespace bagua::runtime {

using Deadline = std::chrono::steady_clock::time_point;

/// A numeric address or a host's name, and a port, or several in a row of which
/// one is meant.
struct TcpAddress {
  std::string host;
  int port = 0;
  int ports = 1;
};

/// "10.0.0.1:29500", "[::1]:29500", "10.0.0.1:29500-29509".
std::string toString(const TcpAddress &address);
/// The inverse. InvalidArgument names what was found.
absl::StatusOr<TcpAddress> parseTcpAddress(const std::string &text);

/// Listens on that interface alone, at the first port that is free; port 0: at
/// any.
absl::StatusOr<Descriptor> listenOn(const TcpAddress &address);
/// Whether a numeric address is one that no other host reaches.
bool isLoopback(const std::string &host);
/// A name's first address, as a number. InvalidArgument where it has none.
absl::StatusOr<std::string> lookUp(const std::string &host);
/// A numeric address of the network interface of this name, or of this host's
/// address. InvalidArgument where there is none.
absl::StatusOr<std::string> addressOfInterface(const std::string &interface);
/// This side's address of a socket.
absl::StatusOr<TcpAddress> addressOf(int socket);
/// At its first port, and the first of a name's addresses that answers.
absl::StatusOr<Descriptor> connectTo(const TcpAddress &address,
                                     Deadline deadline);
/// Null where nobody has come. ResourceExhausted where there is no descriptor
/// for who has.
absl::StatusOr<Descriptor> acceptFrom(const Descriptor &listener);

/// Whether something can be read, or sent, before the deadline.
bool awaitReadable(int socket, Deadline deadline);

/// Gives a descriptor to `takers` processes of this user that ask for it under
/// a name which no other run has. DeadlineExceeded; Cancelled once `isOver`,
/// which is asked now and then.
absl::Status giveDescriptor(const std::string &name, int given, int takers,
                            Deadline deadline,
                            absl::FunctionRef<bool()> isOver);
absl::StatusOr<Descriptor> takeDescriptor(const std::string &name,
                                          Deadline deadline,
                                          absl::FunctionRef<bool()> isOver);

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_COMMUNICATION_RENDEZVOUS_SOCKETS_H
