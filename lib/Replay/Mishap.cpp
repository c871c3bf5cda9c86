//===- Mishap.cpp - A process that ends in the middle of a step -----------===//
//
// What the system, a cable or a bug may do to it.
//
//===----------------------------------------------------------------------===//
#include "Mishap.h"

#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <vector>

namespace bagua::replay {
namespace {

/// Its connections break, and it doesn't know yet: as with a cable, none is
/// left by which it could say what it finds on another.
void disconnect() {
  std::vector<int> descriptors;
  std::error_code ignored;
  for (const auto &entry :
       std::filesystem::directory_iterator("/proc/self/fd", ignored))
    descriptors.push_back(std::atoi(entry.path().filename().c_str()));
  for (int direction : {SHUT_WR, SHUT_RD})
    for (int descriptor : descriptors)
      shutdown(descriptor, direction);
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
