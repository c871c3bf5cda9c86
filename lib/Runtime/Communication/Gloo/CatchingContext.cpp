//===- CatchingContext.cpp - Gloo's connections, whatever comes to them ---===//
//
// Made as Gloo's own TLS connections are.
//
//===----------------------------------------------------------------------===//
#include "Communication/Gloo/CatchingContext.h"

#include <sys/socket.h>

#include <exception>
#include <mutex>
#include <unistd.h>
#include <utility>

namespace bagua::runtime {

/// While events still come to this class.
CatchingPair::~CatchingPair() {
  std::lock_guard<std::mutex> lock(m_);
  if (state_ != CLOSED)
    Pair::changeState(CLOSED);
}

void CatchingPair::handleEvents(int events) {
  {
    // Who holds it may wait for this thread; the event comes again.
    std::unique_lock<std::mutex> lock(m_, std::try_to_lock);
    if (!lock)
      return;
    if (state_ == LISTENING)
      return accept();
  }
  try {
    Pair::handleEvents(events);
  } catch (const std::exception &) {
    std::lock_guard<std::mutex> lock(m_);
    if (state_ != CLOSED)
      signalException(std::current_exception());
  }
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
