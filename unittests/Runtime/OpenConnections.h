//===- OpenConnections.h - Sockets behind what a test has connected -------===//
#ifndef BAGUA_UNITTESTS_RUNTIME_OPENCONNECTIONS_H
#define BAGUA_UNITTESTS_RUNTIME_OPENCONNECTIONS_H

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <iterator>
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

} // namespace bagua::runtime

#endif // BAGUA_UNITTESTS_RUNTIME_OPENCONNECTIONS_H
