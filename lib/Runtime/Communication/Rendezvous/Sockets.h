//===- Sockets.h - Connections between processes --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// TCP between hosts, and names in the kernel's name space within a host.
// Descriptors are closed by exec. No function waits beyond its deadline.
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

/// A numeric address or a host's name, and a port or a range of ports of which
/// one is used.
struct TcpAddress {
  std::string host;
  int port = 0;
  int ports = 1;
};

/// "10.0.0.1:29500", "[::1]:29500", "10.0.0.1:29500-29509".
std::string toString(const TcpAddress &address);
/// The inverse. InvalidArgument names what was found.
absl::StatusOr<TcpAddress> parseTcpAddress(const std::string &text);

/// Listens on that interface alone, at the first free port; port 0 stands for
/// any free port.
absl::StatusOr<Descriptor> listenOn(const TcpAddress &address);
/// Whether other hosts can't reach a numeric address.
bool isLoopback(const std::string &host);
/// The first address of a name, in numbers. InvalidArgument if it has none.
absl::StatusOr<std::string> lookUp(const std::string &host);
/// A numeric address of the network interface of this name, or of the interface
/// with this address. InvalidArgument if there is none.
absl::StatusOr<std::string> addressOfInterface(const std::string &interface);
/// This side's address of a socket.
absl::StatusOr<TcpAddress> addressOf(int socket);
/// Connects to the first port, at the first of a name's addresses that answers.
absl::StatusOr<Descriptor> connectTo(const TcpAddress &address,
                                     Deadline deadline);
/// Null if nobody has come. ResourceExhausted if there is no descriptor for a
/// connection that has.
absl::StatusOr<Descriptor> acceptFrom(const Descriptor &listener);

/// Whether data can be read, or sent, before the deadline.
bool awaitReadable(int socket, Deadline deadline);

/// Gives a descriptor to `takers` processes of this user that ask for it under
/// a name that no other run uses. DeadlineExceeded; Cancelled once `isOver`,
/// which is called now and then.
absl::Status giveDescriptor(const std::string &name, int given, int takers,
                            Deadline deadline,
                            absl::FunctionRef<bool()> isOver);
absl::StatusOr<Descriptor> takeDescriptor(const std::string &name,
                                          Deadline deadline,
                                          absl::FunctionRef<bool()> isOver);

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_COMMUNICATION_RENDEZVOUS_SOCKETS_H
