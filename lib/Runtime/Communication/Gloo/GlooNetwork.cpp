//===- GlooNetwork.cpp - Bytes between hosts, by Gloo ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gloo's unbound buffers are ranges of memory with counts of the messages that
// were received and sent. Here each buffer spans all memory, so that one buffer
// serves a stream for good, and a message is an address in it. Gloo drops what
// is left of a buffer's messages when the buffer is destroyed, so a call that
// has ended touches no memory any more.
//
// Gloo reports errors by exceptions. It reports a lost connection only to
// buffers with messages that have not begun. So each buffer also awaits a
// message that never comes. A buffer is asked only for what has arrived, or is
// lost: all waiting is done at the poller.
//
//===----------------------------------------------------------------------===//
#include "Communication/Gloo/GlooNetwork.h"

#include "Communication/DurationToString.h"
#include "Communication/Gloo/CatchingContext.h"
#include "Communication/Secret.h"

#include "bagua/Runtime/ErrorPlace.h"
#include "bagua/Support/Fingerprint.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include <gloo/transport/context.h>
#include <gloo/transport/unbound_buffer.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <exception>
#include <limits>
#include <mutex>
#include <utility>
#include <vector>

namespace bagua::runtime {
namespace {

using gloo::transport::UnboundBuffer;

/// A timeout of Gloo's closes every connection of a group. So waits have none,
/// and an alarm or an abort interrupts them.
constexpr std::chrono::hours kNever(1000);

/// Runs `work`; returns what it throws as a status.
template <typename Work>
absl::Status attempt(absl::string_view what, Work work) {
  try {
    work();
    return absl::OkStatus();
  } catch (const NoMessage &error) {
    return absl::DataLossError(error.what());
  } catch (const std::exception &error) {
    return absl::UnavailableError(absl::StrCat(what, ": ", error.what()));
  }
}

/// Slots that strangers can't guess: they are seen on the wire, so they are
/// derived from the secret.
uint64_t firstSlotOf(const std::string &secret) {
  const std::string digits = derive(secret, "slots");
  const uint64_t number = fingerprintBytes(digits.data(), digits.size());
  return number - number % CatchingPair::kSlots;
}

/// Whether the path was lost, as far as Gloo tells.
bool isOfPath(const absl::Status &status) {
  for (int error : {ETIMEDOUT, EHOSTUNREACH, ENETUNREACH})
    if (absl::StrContains(status.message(), std::strerror(error)))
      return true;
  return false;
}

class GlooTransport final : public Transport {
public:
  GlooTransport(std::shared_ptr<CatchingContext> ownContext,
                const std::string &secret, std::chrono::milliseconds limit)
      : context(std::move(ownContext)), poller(*context->poller),
        patience(limit), peers(context->size) {
    for (Peer &peer : peers)
      peer.firstSlot = firstSlotOf(secret);
  }
  /// Closes connections first: a thread of Gloo's may still write to a
  /// greeting.
  ~GlooTransport() override {
    attempt("can't close", [this] { close(); }).IgnoreError();
  }

  /// May throw.
  void prepare(absl::Span<const int> others) {
    for (int peer : others) {
      Peer &of = peers[peer];
      of.pair = createPair(peer);
      for (Inbox &inbox : of.received)
        inbox.buffer = makeBuffer();
      of.sent = makeBuffer();
    }
  }

  std::string address(int peer) const override {
    std::vector<char> bytes = peers[peer].pair->address().bytes();
    return {bytes.begin(), bytes.end()};
  }
  absl::Status connect(int peer, const std::string &address) override {
    if (!beginConnecting(peers[peer].pair))
      return {absl::StatusCode::kCancelled, ""};
    absl::Status status = attempt("can't connect", [&] {
      peers[peer].pair->connect({address.begin(), address.end()});
    });
    endConnecting();
    // Only Gloo's text tells the cause: the peer has, or had, somebody else.
    const std::string words[] = {
        std::strerror(ECONNREFUSED), std::strerror(ECONNRESET),
        std::strerror(ENOTCONN), std::strerror(EPIPE), "Connection closed"};
    for (const std::string &what : words)
      if (absl::StrContains(status.message(), what))
        return absl::AbortedError(status.message());
    return absl::IsDataLoss(status) ? absl::AbortedError(status.message())
                                    : status;
  }
  absl::Status renew(int peer) override {
    Peer &of = peers[peer];
    of.greeter.reset();
    of.greeted.reset();
    of.firstSlot += CatchingPair::kSlots;
    for (Inbox &inbox : of.received)
      inbox.posted = inbox.taken = 0;
    of.posted = {};
    of.taken = of.unsent = 0;
    of.isWatched = false;
    return attempt("can't listen", [&] { of.pair = createPair(peer); });
  }

