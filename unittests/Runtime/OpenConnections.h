//===- OpenConnections.h - Sockets behind what a test has connected -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Found among this process's descriptors, and waited for until what a test says
// has got somewhere.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_UNITTESTS_RUNTIME_OPENCONNECTIONS_H
#define BAGUA_UNITTESTS_RUNTIME_OPENCONNECTIONS_H

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <thread>
#include <vector>

namespace bagua::runtime {

/// Ends of connections over TCP that this process has, in ascending order.
inline std::vector<int> openConnections() {
  std::vector<int> found;
  for (int descriptor = 0; descriptor < 1024; ++descriptor) {
    sockaddr_in peer = {};
    socklen_t size = sizeof peer;
    if (getpeername(descriptor, reinterpret_cast<sockaddr *>(&peer), &size) ==
            0 &&
        peer.sin_family == AF_INET)
      found.push_back(descriptor);
  }
  return found;
}

/// Those that were not among these: others may be what earlier tests left.
inline std::vector<int> connectionsSince(const std::vector<int> &before) {
  const std::vector<int> now = openConnections();
  std::vector<int> found;
  std::set_difference(now.begin(), now.end(), before.begin(), before.end(),
                      std::back_inserter(found));
  return found;
}

/// Until there are so many of them.
inline std::vector<int> awaitConnectionsSince(const std::vector<int> &before,
                                              size_t count) {
  std::vector<int> found = connectionsSince(before);
  for (; found.size() < count; found = connectionsSince(before))
    std::this_thread::yield();
  return found;
}

/// Until one of these ends has received so many bytes.
inline void awaitBytes(const std::vector<int> &ends, uint64_t count) {
  auto hasReceived = [&](int end) {
    tcp_info info = {};
    socklen_t size = sizeof info;
    return getsockopt(end, IPPROTO_TCP, TCP_INFO, &info, &size) != 0 ||
           info.tcpi_bytes_received >= count;
  };
  while (std::none_of(ends.begin(), ends.end(), hasReceived))
    std::this_thread::yield();
}

/// Until all that has come to these ends was read.
inline void awaitReading(const std::vector<int> &ends) {
  auto isRead = [](int end) {
    int unread = 0;
    return ioctl(end, FIONREAD, &unread) != 0 || unread == 0;
  };
  while (!std::all_of(ends.begin(), ends.end(), isRead))
    std::this_thread::yield();
}

} // namespace bagua::runtime

#endif // BAGUA_UNITTESTS_RUNTIME_OPENCONNECTIONS_H
