//===- SocketsOfParent.cpp - Connections that forked processes don't keep -===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each process has one list, which is locked while it forks.
//
//===----------------------------------------------------------------------===//
#include "Communication/Control/SocketsOfParent.h"

#include <mutex>
#include <pthread.h>
#include <set>
#include <unistd.h>
#include <utility>

namespace bagua::runtime {
namespace {

struct List {
  std::mutex mutex;
  std::set<int> sockets;
};

/// Never destroyed: processes fork until they end.
List &list() {
  static List *const all = [] {
    pthread_atfork([] { list().mutex.lock(); }, [] { list().mutex.unlock(); },
                   [] {
                     for (int socket : list().sockets)
                       close(socket);
                     list().sockets.clear();
                     list().mutex.unlock();
                   });
    return new List;
  }();
  return *all;
}

/// From the start: what a thread has half made when another one forks stays so
/// in the child.
[[maybe_unused]] List &madeAtLoad = list();

} // namespace

SocketsOfParent::SocketsOfParent(std::vector<int> own)
    : sockets(std::move(own)) {
  std::lock_guard<std::mutex> lock(list().mutex);
  list().sockets.insert(sockets.begin(), sockets.end());
}

SocketsOfParent::~SocketsOfParent() {
  std::lock_guard<std::mutex> lock(list().mutex);
  for (int socket : sockets)
    list().sockets.erase(socket);
}

} // namespace bagua::runtime
