//===- SocketsTest.cpp - What processes of one host hand each other -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Communication/Rendezvous/Sockets.h"

#include "gtest/gtest.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace bagua::runtime {
namespace {

using namespace std::chrono_literals;

// The process that gives the host's shared memory may be stopped, and its queue
// of connections full.
TEST(SocketsTest, who_gives_memory_to_nobody_keeps_nobody_waiting) {
  const std::string name =
      testing::TempDir() + "/bagua-sockets-" + std::to_string(getpid());
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  ASSERT_LT(name.size(), sizeof(address.sun_path) - 1);
  name.copy(address.sun_path + 1, name.size());
  const auto size =
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  const auto *place = reinterpret_cast<const sockaddr *>(&address);
  Descriptor giver(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(bind(giver.number(), place, size), 0);
  ASSERT_EQ(listen(giver.number(), 0), 0);
  std::vector<Descriptor> silent;
  do {
    silent.emplace_back(
        socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  } while (connect(silent.back().number(), place, size) == 0);
  EXPECT_EQ(errno, EAGAIN);
  auto taken = takeDescriptor(name, std::chrono::steady_clock::now() + 100ms,
                              [] { return false; });
  EXPECT_TRUE(absl::IsDeadlineExceeded(taken.status())) << taken.status();
}

} // namespace
} // namespace bagua::runtime
