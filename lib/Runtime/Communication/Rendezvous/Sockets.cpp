//===- Sockets.cpp - Connections between processes ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Uses getaddrinfo for both versions of IP, and SCM_RIGHTS for descriptors.
//
//===----------------------------------------------------------------------===//
#include "Communication/Rendezvous/Sockets.h"

#include "Files/HostLimits.h"

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <ifaddrs.h>
#include <memory>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <thread>
#include <vector>

namespace bagua::runtime {
namespace {

using Clock = std::chrono::steady_clock;

/// The time between attempts to reach a process that is not there yet.
constexpr std::chrono::milliseconds kRetry(5);
/// The time between questions whether a wait is over.
constexpr std::chrono::milliseconds kLook(200);

/// ResourceExhausted if no descriptors are left; else Unavailable.
absl::Status failureBy(int error, absl::string_view what) {
  return absl::Status(isOutOfDescriptors(error)
                          ? absl::StatusCode::kResourceExhausted
                          : absl::StatusCode::kUnavailable,
                      absl::StrCat(what, ": ", describeError(error)));
}

absl::Status failure(absl::string_view what) { return failureBy(errno, what); }

using AddressList = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

absl::StatusOr<AddressList> resolve(const TcpAddress &address, int flags) {
  addrinfo hints = {};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo *found = nullptr;
  int error = getaddrinfo(address.host.c_str(),
                          absl::StrCat(address.port).c_str(), &hints, &found);
  if (error == EAI_SYSTEM)
    return failure(absl::StrCat("can't look up '", address.host, "'"));
  if (error != 0)
    return absl::InvalidArgumentError(absl::StrCat(
        "'", address.host, "' is no address: ", gai_strerror(error)));
  return AddressList(found, freeaddrinfo);
}

int lengthOf(const addrinfo *list) {
  int length = 0;
  for (; list; list = list->ai_next)
    ++length;
  return length;
}

Descriptor socketFor(const addrinfo &info) {
  return Descriptor(socket(info.ai_family,
                           info.ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK,
                           info.ai_protocol));
}

bool await(int socket, short events, Deadline deadline) {
  while (true) {
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - Clock::now());
    pollfd entry = {socket, events, 0};
    int timeout = static_cast<int>(std::clamp<int64_t>(left.count(), 0, 1000));
    if (poll(&entry, 1, timeout) > 0)
      return true;
    if (left.count() <= 0)
      return false;
  }
}

/// Returns 0, or the error.
int connectSocket(int socket, const addrinfo &info, Deadline deadline) {
  if (connect(socket, info.ai_addr, info.ai_addrlen) == 0)
    return 0;
  if (errno != EINPROGRESS)
    return errno;
  int error = ETIMEDOUT;
  socklen_t size = sizeof error;
  if (await(socket, POLLOUT, deadline))
    getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size);
  return error;
}

/// Sets a name in the abstract name space of this network namespace.
socklen_t setName(sockaddr_un &address, const std::string &name) {
  address.sun_family = AF_UNIX;
  size_t length = std::min(name.size(), sizeof(address.sun_path) - 1);
  std::memcpy(address.sun_path + 1, name.data(), length);
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
}

bool isOwnUser(const Descriptor &socket) {
  ucred peer = {};
  socklen_t size = sizeof peer;
  return getsockopt(socket.number(), SOL_SOCKET, SO_PEERCRED, &peer, &size) ==
             0 &&
         peer.uid == geteuid();
}

/// A message of one byte with room for a descriptor.
struct DescriptorMessage {
  DescriptorMessage() {
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
  }
  char byte = 0;
  iovec piece = {&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message = {};
};

absl::StatusOr<TcpAddress> print(const sockaddr *address, socklen_t size) {
  char host[NI_MAXHOST], port[NI_MAXSERV];
  if (getnameinfo(address, size, host, sizeof host, port, sizeof port,
                  NI_NUMERICHOST | NI_NUMERICSERV) != 0)
    return failure("can't tell an address");
  TcpAddress result;
  result.host = host;
  if (!absl::SimpleAtoi(port, &result.port))
    return absl::InternalError(absl::StrCat("'", port, "' is no port"));
  return result;
}

} // namespace

//===----------------------------------------------------------------------===//
// TCP
//===----------------------------------------------------------------------===//

