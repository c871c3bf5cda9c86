//===- SocketsOfParent.h - Connections that forked processes don't keep ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A connection ends when the last process closes it. A forked process, such as
// a worker that loads data, would keep it open when its parent is killed, and
// others would not hear of that.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_COMMUNICATION_CONTROL_SOCKETSOFPARENT_H
#define BAGUA_LIB_RUNTIME_COMMUNICATION_CONTROL_SOCKETSOFPARENT_H

#include <vector>

namespace bagua::runtime {

/// While this object lives, the sockets are closed in processes that are
/// forked.
class SocketsOfParent {
public:
  explicit SocketsOfParent(std::vector<int> sockets);
  ~SocketsOfParent();
  SocketsOfParent(const SocketsOfParent &) = delete;
  SocketsOfParent &operator=(const SocketsOfParent &) = delete;

private:
  const std::vector<int> sockets;
};

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_COMMUNICATION_CONTROL_SOCKETSOFPARENT_H
