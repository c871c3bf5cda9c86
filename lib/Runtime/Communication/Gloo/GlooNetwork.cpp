//===- GlooNetwork.cpp - Bytes between hosts, by Gloo ---------------------===//
//
// Gloo's unbound buffers are ranges of memory with counts of what has come and
// gone. Here each has all memory for its range, so that one serves a channel
// for good, and a message is an address in it; what is left of messages when a
// buffer is destroyed never touches memory. Gloo says by exceptions what goes
// wrong, where a connection is lost to buffers with messages that have not
// begun: so that each hears of it, it awaits one that never comes.
//
//===----------------------------------------------------------------------===//
#include "Communication/Gloo/CatchingContext.h"
#include "Communication/Hosts/Transport.h"
#include "Communication/Secret.h"

#include "bagua/Runtime/ErrorPlace.h"
#include "bagua/Support/Fingerprint.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

#include <gloo/transport/context.h>
#include <gloo/transport/unbound_buffer.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <exception>
#include <limits>
#include <mutex>
#include <utility>
#include <vector>

namespace bagua::runtime {
namespace {

using gloo::transport::UnboundBuffer;

/// Gloo's own limits end all connections of a group, so there are none.
constexpr std::chrono::hours kNever(1000);

/// Keeps SIGPIPE, which Gloo does not, from ending the process where a
/// connection is lost: of this thread, and of those that it makes meanwhile.
class WithoutPipeSignal {
public:
  WithoutPipeSignal() {
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, &before);
    wasPending = isPending();
  }
  ~WithoutPipeSignal() {
    const timespec now = {};
    if (!wasPending && isPending())
      sigtimedwait(&pipe, nullptr, &now);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  WithoutPipeSignal(const WithoutPipeSignal &) = delete;
  WithoutPipeSignal &operator=(const WithoutPipeSignal &) = delete;

private:
  static bool isPending() {
    sigset_t pending;
    return sigpending(&pending) == 0 && sigismember(&pending, SIGPIPE) == 1;
  }

  sigset_t pipe;
  sigset_t before;
  bool wasPending;
};

/// What `work` throws, as a status.
template <typename Work>
absl::Status attempt(absl::string_view what, Work work) {
  WithoutPipeSignal guard;
  try {
    work();
    return absl::OkStatus();
  } catch (const NoMessage &error) {
    return absl::DataLossError(absl::StrCat(what, ": ", error.what()));
  } catch (const std::exception &error) {
    return absl::UnavailableError(absl::StrCat(what, ": ", error.what()));
  }
}

/// Strangers see it.
uint64_t firstSlotOf(const std::string &secret) {
  const std::string digits = derive(secret, "slots");
  return fingerprintBytes(digits.data(), digits.size());
}

/// Whether it is the path that was lost, as far as Gloo says.
bool isOfPath(const absl::Status &status) {
  for (int error : {ETIMEDOUT, EHOSTUNREACH, ENETUNREACH})
    if (absl::StrContains(status.message(), std::strerror(error)))
      return true;
  return false;
}

class GlooTransport final : public Transport {
public:
  GlooTransport(std::shared_ptr<gloo::transport::Context> ownContext,
                const std::string &secret, std::chrono::milliseconds limit)
      : context(std::move(ownContext)), patience(limit), peers(context->size) {
    for (Peer &peer : peers)
      peer.firstSlot = firstSlotOf(secret);
  }
  /// Connections first: who is at one may still write to a greeting.
  ~GlooTransport() override {
    attempt("can't close", [this] { close(); }).IgnoreError();
  }

