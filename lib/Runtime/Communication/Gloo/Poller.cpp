//===- Poller.cpp - Waits for data on several connections -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Uses epoll with edge triggering: a registered connection needs no further
// call when it starts or stops having something to send.
//
//===----------------------------------------------------------------------===//
#include "Communication/Gloo/Poller.h"

#include <array>
#include <cerrno>
#include <cstdint>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <system_error>
#include <unistd.h>

namespace bagua::runtime {
namespace {

int checked(int result) {
  if (result < 0)
    throw std::system_error(errno, std::generic_category());
  return result;
}

} // namespace

Poller::Poller()
    : events(checked(epoll_create1(EPOLL_CLOEXEC))),
      bell(checked(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK))) {
  epoll_event event = {};
  event.events = EPOLLIN;
  checked(epoll_ctl(events.number(), EPOLL_CTL_ADD, bell.number(), &event));
}

void Poller::add(int connection, void *what) {
  epoll_event event = {};
  event.events = EPOLLIN | EPOLLOUT | EPOLLET;
  event.data.ptr = what;
  checked(epoll_ctl(events.number(), EPOLL_CTL_ADD, connection, &event));
}

void Poller::remove(int connection) {
  epoll_ctl(events.number(), EPOLL_CTL_DEL, connection, nullptr);
}

void Poller::wait(bool mayBlock, absl::FunctionRef<void(void *what)> tell) {
  std::array<epoll_event, 64> found;
  const int count = epoll_wait(events.number(), found.data(), found.size(),
                               mayBlock ? -1 : 0);
  for (int i = 0; i < count; ++i) {
    if (found[i].data.ptr) {
      tell(found[i].data.ptr);
      continue;
    }
    uint64_t rings = 0;
    [[maybe_unused]] ssize_t got = read(bell.number(), &rings, sizeof rings);
  }
}

void Poller::wake() {
  const uint64_t ring = 1;
  // The descriptor is full only if it has rung already.
  [[maybe_unused]] ssize_t put = write(bell.number(), &ring, sizeof ring);
}

} // namespace bagua::runtime