std::string toString(const TcpAddress &address) {
  bool isBracketed = address.host.find(':') != std::string::npos;
  return absl::StrCat(isBracketed ? "[" : "", address.host,
                      isBracketed ? "]:" : ":", address.port,
                      address.ports > 1
                          ? absl::StrCat("-", address.port + address.ports - 1)
                          : "");
}

absl::StatusOr<TcpAddress> parseTcpAddress(const std::string &text) {
  TcpAddress result;
  const size_t colon = text.rfind(':');
  bool isGood = colon != std::string::npos && colon > 0;
  if (isGood) {
    const std::vector<std::string> ends =
        absl::StrSplit(text.substr(colon + 1), '-');
    int last = 0;
    isGood = ends.size() <= 2 && absl::SimpleAtoi(ends[0], &result.port) &&
             absl::SimpleAtoi(ends.back(), &last) && result.port >= 0 &&
             last >= result.port && last <= 65535;
    result.ports = last - result.port + 1;
  }
  if (!isGood)
    return absl::InvalidArgumentError(
        absl::StrCat("expected an address and a port, such as 10.0.0.1:29500, "
                     "10.0.0.1:29500-29509 or [::1]:29500, found '",
                     text, "'"));
  result.host = text.substr(0, colon);
  if (result.host.size() > 1 && result.host.front() == '[' &&
      result.host.back() == ']')
    result.host = result.host.substr(1, result.host.size() - 2);
  return result;
}

absl::StatusOr<Descriptor> listenOn(const TcpAddress &address) {
  absl::Status status;
  TcpAddress at = {address.host, address.port};
  for (; at.port < address.port + address.ports; ++at.port) {
    auto list = resolve(at, AI_PASSIVE);
    if (!list.ok())
      return list.status();
    Descriptor listener = socketFor(**list);
    int yes = 1;
    if (listener &&
        setsockopt(listener.number(), SOL_SOCKET, SO_REUSEADDR, &yes,
                   sizeof yes) == 0 &&
        bind(listener.number(), (*list)->ai_addr, (*list)->ai_addrlen) == 0 &&
        listen(listener.number(), SOMAXCONN) == 0)
      return listener;
    status = failure(absl::StrCat("can't listen on ", toString(address)));
    if (errno != EADDRINUSE)
      break;
  }
  return status;
}

bool isLoopback(const std::string &host) {
  return absl::StartsWith(host, "127.") || host == "::1";
}

absl::StatusOr<std::string> lookUp(const std::string &host) {
  auto list = resolve({host, 0}, 0);
  if (!list.ok())
    return list.status();
  auto first = print((*list)->ai_addr, (*list)->ai_addrlen);
  if (!first.ok())
    return first.status();
  return first->host;
}

absl::StatusOr<TcpAddress> addressOf(int socket) {
  sockaddr_storage storage = {};
  socklen_t size = sizeof storage;
  auto *address = reinterpret_cast<sockaddr *>(&storage);
  if (getsockname(socket, address, &size) != 0)
    return failure("can't tell the address of a socket");
  return print(address, size);
}