  /// May throw.
  void prepare(absl::Span<const int> others) {
    for (int peer : others) {
      peers[peer].pair = context->createPair(peer).get();
      for (std::unique_ptr<UnboundBuffer> &buffer : peers[peer].received)
        buffer = makeBuffer();
      peers[peer].sent = makeBuffer();
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
    // Gloo says by words alone what it was: the peer had somebody else, or had
    // and lost him.
    const std::string words[] = {
        std::strerror(ECONNREFUSED), std::strerror(ECONNRESET),
        std::strerror(ENOTCONN), std::strerror(EPIPE), "Connection closed"};
    for (const std::string &what : words)
      if (absl::StrContains(status.message(), what))
        return absl::AbortedError(status.message());
    return status;
  }
  absl::Status renew(int peer) override {
    Peer &of = peers[peer];
    of.greeter.reset();
    of.greeted.reset();
    of.firstSlot += kSlots;
    return attempt("can't listen",
                   [&] { of.pair = context->createPair(peer).get(); });
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
    });
    if (status.ok())
      status = await(*of.greeted,
                     [&] { return of.greeted->waitRecv(nullptr, kNever); });
    if (!status.ok())
      return status;
    return std::string(of.theirs.data(), of.theirs.size());
  }

  absl::Status send(int peer, Channel channel, const void *data,
                    int64_t bytes) override {
    Peer &of = peers[peer];
    ++of.unsent;
    return withPlace(
        namePath(attempt("can't send",
                         [&] {
                           watch(peer);
                           of.sent->send(peer,
                                         of.slotOf(static_cast<int>(channel)),
                                         offsetOf(data), bytes);
                         })),
        {peer});
  }
  absl::Status receive(int peer, Channel channel, void *data,
                       int64_t bytes) override {
    return withPlace(
        namePath(attempt(
            "can't receive",
            [&] {
              watch(peer);
              bufferOf(peer, channel)
                  .recv(peer, peers[peer].slotOf(static_cast<int>(channel)),
                        offsetOf(data), bytes);
            })),
        {peer});
  }

  absl::Status awaitReceived(int peer, Channel channel) override {
    UnboundBuffer &buffer = bufferOf(peer, channel);
    return await(buffer, [&] { return buffer.waitRecv(nullptr, kNever); });
  }
  bool hasReceived(int peer, Channel channel) override {
    UnboundBuffer &buffer = bufferOf(peer, channel);
    bool hasCome = false;
    attempt("", [&] {
      hasCome = buffer.waitRecv(nullptr, std::chrono::milliseconds(0));
    }).IgnoreError();
    return hasCome;
  }
  absl::StatusOr<bool> awaitSent() override {
    for (size_t i = 0; i < peers.size(); ++i) {
      if (peers[i].unsent == 0)
        continue;
      UnboundBuffer &sent = *peers[i].sent;
      absl::Status status =
          await(sent, [&] { return sent.waitSend(nullptr, kNever); });
      if (absl::IsCancelled(status))
        return status;
      if (!status.ok())
        return withPlace(status, {static_cast<int64_t>(i)});
      --peers[i].unsent;
      return true;
    }
    return false;
  }

  Ends ends(int peer) const override {
    const auto &pair = static_cast<const CatchingPair &>(*peers[peer].pair);
    return {pair.ownHost(), pair.peerHost()};
  }

  void interrupt() override {
    std::lock_guard<std::mutex> lock(mutex);
    isInterrupted = true;
    if (waiting) {
      waiting->abortWaitRecv();
      waiting->abortWaitSend();
    }
    if (connecting)
      connecting->close();
  }

  void close() override {
    for (Peer &peer : peers) {
      peer.greeter.reset();
      peer.greeted.reset();
      for (std::unique_ptr<UnboundBuffer> &buffer : peer.received)
        buffer.reset();
      peer.sent.reset();
    }
    for (Peer &peer : peers)
      if (peer.pair)
        peer.pair->close();
  }

private:
  /// Behind the channels'.
  static constexpr int kGreetings = kChannels;
  static constexpr int kNothing = kChannels + 1;
  static constexpr int kSlots = kChannels + 2;

  struct Peer {
    /// The context's.
    gloo::transport::Pair *pair = nullptr;
    std::array<std::unique_ptr<UnboundBuffer>, kChannels> received;
    std::unique_ptr<UnboundBuffer> sent;
    /// Messages that awaitSent() has not seen.
    int64_t unsent = 0;
    /// Whether the buffers above hear of a loss.
    bool isWatched = false;
    /// This member's greeting and the peer's.
    std::array<char, kGreetingBytes> own = {};
    std::array<char, kGreetingBytes> theirs = {};
    std::unique_ptr<UnboundBuffer> greeter;
    std::unique_ptr<UnboundBuffer> greeted;
    /// Other slots for each connection: to Gloo, who is ready to receive is so
    /// whichever connection he has said it on.
    uint64_t firstSlot = 0;

