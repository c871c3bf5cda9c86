//===- GlooPathTest.cpp - Paths that lose packets -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A filter at a socket drops what comes, before TCP hears of it: as a path does
// that nobody has closed and of which nobody is told.
//
//===----------------------------------------------------------------------===//
#include "Communication/Gloo/GlooNetwork.h"
#include "OpenConnections.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <linux/filter.h>
#include <sys/socket.h>

#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace bagua::runtime {
namespace {

using namespace std::chrono_literals;

/// Of these ends of connections: packets of more than `most` bytes are dropped.
void dropLarger(const std::vector<int> &ends, uint32_t most) {
  sock_filter code[] = {BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0),
                        BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, most, 0, 1),
                        BPF_STMT(BPF_RET | BPF_K, 0),
                        BPF_STMT(BPF_RET | BPF_K, 0xffffffff)};
  const sock_fprog program = {std::size(code), code};
  for (int end : ends)
    ASSERT_EQ(
        setsockopt(end, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program),
        0);
}

class GlooPathTest : public testing::Test {
protected:
  void SetUp() override {
    const std::vector<int> before = openConnections();
    for (int self : {0, 1}) {
      networks[self] = *createGlooNetwork("127.0.0.1", 1s);
      const int peer = 1 - self;
      members[self] =
          *networks[self]->open(self, 2, {&peer, 1}, "of the run", 60s);
    }
    std::string addresses[] = {members[0]->address(1), members[1]->address(0)};
    std::thread other(
        [&] { EXPECT_TRUE(members[1]->connect(0, addresses[0]).ok()); });
    EXPECT_TRUE(members[0]->connect(1, addresses[1]).ok());
    other.join();
    ends = connectionsSince(before);
    ASSERT_EQ(ends.size(), 2u);
    exchange(8);
  }
  /// A message of so many bytes from member 0 to member 1.
  void send(size_t bytes) {
    sent.assign(bytes, 's');
    received.assign(bytes, 'r');
    EXPECT_TRUE(
        members[1]
            ->receive(0, tag, received.data(), static_cast<int64_t>(bytes))
            .ok());
    EXPECT_TRUE(members[0]
                    ->send(1, tag, sent.data(), static_cast<int64_t>(bytes))
                    .ok());
    members[1]->flush();
  }
  void exchange(size_t bytes) {
    send(bytes);
    std::thread sender([&] {
      auto left = members[0]->awaitSent();
      while (left.ok() && *left)
        left = members[0]->awaitSent();
      EXPECT_TRUE(left.ok()) << left.status();
    });
    EXPECT_TRUE(members[1]->awaitReceived(0, tag).ok());
    sender.join();
    ++tag.sequence;
    EXPECT_EQ(received, sent);
  }
  /// Without a limit: what does not come fails the whole suite.
  void expectLost(const absl::Status &status) {
    EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
    EXPECT_THAT(std::string(status.message()),
                testing::HasSubstr("no data that was sent was acknowledged "
                                   "for 1s"));
  }

  /// Of the next message.
  Tag tag = {MessageStream::Blocks, 0};
  std::string sent, received;
  std::vector<int> ends;
  std::array<std::unique_ptr<Network>, 2> networks;
  std::array<std::unique_ptr<Transport>, 2> members;
};

TEST_F(GlooPathTest, what_is_not_acknowledged_ends_a_connection) {
  dropLarger(ends, 0);
  send(1 << 20);
  while (true) {
    auto left = members[0]->awaitSent();
    if (left.ok() && *left)
      continue;
    // What was sent first is on its way, or lost with the connection.
    if (!left.ok())
      expectLost(left.status());
    break;
  }
  expectLost(members[0]->awaitReceived(1, Tag()));
  EXPECT_EQ(members[0]->ends(1).own, "127.0.0.1");
  EXPECT_EQ(members[0]->ends(1).peer, "127.0.0.1");
}

// As heartbeats are.
TEST_F(GlooPathTest, though_small_packets_pass) {
  constexpr uint32_t kSmall = 600;
  dropLarger(ends, kSmall);
  exchange(8);
  send(1 << 20);
  expectLost(members[0]->awaitReceived(1, Tag()));
}

// Both ask each other whether they are there.
TEST_F(GlooPathTest, who_has_nothing_to_send_notices_it) {
  dropLarger(ends, 0);
  for (int self : {0, 1})
    expectLost(members[self]->awaitReceived(1 - self, Tag()));
}

// However long nothing is sent.
TEST_F(GlooPathTest, who_says_nothing_is_not_lost) {
  std::this_thread::sleep_for(3s);
  exchange(1 << 20);
}

} // namespace
} // namespace bagua::runtime