absl::StatusOr<std::string> addressOfInterface(const std::string &interface) {
  ifaddrs *first = nullptr;
  if (getifaddrs(&first) != 0)
    return failure("can't list network interfaces");
  std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> list(first, freeifaddrs);
  for (ifaddrs *entry = first; entry; entry = entry->ifa_next) {
    int family = entry->ifa_addr ? entry->ifa_addr->sa_family : AF_UNSPEC;
    if (family != AF_INET && family != AF_INET6)
      continue;
    auto address =
        print(entry->ifa_addr,
              family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
    if (address.ok() &&
        (interface == entry->ifa_name || interface == address->host))
      return address->host;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("expected the name or an address of a network interface of "
                   "this host, found '",
                   interface, "'"));
}

absl::StatusOr<Descriptor> connectTo(const TcpAddress &address,
                                     Deadline deadline) {
  auto list = resolve(address, 0);
  if (!list.ok())
    return list.status();
  int left = lengthOf(list->get());
  for (const addrinfo *info = list->get(); info; info = info->ai_next, --left) {
    Descriptor result = socketFor(*info);
    // Each address gets its share of the time.
    const Deadline own = Clock::now() + (deadline - Clock::now()) / left;
    errno = result ? connectSocket(result.number(), *info, own) : errno;
    if (errno != 0)
      continue;
    // Messages are few and short, and each is waited for.
    int yes = 1;
    setsockopt(result.number(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    return result;
  }
  return failure(absl::StrCat("can't reach ", toString(address)));
}

absl::StatusOr<Descriptor> acceptFrom(const Descriptor &listener) {
  Descriptor result(accept4(listener.number(), nullptr, nullptr,
                            SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!result && isOutOfDescriptors(errno))
    return failure("can't accept a connection");
  if (!result && (errno == ENOBUFS || errno == ENOMEM))
    return absl::ResourceExhaustedError(
        absl::StrCat("can't accept a connection: ", std::strerror(errno)));
  int yes = 1;
  if (result)
    setsockopt(result.number(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  return result;
}

bool awaitReadable(int socket, Deadline deadline) {
  return await(socket, POLLIN, deadline);
}

//===----------------------------------------------------------------------===//
// Descriptors
//===----------------------------------------------------------------------===//

absl::Status giveDescriptor(const std::string &name, int given, int takers,
                            Deadline deadline,
                            absl::FunctionRef<bool()> isOver) {
  Descriptor listener(
      socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_un address = {};
  socklen_t size = setName(address, name);
  if (!listener ||
      bind(listener.number(), reinterpret_cast<sockaddr *>(&address), size) !=
          0 ||
      listen(listener.number(), SOMAXCONN) != 0)
    return failure("can't listen for the host's ranks");
  for (int left = takers; left > 0;) {
    if (isOver())
      return absl::CancelledError("the host's ranks share no memory");
    bool hasCome = awaitReadable(listener.number(),
                                 std::min(deadline, Clock::now() + kLook));
    if (Clock::now() >= deadline)
      return absl::DeadlineExceededError(
          absl::StrCat(left, " of the host's ranks did not fetch its shared "
                             "memory in time"));
    if (!hasCome)
      continue;
    auto accepted = acceptFrom(listener);
    if (!accepted.ok())
      return accepted.status();
    const Descriptor taker = *std::move(accepted);
    if (!taker || !isOwnUser(taker))
      continue;
    DescriptorMessage box;
    cmsghdr *header = CMSG_FIRSTHDR(&box.message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &given, sizeof given);
    if (sendmsg(taker.number(), &box.message, MSG_NOSIGNAL) == 1)
      --left;
  }
  return absl::OkStatus();
}

absl::StatusOr<Descriptor> takeDescriptor(const std::string &name,
                                          Deadline deadline,
                                          absl::FunctionRef<bool()> isOver) {
  sockaddr_un address = {};
  socklen_t size = setName(address, name);
  while (Clock::now() < deadline) {
    if (isOver())
      return absl::CancelledError("the host's ranks share no memory");
    // The queue of a giver that accepts nobody fills up; it then refuses
    // connections.
    Descriptor giver(
        socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!giver)
      return failure("can't make a socket");
    if (connect(giver.number(), reinterpret_cast<sockaddr *>(&address), size) !=
            0 ||
        !isOwnUser(giver)) {
      std::this_thread::sleep_for(kRetry);
      continue;
    }
    // The giver may be slow; it gives one descriptor to each connection.
    while (!awaitReadable(giver.number(),
                          std::min(deadline, Clock::now() + kLook)) &&
           Clock::now() < deadline && !isOver()) {
    }
    DescriptorMessage box;
    if (recvmsg(giver.number(), &box.message,
                MSG_CMSG_CLOEXEC | MSG_DONTWAIT) != 1)
      continue;
    // A descriptor that this process has no room for is left out of the
    // message.
    if (box.message.msg_flags & MSG_CTRUNC)
      return failureBy(EMFILE, "can't receive the host's shared memory");
    cmsghdr *header = CMSG_FIRSTHDR(&box.message);
    if (!header || header->cmsg_type != SCM_RIGHTS)
      continue;
    int number = -1;
    std::memcpy(&number, CMSG_DATA(header), sizeof number);
    return Descriptor(number);
  }
  return absl::DeadlineExceededError(
      "the host's first rank gives no shared memory");
}

} // namespace bagua::runtime
