//===- CatchingContext.h - Gloo's connections, whatever comes to them -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gloo throws where a connection is reset just when it comes to be, or says
// what no connection of Gloo's says: on a thread of its own, which ends the
// process. Anybody can do that to a port that listens. Here it ends the
// connection, as does a message that Gloo would pass over, and with it all that
// come behind. And what a stranger has begun to say at the port of who then
// connects elsewhere would be the beginning of what the peer says. Its sockets
// would stay open in programs that this one starts, and connections with them.
// And a path that is gone would be noticed by nobody for a quarter of an hour.
//
// Gloo's thread makes connections. Then the thread that waits for messages
// moves their bytes itself: where cores are busy each hand-over to another
// thread may take a scheduler's turn, and for each message there would be
// several.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_COMMUNICATION_GLOO_CATCHINGCONTEXT_H
#define BAGUA_LIB_RUNTIME_COMMUNICATION_GLOO_CATCHINGCONTEXT_H

#include "Communication/Gloo/Poller.h"
#include "Communication/Gloo/RestingDevice.h"

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"

#include <gloo/common/error.h>
#include <gloo/transport/tcp/context.h>
#include <gloo/transport/tcp/pair.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <string>

namespace bagua::runtime {

/// What has come is no message, none that anybody awaits, or not the next one
/// of its slot.
class NoMessage final : public gloo::IoException {
public:
  using gloo::IoException::IoException;
};

class CatchingPair final : public gloo::transport::tcp::Pair {
public:
  /// A connection counts its messages by their slots modulo this, and each
  /// message has its number. Slots of streams come first, in their order.
  static constexpr uint64_t kSlots = 8;

  CatchingPair(gloo::transport::tcp::Context *context, RestingDevice *device,
               int rank, std::chrono::milliseconds timeout,
               std::chrono::milliseconds patience,
               std::shared_ptr<Poller> poller, RestingDevice::Watch watch);
  ~CatchingPair() override;

  void handleEvents(int events) override;
  void recv(gloo::transport::UnboundBuffer *buffer, uint64_t slot,
            size_t offset, size_t bytes) override;

  /// From now on who waits at the poller moves this connection's bytes: what is
  /// sent is put down until then, or until flush().
  void drive();
  void advance();
  void flush();

  /// Messages of a slot that are here, and on their way; and whether there will
  /// be no more. Until the connection is driven the poller is woken when one
  /// comes; always when it is over.
  int64_t received(uint64_t slot) const { return hasCome[slot % kSlots]; }
  int64_t sent(uint64_t slot) const { return hasGone[slot % kSlots]; }
  bool isOver() const { return isClosed; }

  /// Of a connection that has come to be.
  const std::string &ownHost() const { return own; }
  const std::string &peerHost() const { return theirs; }

protected:
  void changeState(state nextState) noexcept override;
  bool read() override;
  bool write(gloo::transport::tcp::Op &op) override;
  void waitUntilConnected(std::unique_lock<std::mutex> &lock,
                          bool useTimeout) override;

private:
  void accept();
  bool isNext();
  void end(const std::exception_ptr &why);
  void attempt(absl::FunctionRef<void()> work);
  size_t transmit(absl::Span<gloo::transport::tcp::Op *const> ops);
  void transmitAll();
  void awaitRest();

  const std::chrono::milliseconds patience;
  const std::shared_ptr<Poller> poller;
  std::string own;
  std::string theirs;
  bool isDriven = false;
  /// The poller is told once so many are here.
  int leastBytes = 1;
  /// While Gloo's thread is told of events.
  RestingDevice::Watch watch;
  std::array<std::atomic<int64_t>, kSlots> hasCome = {};
  std::array<std::atomic<int64_t>, kSlots> hasGone = {};
  std::atomic<bool> isClosed{false};
};

/// Makes such pairs.
class CatchingContext final : public gloo::transport::tcp::Context {
public:
  /// Connections end when nothing is acknowledged for `patience`.
  CatchingContext(const std::shared_ptr<RestingDevice> &device, int rank,
                  int size, std::chrono::milliseconds patience)
      : Context(device, rank, size), poller(new Poller), restingDevice(*device),
        patience(patience) {}

  std::unique_ptr<gloo::transport::Pair> &createPair(int rank) override;

  /// All pairs share it.
  const std::shared_ptr<Poller> poller;

private:
  /// The context's.
  RestingDevice &restingDevice;
  const std::chrono::milliseconds patience;
};

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_COMMUNICATION_GLOO_CATCHINGCONTEXT_H
