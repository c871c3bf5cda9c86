//===- CatchingContext.cpp - Gloo's connections, whatever comes to them ---===//
//
// Made as Gloo's own TLS connections are.
//
//===----------------------------------------------------------------------===//
#include "Communication/Gloo/CatchingContext.h"

#include "absl/strings/str_cat.h"

#include <gloo/common/error.h>
#include <sys/socket.h>

#include <exception>
#include <fcntl.h>
#include <mutex>
#include <string>
#include <unistd.h>
#include <utility>

namespace bagua::runtime {

/// It listens by now.
CatchingPair::CatchingPair(gloo::transport::tcp::Context *context,
                           gloo::transport::tcp::Device *device, int rank,
                           std::chrono::milliseconds timeout)
    : Pair(context, device, rank, timeout) {
  std::lock_guard<std::mutex> lock(m_);
  fcntl(fd_, F_SETFD, FD_CLOEXEC);
}

/// While events still come to this class.
CatchingPair::~CatchingPair() {
  std::lock_guard<std::mutex> lock(m_);
  if (state_ != CLOSED)
    Pair::changeState(CLOSED);
}

/// As Gloo's own, which lets go of the lock before its exception gets here: who
/// takes it then may wait for this thread.
void CatchingPair::handleEvents(int events) {
  std::unique_lock<std::mutex> lock(m_, std::try_to_lock);
  if (!lock)
    return; // The event comes again.
  try {
    if (state_ == LISTENING)
      accept();
    else if (state_ == CONNECTING)
      handleConnecting();
    else if (state_ == CONNECTED)
      handleReadWrite(events);
  } catch (const std::exception &error) {
    // As if who said it had gone.
    const std::string why = absl::StrCat("Connection closed: ", error.what());
    if (state_ != CLOSED)
      signalException(std::make_exception_ptr(gloo::IoException(why)));
  }
}

/// Who connects has left the port at which it listened, and what came there.
void CatchingPair::waitUntilConnected(std::unique_lock<std::mutex> &lock,
                                      bool useTimeout) {
  if (is_client_) {
    rx_ = gloo::transport::tcp::Op();
    fcntl(fd_, F_SETFD, FD_CLOEXEC);
  }
  Pair::waitUntilConnected(lock, useTimeout);
}

/// Goes on listening where who came has gone again.
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
  pairs_[rank] =
      std::make_unique<CatchingPair>(this, device_.get(), rank, getTimeout());
  return pairs_[rank];
}

} // namespace bagua::runtime
