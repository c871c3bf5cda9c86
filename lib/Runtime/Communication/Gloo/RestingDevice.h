//===- RestingDevice.h - Gloo's thread, which sleeps when unused ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gloo's thread wakes a hundred times a second, even with nothing to watch.
// Here it sleeps in a handler of its own while it has no connection to watch.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_COMMUNICATION_GLOO_RESTINGDEVICE_H
#define BAGUA_LIB_RUNTIME_COMMUNICATION_GLOO_RESTINGDEVICE_H

#include "Files/Descriptor.h"

#include <gloo/transport/tcp/device.h>

#include <condition_variable>
#include <memory>
#include <mutex>

namespace bagua::runtime {

class RestingDevice final : public gloo::transport::tcp::Device,
                            private gloo::transport::tcp::Handler {
public:
  /// Throws if the address can't be used, or if no descriptor is left.
  explicit RestingDevice(const gloo::transport::tcp::attr &attributes);
  ~RestingDevice() override;

  /// Gloo's thread is awake while a Watch exists. Only then may its holder have
  /// descriptors registered. The Watch ends before the device does.
  using Watch = std::shared_ptr<void>;
  Watch watch();

private:
  void handleEvents(int events) override;
  void leave();
  void ring();

  /// Makes the thread enter handleEvents().
  const Descriptor bell;
  std::mutex mutex;
  std::condition_variable changed;
  int watchers = 0;
  /// Whether the thread is in handleEvents(), or is on its way there.
  bool isCalled = false;
};

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_COMMUNICATION_GLOO_RESTINGDEVICE_H
