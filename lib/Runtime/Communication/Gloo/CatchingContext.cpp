//===- CatchingContext.cpp - Gloo's connections, whatever comes to them ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Derived from Gloo's classes as Gloo's own TLS connections are.
//
//===----------------------------------------------------------------------===//
#include "Communication/Gloo/CatchingContext.h"

#include "Communication/Transport/Tag.h"

#include "absl/strings/str_cat.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <exception>
#include <fcntl.h>
#include <mutex>
#include <string>
#include <unistd.h>
#include <utility>

namespace bagua::runtime {
namespace {

using gloo::NonOwningPtr;
using gloo::transport::tcp::Op;
using gloo::transport::tcp::UnboundBuffer;

/// The most messages that one system call sends.
constexpr size_t kMostAtOnce = 16;

/// Whether the message is one of ours.
bool isSound(Op &op) {
  switch (op.getOpcode()) {
  case Op::NOTIFY_RECV_READY:
    return op.preamble.nbytes == sizeof op.preamble;
  case Op::SEND_UNBOUND_BUFFER:
    return op.preamble.nbytes - op.preamble.length == sizeof op.preamble;
  case Op::NOTIFY_SEND_READY:
  case Op::SEND_BUFFER:
    break;
  }
  return false;
}

/// The address of one end of a connection, as text.
template <typename End> std::string hostOf(int socket, End end) {
  sockaddr_storage address = {};
  socklen_t size = sizeof address;
  char text[NI_MAXHOST];
  if (end(socket, reinterpret_cast<sockaddr *>(&address), &size) != 0 ||
      getnameinfo(reinterpret_cast<sockaddr *>(&address), size, text,
                  sizeof text, nullptr, 0, NI_NUMERICHOST) != 0)
    return {};
  return text;
}

/// Throws the error that Gloo throws if the peer closes the connection.
std::exception_ptr closedBy(const char *why) {
  return std::make_exception_ptr(
      gloo::IoException(absl::StrCat("Connection closed: ", why)));
}

std::exception_ptr noMessage(const std::string &found = "a malformed message") {
  return std::make_exception_ptr(NoMessage(absl::StrCat("it sent ", found)));
}

} // namespace

/// The pair listens from here on.
CatchingPair::CatchingPair(gloo::transport::tcp::Context *context,
                           RestingDevice *device, int rank,
                           std::chrono::milliseconds timeout,
                           std::chrono::milliseconds ownPatience,
                           std::shared_ptr<Poller> ownPoller,
                           RestingDevice::Watch ownWatch)
    : Pair(context, device, rank, timeout), patience(ownPatience),
      poller(std::move(ownPoller)), watch(std::move(ownWatch)) {
  std::lock_guard<std::mutex> lock(m_);
  fcntl(fd_, F_SETFD, FD_CLOEXEC);
}

/// Has TCP watch the path: sent bytes must be acknowledged in time, and a side
/// with nothing to send asks whether the other host is there. Otherwise the
/// system would go on trying. Heartbeats of our own would not do: they pass a
/// path that loses only large packets.
void CatchingPair::changeState(state nextState) noexcept {
  if (nextState == CLOSED && state_ == CONNECTED) {
    if (isDriven)
      poller->remove(fd_);
    // Gloo's own thread does not watch a pair that Gloo considers synchronous.
    sync_ = !watch;
  }
  Pair::changeState(nextState);
  if (nextState == CLOSED) {
    watch.reset();
    isClosed = true;
    poller->wake();
  }
  if (nextState != CONNECTED)
    return;
  // With TCP_USER_TIMEOUT set, the kernel ignores this count.
  constexpr int kQuestions = 4;
  const auto limit = static_cast<int>(patience.count());
  const int seconds = std::max(1, limit / 1000 / kQuestions);
  const int on = 1;
  setsockopt(fd_, IPPROTO_TCP, TCP_USER_TIMEOUT, &limit, sizeof limit);
  setsockopt(fd_, IPPROTO_TCP, TCP_KEEPIDLE, &seconds, sizeof seconds);
  setsockopt(fd_, IPPROTO_TCP, TCP_KEEPINTVL, &seconds, sizeof seconds);
  setsockopt(fd_, IPPROTO_TCP, TCP_KEEPCNT, &kQuestions, sizeof kQuestions);
  setsockopt(fd_, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  own = hostOf(fd_, getsockname);
  theirs = hostOf(fd_, getpeername);
}

/// Closes the pair while events still reach this class.
CatchingPair::~CatchingPair() {
  std::lock_guard<std::mutex> lock(m_);
  if (state_ != CLOSED)
    changeState(CLOSED);
}

/// Does what Gloo's own function does. That one releases the lock before its
/// exception gets here, and the thread that takes the lock then may wait for
/// this thread.
void CatchingPair::handleEvents(int events) {
  std::unique_lock<std::mutex> lock(m_, std::try_to_lock);
  if (!lock)
    return; // The event comes again.
  attempt([&] {
    if (state_ == LISTENING)
      accept();
    else if (state_ == CONNECTING)
      handleConnecting();
    else if (state_ == CONNECTED && !isDriven)
      handleReadWrite(events);
    else if (state_ == CONNECTED && watch) {
      device_->unregisterDescriptor(fd_, this);
      watch.reset();
    }
  });
}

void CatchingPair::attempt(absl::FunctionRef<void()> work) {
  try {
    work();
  } catch (const gloo::EnforceNotMet &error) {
    // A message with a valid head that nobody awaits.
    end(state_ == CONNECTED ? noMessage() : closedBy(error.what()));
  } catch (const std::exception &error) {
    end(closedBy(error.what()));
  }
}

void CatchingPair::end(const std::exception_ptr &why) {
  if (state_ != CLOSED)
    signalException(why);
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

void CatchingPair::drive() {
  std::lock_guard<std::mutex> lock(m_);
  // Gloo's thread stops watching at the next event.
  if (state_ == CONNECTED && !std::exchange(isDriven, true))
    attempt([&] { poller->add(fd_, this); });
}

void CatchingPair::advance() {
  std::lock_guard<std::mutex> lock(m_);
  attempt([&] {
    while (state_ == CONNECTED && read())
      continue;
    if (state_ == CONNECTED)
      awaitRest();
    transmitAll();
  });
}

/// Lets the poller wake the thread only when the message is complete, or much
/// of it has arrived.
void CatchingPair::awaitRest() {
  constexpr size_t kMost = 256 * 1024;
  const size_t rest = rx_.nread < sizeof rx_.preamble
                          ? 1
                          : std::min(rx_.preamble.nbytes - rx_.nread, kMost);
  const int least = static_cast<int>(rest);
  if (least != std::exchange(leastBytes, least))
    setsockopt(fd_, SOL_SOCKET, SO_RCVLOWAT, &least, sizeof least);
}

void CatchingPair::flush() {
  std::lock_guard<std::mutex> lock(m_);
  // Otherwise Gloo's thread sends what is left, and must find it here.
  if (isDriven)
    attempt([&] { transmitAll(); });
}

/// Gloo announces each message before it is sent, for receivers that take
/// messages from any peer. We have none, so these announcements are not sent,
/// and Gloo is told here that one has come.
void CatchingPair::recv(gloo::transport::UnboundBuffer *buffer, uint64_t slot,
                        size_t offset, size_t bytes) {
  Pair::recv(buffer, slot, offset, bytes);
  Op word;
  word.preamble.slot = slot;
  std::lock_guard<std::mutex> lock(m_);
  handleRemotePendingSend(word);
}

bool CatchingPair::write(Op &op) {
  if (op.getOpcode() == Op::NOTIFY_SEND_READY)
    return true;
  Op *const ops[] = {&op};
  if (!isDriven)
    return transmit(ops) == 1;
  tx_.push_back(std::move(op));
  return true;
}

void CatchingPair::transmitAll() {
  std::array<Op *, kMostAtOnce> ops;
  size_t count = 0, whole = 0;
  do {
    count = std::min(kMostAtOnce, tx_.size());
    for (size_t i = 0; i < count; ++i)
      ops[i] = &tx_[i];
    whole = state_ == CONNECTED ? transmit({ops.data(), count}) : 0;
    tx_.erase(tx_.begin(), tx_.begin() + static_cast<ptrdiff_t>(whole));
  } while (whole == kMostAtOnce);
}

/// Sends as much as possible without blocking; returns how many of `ops` are
/// sent completely. A lost connection is found by read().
size_t CatchingPair::transmit(absl::Span<Op *const> ops) {
  std::array<NonOwningPtr<UnboundBuffer>, kMostAtOnce> buffers;
  std::array<iovec, 2 * buffers.size()> pieces;
  // The number of the next message, by slot. A message that has gone in part
  // keeps its number.
  std::array<int64_t, kSlots> numbers;
  std::copy(hasGone.begin(), hasGone.end(), numbers.begin());
  msghdr message = {};
  message.msg_iov = pieces.data();
  size_t count = 0;
  for (; count < ops.size(); ++count) {
    if (ops[count]->getOpcode() == Op::NOTIFY_SEND_READY)
      continue;
    NonOwningPtr<UnboundBuffer> &buffer = buffers[count];
    if (ops[count]->getOpcode() == Op::SEND_UNBOUND_BUFFER) {
      buffer = NonOwningPtr<UnboundBuffer>(ops[count]->ubuf);
      if (!buffer)
        break;
      ops[count]->preamble.roffset =
          static_cast<size_t>(numbers[ops[count]->preamble.slot % kSlots]++);
    }
    int own = 0;
    prepareWrite(*ops[count], buffer, &pieces[message.msg_iovlen], own);
    message.msg_iovlen += static_cast<size_t>(own);
  }
  ssize_t put = 0;
  do
    put = message.msg_iovlen == 0 ? 0 : sendmsg(fd_, &message, MSG_NOSIGNAL);
  while (put < 0 && errno == EINTR);
  if (put < 0) {
    if (errno != EAGAIN && errno != ECONNRESET && errno != EPIPE)
      end(closedBy(std::strerror(errno)));
    return 0;
  }
  auto left = static_cast<size_t>(put);
  for (size_t i = 0; i < count; ++i) {
    Op &op = *ops[i];
    const Op::Opcode opcode = op.getOpcode();
    if (opcode == Op::NOTIFY_SEND_READY)
      continue;
    const size_t part = std::min(left, op.preamble.nbytes - op.nwritten);
    op.nwritten += part;
    left -= part;
    if (op.nwritten < op.preamble.nbytes)
      return i;
    writeComplete(op, buffers[i], opcode);
    if (opcode == Op::SEND_UNBOUND_BUFFER)
      ++hasGone[op.preamble.slot % kSlots];
  }
  return count;
}

/// Whether a message has the number that is the next of its slot, where Gloo's
/// own buffers have an address. Ends the connection where not.
bool CatchingPair::isNext() {
  const uint64_t slot = rx_.preamble.slot % kSlots;
  const auto found = static_cast<int64_t>(rx_.preamble.roffset);
  if (rx_.getOpcode() != Op::SEND_UNBOUND_BUFFER || found == hasCome[slot])
    return true;
  end(noMessage(describeWrongSequence(
      slot < kStreams ? streamName(static_cast<MessageStream>(slot))
                      : "greetings",
      found, hasCome[slot])));
  return false;
}

/// Reads a message's head, as Gloo's own function does, and checks it: Gloo
/// would skip a head that it does not know.
bool CatchingPair::read() {
  while (state_ == CONNECTED && rx_.nread < sizeof rx_.preamble) {
    char *to = reinterpret_cast<char *>(&rx_.preamble) + rx_.nread;
    const ssize_t got = ::recv(fd_, to, sizeof rx_.preamble - rx_.nread, 0);
    if (got < 0 && errno == EAGAIN)
      return false;
    if (got < 0) {
      end(closedBy(std::strerror(errno)));
      return false;
    }
    if (got == 0)
      return Pair::read(); // Gloo reports the end itself
    rx_.nread += static_cast<size_t>(got);
    if (rx_.nread == sizeof rx_.preamble && !isSound(rx_)) {
      end(noMessage());
      return false;
    }
    if (rx_.nread == sizeof rx_.preamble && !isNext())
      return false;
  }
  const Op::Opcode opcode = rx_.getOpcode();
  const uint64_t slot = rx_.preamble.slot;
  if (!Pair::read())
    return false;
  if (opcode == Op::SEND_UNBOUND_BUFFER) {
    ++hasCome[slot % kSlots];
    if (!isDriven)
      poller->wake();
  }
  return true;
}

/// The connecting side has left the port at which it listened. Anything that a
/// stranger sent to that port is not the beginning of the peer's message.
void CatchingPair::waitUntilConnected(std::unique_lock<std::mutex> &lock,
                                      bool useTimeout) {
  if (is_client_) {
    rx_ = gloo::transport::tcp::Op();
    fcntl(fd_, F_SETFD, FD_CLOEXEC);
  }
  Pair::waitUntilConnected(lock, useTimeout);
}

/// Keeps listening if the connection is gone already.
void CatchingPair::accept() {
  const int accepted = accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC);
  if (accepted < 0)
    return;
  const int listening = std::exchange(fd_, accepted);
  const gloo::transport::tcp::Address own = self_;
  try {
    handleConnected();
  } catch (const std::exception &) {
    ::close(accepted);
    fd_ = listening;
    self_ = own;
    return;
  }
  device_->unregisterDescriptor(listening, this);
  ::close(listening);
}

std::unique_ptr<gloo::transport::Pair> &CatchingContext::createPair(int rank) {
  // Gloo's thread must be awake before it is told of the connection.
  RestingDevice::Watch watch = restingDevice.watch();
  pairs_[rank] =
      std::make_unique<CatchingPair>(this, &restingDevice, rank, getTimeout(),
                                     patience, poller, std::move(watch));
  return pairs_[rank];
}

} // namespace bagua::runtime