  absl::Status greet(int peer, const std::string &text) override {
    return attempt("can't greet", [&] {
      Peer &of = peers[peer];
      text.copy(of.own.data(), of.own.size());
      of.greeter = context->createUnboundBuffer(of.own.data(), of.own.size());
      of.greeter->send(peer, of.slotOf(kGreetings));
    });
  }
  absl::StatusOr<std::string> awaitGreeting(int peer) override {
    Peer &of = peers[peer];
    absl::Status status = attempt("can't be greeted", [&] {
      if (of.greeted)
        return;
      of.greeted =
          context->createUnboundBuffer(of.theirs.data(), of.theirs.size());
      of.greeted->recv(peer, of.slotOf(kGreetings));
      of.greeted->recv(peer, of.slotOf(kNothing), 0, 0); // to hear of a loss
    });
    if (status.ok())
      status = await(
          *of.pair,
          [&] { return of.pair->received(of.slotOf(kGreetings)) > 0; },
          [&] { of.greeted->waitRecv(nullptr, kNever); });
    if (!status.ok())
      return status;
    return std::string(of.theirs.data(), of.theirs.size());
  }

  absl::Status send(int peer, Tag tag, const void *data,
                    int64_t bytes) override {
    Peer &of = peers[peer];
    if (absl::Status status = checkNext(peer, tag, of.postedOf(tag.stream));
        !status.ok())
      return status;
    ++of.postedOf(tag.stream);
    ++of.unsent;
    return post(peer, "can't send", [&] {
      of.sent->send(peer, of.slotOf(tag.stream), offsetOf(data), bytes);
    });
  }
  absl::Status receive(int peer, Tag tag, void *data, int64_t bytes) override {
    Peer &of = peers[peer];
    Inbox &inbox = of.inboxOf(tag.stream);
    if (absl::Status status = checkNext(peer, tag, inbox.posted); !status.ok())
      return status;
    ++inbox.posted;
    return post(peer, "can't receive", [&] {
      inbox.buffer->recv(peer, of.slotOf(tag.stream), offsetOf(data), bytes);
    });
  }

  void flush() override {
    for (int peer : dirty) {
      peers[peer].isDirty = false;
      peers[peer].pair->flush();
    }
    dirty.clear();
  }

  absl::Status awaitReceived(int peer, Tag tag) override {
    drive();
    Peer &of = peers[peer];
    Inbox &inbox = of.inboxOf(tag.stream);
    // A buffer says one by one that messages have come, or why they will not.
    for (; inbox.taken <= tag.sequence; ++inbox.taken) {
      absl::Status status = await(
          *of.pair, [&] { return of.hasCome({tag.stream, inbox.taken}); },
          [&] { inbox.buffer->waitRecv(nullptr, kNever); });
      if (!status.ok())
        return absl::IsCancelled(status) ? status : withPlace(status, {peer});
    }
    return absl::OkStatus();
  }
  bool hasReceived(int peer, Tag tag) override {
    drive();
    flush();
    moveBytes(/*mayBlock=*/false);
    return peers[peer].hasCome(tag);
  }
  absl::StatusOr<bool> awaitSent() override {
    drive();
    for (size_t i = 0; i < peers.size(); ++i) {
      Peer &of = peers[i];
      if (of.unsent == 0)
        continue;
      absl::Status status = await(
          *of.pair, [&] { return of.hasSentMore(); },
          [&] { of.sent->waitSend(nullptr, kNever); });
      if (absl::IsCancelled(status))
        return status;
      if (!status.ok())
        return withPlace(status, {static_cast<int64_t>(i)});
      --of.unsent;
      ++of.taken;
      return true;
    }
    return false;
  }

