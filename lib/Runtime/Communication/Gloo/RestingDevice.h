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
  /// Throws where the address can't be used, or there is no descriptor left.
  explicit RestingDevice(const gloo::transport::tcp::attr &attributes);
  ~RestingDevice() override;

  /// Gloo's thread is awake while a Watch exists. Its holder may have
  /// descriptors registered only so long. Ends before the device does.
  using Watch = std::shared_ptr<void>;
  Watch watch();

private:
  void handleEvents(int events) override;
  void leave();
  void ring();

  /// Makes the thread come to handleEvents().
  const Descriptor bell;
  std::mutex mutex;
  std::condition_variable changed;
  int watchers = 0;
  /// Whether it comes, or is there.
  bool isCalled = false;
};

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_COMMUNICATION_GLOO_RESTINGDEVICE_H
