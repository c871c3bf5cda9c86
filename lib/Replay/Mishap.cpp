//===- Mishap.cpp - A process that ends in the middle of a step -----------===//
//
// What the system, a cable or a bug may do to it.
//
//===----------------------------------------------------------------------===//
#include "Mishap.h"

#include <sys/socket.h>
#include <unistd.h>

#include <csignal>

namespace bagua::replay {
namespace {

/// Its connections break, and it doesn't know yet.
void disconnect() {
  const int most = static_cast<int>(sysconf(_SC_OPEN_MAX));
  for (int descriptor = 3; descriptor < most; ++descriptor)
    shutdown(descriptor, SHUT_RDWR);
}

} // namespace

void happen(Mishap::Kind kind) {
  switch (kind) {
  case Mishap::Kind::Kill:
    kill(getpid(), SIGKILL);
    return;
  case Mishap::Kind::Stop:
    kill(getpid(), SIGSTOP);
    return;
  case Mishap::Kind::Exit:
    _exit(3);
  case Mishap::Kind::Disconnect:
    return disconnect();
  }
}

} // namespace bagua::replay