  Ends ends(int peer) const override {
    return {peers[peer].pair->ownHost(), peers[peer].pair->peerHost()};
  }

  void interrupt() override {
    {
      std::lock_guard<std::mutex> lock(mutex);
      isInterrupted = true;
      if (connecting)
        connecting->close();
    }
    poller.wake();
  }

  void close() override {
    for (Peer &peer : peers) {
      peer.greeter.reset();
      peer.greeted.reset();
      for (Inbox &inbox : peer.received)
        inbox.buffer.reset();
      peer.sent.reset();
    }
    for (Peer &peer : peers)
      if (peer.pair)
        peer.pair->close();
  }

private:
  /// The slot after those of the streams.
  static constexpr int kGreetings = kStreams;
  static constexpr int kNothing = kStreams + 1;
  static_assert(kNothing < static_cast<int>(CatchingPair::kSlots));

  struct Inbox {
    std::unique_ptr<UnboundBuffer> buffer;
    /// The numbers of messages that receive() and awaitReceived() have seen.
    int64_t posted = 0;
    int64_t taken = 0;
  };
  struct Peer {
    /// Owned by the context.
    CatchingPair *pair = nullptr;
    std::array<Inbox, kStreams> received;
    std::unique_ptr<UnboundBuffer> sent;
    /// Messages that send() has seen, by stream.
    std::array<int64_t, kStreams> posted = {};
    /// Messages that awaitSent() has seen, and has not.
    int64_t taken = 0;
    int64_t unsent = 0;
    /// Whether the buffers above hear of a loss.
    bool isWatched = false;
    /// Whether messages may be queued.
    bool isDirty = false;
    /// This member's greeting and the peer's.
    std::array<char, kGreetingBytes> own = {};
    std::array<char, kGreetingBytes> theirs = {};
    std::unique_ptr<UnboundBuffer> greeter;
    std::unique_ptr<UnboundBuffer> greeted;
    /// Each connection has slots of its own: Gloo does not tell on which
    /// connection a peer said that it is ready to receive in a slot.
    uint64_t firstSlot = 0;

    uint64_t slotOf(int number) const {
      return firstSlot + static_cast<uint64_t>(number);
    }
    uint64_t slotOf(MessageStream stream) const {
      return slotOf(static_cast<int>(stream));
    }
    Inbox &inboxOf(MessageStream stream) {
      return received[static_cast<size_t>(stream)];
    }
    int64_t &postedOf(MessageStream stream) {
      return posted[static_cast<size_t>(stream)];
    }
    bool hasCome(Tag tag) const {
      return pair->received(slotOf(tag.stream)) > tag.sequence;
    }
    bool hasSentMore() const {
      int64_t count = 0;
      for (int stream = 0; stream < kStreams; ++stream)
        count += pair->sent(slotOf(stream));
      return count != taken;
    }
  };

  /// May throw.
  CatchingPair *createPair(int peer) {
    return static_cast<CatchingPair *>(context->createPair(peer).get());
  }
  std::unique_ptr<UnboundBuffer> makeBuffer() {
    return context->createUnboundBuffer(nullptr,
                                        std::numeric_limits<size_t>::max());
  }
  /// Awaits messages that never come, one for each buffer.
  void watch(int peer) {
    Peer &of = peers[peer];
    if (std::exchange(of.isWatched, true))
      return;
    undriven.push_back(peer);
    of.sent->recv(peer, of.slotOf(kNothing), 0, 0);
    for (Inbox &inbox : of.received)
      inbox.buffer->recv(peer, of.slotOf(kNothing), 0, 0);
  }
  /// `work` queues a message, which is sent at the next wait.
  template <typename Work>
  absl::Status post(int peer, absl::string_view what, Work work) {
    absl::Status status = attempt(what, [&] {
      watch(peer);
      work();
    });
    if (!std::exchange(peers[peer].isDirty, true))
      dirty.push_back(peer);
    return withPlace(namePath(status), {peer});
  }
  /// From the first wait for messages on, the thread that waits moves the
  /// bytes. Not before: while members meet, a member may wait for another one
  /// than the one that waits for it.
  void drive() {
    for (int peer : undriven)
      peers[peer].pair->drive();
    undriven.clear();
  }
  void moveBytes(bool mayBlock) {
    poller.wait(mayBlock, [](void *pair) {
      static_cast<CatchingPair *>(pair)->advance();
    });
  }
  /// Only Gloo's text tells that the path was lost.
  absl::Status namePath(const absl::Status &status) const {
    return isOfPath(status) ? absl::DeadlineExceededError(absl::StrCat(
                                  "no data that was sent was acknowledged for ",
                                  durationToString(patience)))
                            : status;
  }
  static size_t offsetOf(const void *data) {
    return reinterpret_cast<size_t>(data);
  }

