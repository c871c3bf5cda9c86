//===- CatchingContext.h - Gloo's connections, whatever comes to them -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pairs of Gloo's that are derived from, as Gloo derives its own pairs for TLS.
// They mend these faults of Gloo:
//
// - A connection that is reset while it is accepted (a load balancer's probe
//   does that), or that sends what Gloo never sends, makes Gloo throw on its
//   own thread, which ends the process. Anybody can do that to an open port.
//   Here it ends that connection alone.
// - Gloo skips a message's head that it does not know, and takes the middle of
//   the next message for a head. Here such a head ends the connection.
// - Bytes that a stranger sent to the port of a member which then connects
//   elsewhere would be taken for the beginning of the peer's first message.
// - Gloo's sockets stay open in programs that this one starts, and with them
//   the connections.
// - A lost path would go unnoticed for a quarter of an hour.
//
// Gloo's thread makes connections, and Gloo defines the format of messages.
// From a member's first wait on, the thread that waits moves the bytes itself.
// On busy cores each hand-over between threads may take a scheduler's turn:
// two hand-overs for each message, on both sides, cost more than its bytes.
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

/// The received bytes are no message, one that nobody awaits, or not the next
/// one of their slot.
class NoMessage final : public gloo::IoException {
public:
  using gloo::IoException::IoException;
};

class CatchingPair final : public gloo::transport::tcp::Pair {
public:
  /// A connection counts its messages by their slots modulo this number, and
  /// each message has its number. Slots of streams come first, in their order.
  static constexpr uint64_t kSlots = 8;

  CatchingPair(gloo::transport::tcp::Context *context, RestingDevice *device,
               int rank, std::chrono::milliseconds timeout,
               std::chrono::milliseconds patience,
               std::shared_ptr<Poller> poller, RestingDevice::Watch watch);
  ~CatchingPair() override;

  void handleEvents(int events) override;
  void recv(gloo::transport::UnboundBuffer *buffer, uint64_t slot,
            size_t offset, size_t bytes) override;

  /// From now on the thread that waits at the poller moves this connection's
  /// bytes. A message to be sent is queued until that thread waits, or until
  /// flush().
  void drive();
  void advance();
  void flush();

  /// The messages of a slot that have arrived, those on their way, and whether
  /// no more will come. Until the connection is driven, the poller is woken for
  /// each message. It is always woken when the connection is over.
  int64_t received(uint64_t slot) const { return hasCome[slot % kSlots]; }
  int64_t sent(uint64_t slot) const { return hasGone[slot % kSlots]; }
  bool isOver() const { return isClosed; }

  /// The addresses of a connection that was established.
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
  /// The poller is woken once this many bytes have arrived.
  int leastBytes = 1;
  /// Held while Gloo's thread watches the connection.
  RestingDevice::Watch watch;
  std::array<std::atomic<int64_t>, kSlots> hasCome = {};
  std::array<std::atomic<int64_t>, kSlots> hasGone = {};
  std::atomic<bool> isClosed{false};
};

/// Creates such pairs.
class CatchingContext final : public gloo::transport::tcp::Context {
public:
  /// A connection ends if nothing is acknowledged for `patience`.
  CatchingContext(const std::shared_ptr<RestingDevice> &device, int rank,
                  int size, std::chrono::milliseconds patience)
      : Context(device, rank, size), poller(new Poller), restingDevice(*device),
        patience(patience) {}

  std::unique_ptr<gloo::transport::Pair> &createPair(int rank) override;

  /// Shared by all pairs.
  const std::shared_ptr<Poller> poller;

private:
  /// The context's device.
  RestingDevice &restingDevice;
  const std::chrono::milliseconds patience;
};

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_COMMUNICATION_GLOO_CATCHINGCONTEXT_H