    uint64_t slotOf(int channel) const {
      return firstSlot + static_cast<uint64_t>(channel);
    }
  };

  std::unique_ptr<UnboundBuffer> makeBuffer() {
    return context->createUnboundBuffer(nullptr,
                                        std::numeric_limits<size_t>::max());
  }
  UnboundBuffer &bufferOf(int peer, Channel channel) {
    return *peers[peer].received[static_cast<size_t>(channel)];
  }
  /// Messages that never come: one for each buffer.
  void watch(int peer) {
    Peer &of = peers[peer];
    if (std::exchange(of.isWatched, true))
      return;
    of.sent->recv(peer, of.slotOf(kNothing), 0, 0);
    for (std::unique_ptr<UnboundBuffer> &buffer : of.received)
      buffer->recv(peer, of.slotOf(kNothing), 0, 0);
  }
  /// What Gloo says by words alone.
  absl::Status namePath(const absl::Status &status) const {
    return isOfPath(status)
               ? absl::DeadlineExceededError(absl::StrCat(
                     "nothing that was sent was acknowledged for ",
                     absl::FormatDuration(absl::FromChrono(patience))))
               : status;
  }
  static size_t offsetOf(const void *data) {
    return reinterpret_cast<size_t>(data);
  }

  /// False where there was an interrupt since the last time.
  bool beginConnecting(gloo::transport::Pair *pair) {
    std::lock_guard<std::mutex> lock(mutex);
    if (std::exchange(isInterrupted, false))
      return false;
    connecting = pair;
    return true;
  }
  void endConnecting() {
    std::lock_guard<std::mutex> lock(mutex);
    connecting = nullptr;
  }

  /// `wait` returns false where it was ended.
  template <typename Wait>
  absl::Status await(UnboundBuffer &buffer, Wait wait) {
    if (!beginWait(&buffer))
      return {absl::StatusCode::kCancelled, ""};
    bool isDone = false;
    absl::Status status =
        namePath(attempt("the connection is lost", [&] { isDone = wait(); }));
    bool wasInterrupted = !beginWait(nullptr);
    if (!status.ok() || isDone) {
      // For the next wait.
      if (wasInterrupted)
        interrupt();
      return status;
    }
    return {absl::StatusCode::kCancelled, ""};
  }
  /// False where there was an interrupt since the last time.
  bool beginWait(UnboundBuffer *buffer) {
    std::lock_guard<std::mutex> lock(mutex);
    const bool wasInterrupted = std::exchange(isInterrupted, false);
    waiting = wasInterrupted ? nullptr : buffer;
    return !wasInterrupted;
  }

  const std::shared_ptr<gloo::transport::Context> context;
  const std::chrono::milliseconds patience;
  std::vector<Peer> peers;

  std::mutex mutex;
  UnboundBuffer *waiting = nullptr;
  gloo::transport::Pair *connecting = nullptr;
  bool isInterrupted = false;
};

class GlooNetwork final : public Network {
public:
  GlooNetwork(std::shared_ptr<gloo::transport::tcp::Device> ownDevice,
              std::chrono::milliseconds limit)
      : device(std::move(ownDevice)), patience(limit) {}

  absl::StatusOr<std::unique_ptr<Transport>>
  open(int self, int size, absl::Span<const int> peers,
       const std::string &secret, std::chrono::nanoseconds limit) override {
    std::unique_ptr<GlooTransport> transport;
    absl::Status status = attempt("can't listen", [&] {
      auto context =
          std::make_shared<CatchingContext>(device, self, size, patience);
      // Gloo waits five times as long for a connection.
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
  const std::shared_ptr<gloo::transport::tcp::Device> device;
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
        std::make_shared<gloo::transport::tcp::Device>(
            gloo::transport::tcp::CreateDeviceAttr(attributes)),
        limit);
  });
  if (!status.ok())
    return status;
  return network;
}

} // namespace bagua::runtime