  /// False if there was an interrupt since the last call.
  bool beginConnecting(gloo::transport::Pair *pair) {
    std::lock_guard<std::mutex> lock(mutex);
    if (isInterrupted.exchange(false))
      return false;
    connecting = pair;
    return true;
  }
  void endConnecting() {
    std::lock_guard<std::mutex> lock(mutex);
    connecting = nullptr;
  }

  /// Moves bytes until `isThere`, or until the connection is over. Then `take`
  /// returns at once, or throws the reason.
  template <typename IsThere, typename Take>
  absl::Status await(const CatchingPair &pair, IsThere isThere, Take take) {
    flush();
    while (!isThere() && !pair.isOver()) {
      moveBytes(/*mayBlock=*/!isInterrupted);
      if (!isThere() && !pair.isOver() && isInterrupted.exchange(false))
        return {absl::StatusCode::kCancelled, ""};
    }
    return namePath(attempt("the connection is lost", take));
  }

  const std::shared_ptr<CatchingContext> context;
  Poller &poller;
  const std::chrono::milliseconds patience;
  std::vector<Peer> peers;
  /// Peers with queued messages, and peers whose bytes Gloo's thread moves.
  std::vector<int> dirty;
  std::vector<int> undriven;

  std::atomic<bool> isInterrupted{false};
  std::mutex mutex;
  gloo::transport::Pair *connecting = nullptr;
};

class GlooNetwork final : public Network {
public:
  GlooNetwork(std::shared_ptr<RestingDevice> ownDevice,
              std::chrono::milliseconds limit)
      : device(std::move(ownDevice)), patience(limit) {}

  absl::StatusOr<std::unique_ptr<Transport>>
  open(int self, int size, absl::Span<const int> peers,
       const std::string &secret, std::chrono::nanoseconds limit) override {
    std::unique_ptr<GlooTransport> transport;
    absl::Status status = attempt("can't listen", [&] {
      auto context =
          std::make_shared<CatchingContext>(device, self, size, patience);
      // Gloo waits five times its timeout for a connection.
      context->setTimeout(
          std::chrono::duration_cast<std::chrono::milliseconds>(limit) / 5 +
          std::chrono::milliseconds(1));
      transport =
          std::make_unique<GlooTransport>(std::move(context), secret, patience);
      transport->prepare(peers);
    });
    if (!status.ok())
      return status;
    return transport;
  }

private:
  const std::shared_ptr<RestingDevice> device;
  const std::chrono::milliseconds patience;
};

} // namespace

absl::StatusOr<std::unique_ptr<Network>>
createGlooNetwork(const std::string &address,
                  std::chrono::nanoseconds patience) {
  // Below, what is sent anew by a system that has heard nothing might not come.
  constexpr std::chrono::milliseconds kLeast(1000);
  constexpr std::chrono::milliseconds kMost = std::chrono::hours(24);
  const auto limit = std::clamp(
      std::chrono::duration_cast<std::chrono::milliseconds>(patience), kLeast,
      kMost);
  gloo::transport::tcp::attr attributes;
  attributes.hostname = address;
  std::unique_ptr<Network> network;
  absl::Status status = attempt(absl::StrCat("can't use ", address), [&] {
    network = std::make_unique<GlooNetwork>(
        std::make_shared<RestingDevice>(
            gloo::transport::tcp::CreateDeviceAttr(attributes)),
        limit);
  });
  if (!status.ok())
    return status;
  return network;
}

} // namespace bagua::runtime
