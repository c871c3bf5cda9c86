//===- RestingDevice.cpp - Gloo's thread, which sleeps when unused --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Communication/Gloo/RestingDevice.h"

#include <cerrno>
#include <cstdint>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <system_error>
#include <unistd.h>

namespace bagua::runtime {

RestingDevice::RestingDevice(const gloo::transport::tcp::attr &attributes)
    : Device(attributes), bell(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!bell)
    throw std::system_error(errno, std::generic_category());
  std::lock_guard<std::mutex> lock(mutex);
  ring();
  registerDescriptor(bell.number(), EPOLLIN, this);
}

/// Gloo joins its thread, which has left handleEvents() and does not come back.
/// Gloo's unregisterDescriptor() is not used: it waits for the thread's next
/// round.
RestingDevice::~RestingDevice() {
  std::unique_lock<std::mutex> lock(mutex);
  ++watchers;
  changed.notify_all();
  changed.wait(lock, [&] { return !isCalled; });
}

RestingDevice::Watch RestingDevice::watch() {
  std::lock_guard<std::mutex> lock(mutex);
  ++watchers;
  changed.notify_all();
  return {this, [](RestingDevice *device) { device->leave(); }};
}

void RestingDevice::leave() {
  std::lock_guard<std::mutex> lock(mutex);
  if (--watchers == 0)
    ring();
}

/// Called with the mutex held.
void RestingDevice::ring() {
  const uint64_t once = 1;
  [[maybe_unused]] ssize_t put = write(bell.number(), &once, sizeof once);
  isCalled = true;
}

/// On Gloo's thread. If it has found other events together with the bell's,
/// there are watchers, and it goes on to them.
void RestingDevice::handleEvents(int) {
  std::unique_lock<std::mutex> lock(mutex);
  changed.wait(lock, [&] { return watchers > 0; });
  uint64_t rings = 0;
  [[maybe_unused]] ssize_t got = read(bell.number(), &rings, sizeof rings);
  isCalled = false;
  changed.notify_all();
}

} // namespace bagua::runtime
