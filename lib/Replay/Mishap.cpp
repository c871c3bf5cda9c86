//===- Mishap.cpp - A process that ends in the middle of a step -----------===//
//
// What the system, a cable or a bug may do to it.
//
//===----------------------------------------------------------------------===//
#include "Mishap.h"

#include "absl/strings/str_format.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <random>
#include <string>
#include <system_error>
#include <vector>

namespace bagua::replay {
namespace {

std::vector<int> openDescriptors() {
  std::vector<int> descriptors;
  std::error_code ignored;
  for (const auto &entry :
       std::filesystem::directory_iterator("/proc/self/fd", ignored))
    descriptors.push_back(std::atoi(entry.path().filename().c_str()));
  return descriptors;
}

/// Its connections break, and it doesn't know yet: as with a cable, none is
/// left by which it could say what it finds on another.
void disconnect() {
  const std::vector<int> descriptors = openDescriptors();
  for (int direction : {SHUT_WR, SHUT_RD})
    for (int descriptor : descriptors)
      shutdown(descriptor, direction);
}

/// To whom it is connected; what is no connection takes none.
void sendGarbage() {
  std::array<char, 4096> bytes;
  std::mt19937 random(7);
  for (char &byte : bytes)
    byte = static_cast<char>(random());
  for (int descriptor : openDescriptors())
    send(descriptor, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
}

} // namespace

void happen(Mishap::Kind kind,
            const std::function<void(const std::string &)> &say) {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  if (say)
    say(absl::StrFormat("mishap at %.3f s",
                        std::chrono::duration<double>(now).count()));
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
  case Mishap::Kind::Garbage:
    return sendGarbage();
  }
}

} // namespace bagua::replay
