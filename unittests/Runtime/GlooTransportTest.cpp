//===- GlooTransportTest.cpp - Gloo's connections at their ends -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a run meets seldom: bytes of strangers at a port that listens, a second
// connection after one that was real, a connection that is lost while a message
// is on its way.
//
//===----------------------------------------------------------------------===//
#include "Communication/Gloo/GlooNetwork.h"
#include "Communication/Secret.h"
#include "CommunicatorBackends.h"
#include "Files/Descriptor.h"
#include "OpenConnections.h"
#include "Yardstick.h"

#include "bagua/Runtime/ErrorPlace.h"
#include "bagua/Support/Fingerprint.h"

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <array>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace bagua::runtime {
namespace {

using namespace std::chrono_literals;

constexpr Tag kBlock = {MessageStream::Blocks, 0};

/// Two members of one group, each with a transport of its own.
class GlooTransportTest : public testing::Test {
protected:
  GlooTransportTest() { open(); }
  void open() {
    for (int self : {0, 1}) {
      networks[self] = *createGlooNetwork("127.0.0.1", kLongTime);
      const int peer = 1 - self;
      members[self] =
          *networks[self]->open(self, 2, {&peer, 1}, "of the run", kLongTime);
    }
  }

  std::array<absl::Status, 2> connect() {
    before = openConnections();
    next = {};
    std::string addresses[] = {members[0]->address(1), members[1]->address(0)};
    std::array<absl::Status, 2> statuses;
    std::thread other(
        [&] { statuses[1] = members[1]->connect(0, addresses[0]); });
    statuses[0] = members[0]->connect(1, addresses[1]);
    other.join();
    return statuses;
  }
  void connectAnew() {
    for (int self : {0, 1})
      ASSERT_TRUE(members[self]->renew(1 - self).ok());
    for (const absl::Status &status : connect())
      ASSERT_TRUE(status.ok()) << status;
  }
  /// Of waits that were over.
  void forgetInterrupts() {
    for (int self : {0, 1}) {
      members[self]->interrupt();
      EXPECT_TRUE(absl::IsCancelled(members[self]->connect(1 - self, "")));
    }
  }
  /// Runs `wait`; after this long all members' waits are interrupted. Whether
  /// they were.
  template <typename Wait>
  bool isInterruptedAfter(std::chrono::nanoseconds limit, Wait wait) {
    absl::Notification isOver;
    bool isInterrupted = false;
    std::thread bell([&] {
      if (isOver.WaitForNotificationWithTimeout(absl::FromChrono(limit)))
        return;
      isInterrupted = true;
      for (auto &member : members)
        member->interrupt();
    });
    wait();
    isOver.Notify();
    bell.join();
    return isInterrupted;
  }
  /// Waits for a greeting for a while.
  absl::StatusOr<std::string> hear(int self,
                                   std::chrono::nanoseconds limit = kLongTime) {
    forgetInterrupts();
    absl::StatusOr<std::string> said;
    if (isInterruptedAfter(
            limit, [&] { said = members[self]->awaitGreeting(1 - self); }))
      forgetInterrupts();
    return said;
  }

  /// From one member to the other, each of which waits.
  void expectMessage() {
    int sent = 7, received = 0;
    ASSERT_TRUE(members[0]->receive(1, next, &received, sizeof received).ok());
    ASSERT_TRUE(members[1]->send(0, next, &sent, sizeof sent).ok());
    std::thread sender([&] { EXPECT_TRUE(members[1]->awaitSent().ok()); });
    EXPECT_TRUE(members[0]->awaitReceived(1, next).ok());
    sender.join();
    ++next.sequence;
    EXPECT_EQ(received, sent);
  }

  /// Of expectMessage() on this connection.
  Tag next;
  /// Connections at the last connect().
  std::vector<int> before;
  std::array<std::unique_ptr<Network>, 2> networks;
  std::array<std::unique_ptr<Transport>, 2> members;
};

std::string greetingOf(char letter) {
  return std::string(Transport::kGreetingBytes, letter);
}

// The first connection was one, and was given up: what was said and awaited on
// it is nothing to the second, however late its greetings are awaited.
TEST_F(GlooTransportTest, another_connection_begins_anew) {
  for (int first : {0, 1}) {
    SCOPED_TRACE(first);
    const int other = 1 - first;
    for (const absl::Status &status : connect())
      ASSERT_TRUE(status.ok()) << status;
    EXPECT_TRUE(absl::IsCancelled(hear(first, 200ms).status()));
    connectAnew();
    const std::vector<int> ends = connectionsSince(before);
    ASSERT_TRUE(members[other]->greet(first, greetingOf('b')).ok());
    awaitReading(ends);
    EXPECT_EQ(members[first]->awaitGreeting(other).value_or("nothing"),
              greetingOf('b'));
    ASSERT_TRUE(members[first]->greet(other, greetingOf('a')).ok());
    awaitReading(ends);
    EXPECT_EQ(members[other]->awaitGreeting(first).value_or("nothing"),
              greetingOf('a'));
    // And so are messages.
    ASSERT_NO_FATAL_FAILURE(expectMessage());
    for (int self : {0, 1})
      ASSERT_TRUE(members[self]->renew(1 - self).ok());
  }
}

// Nobody has died, and no other message would tell of it.
TEST_F(GlooTransportTest, a_connection_lost_in_the_middle_of_a_message) {
  for (const absl::Status &status : connect())
    ASSERT_TRUE(status.ok()) << status;
  std::vector<char> from(size_t{256} << 20, 1), to(from.size());
  const auto bytes = static_cast<int64_t>(from.size());
  // A quarter of an hour's worth.
  constexpr unsigned kBytesPerSecond = 256 << 10;
  const std::vector<int> ends = connectionsSince(before);
  ASSERT_EQ(ends.size(), 2u);
  for (int end : ends)
    setsockopt(end, SOL_SOCKET, SO_MAX_PACING_RATE, &kBytesPerSecond,
               sizeof kBytesPerSecond);
  ASSERT_TRUE(members[0]->receive(1, kBlock, to.data(), bytes).ok());
  ASSERT_TRUE(members[1]->send(0, kBlock, from.data(), bytes).ok());
  absl::Status received;
  absl::StatusOr<bool> hasSent = true;
  std::thread receiver(
      [&] { received = members[0]->awaitReceived(1, kBlock); });
  std::thread sender([&] {
    while (hasSent.ok() && *hasSent)
      hasSent = members[1]->awaitSent();
  });
  awaitBytes(ends, 1 << 16);
  shutdown(ends[0], SHUT_RDWR);
  receiver.join();
  sender.join();
  EXPECT_TRUE(absl::IsUnavailable(received)) << received;
  EXPECT_TRUE(absl::IsUnavailable(hasSent.status())) << hasSent.status();
  EXPECT_EQ(to.back(), 0) << "the message was whole";
}

/// A message of Gloo's: its size, opcode, slot, offset and length, and ours,
/// its number.
std::string messageOf(uint64_t opcode, uint64_t slot, uint64_t sequence = 0) {
  const uint64_t fields[] = {
      opcode == 1 ? 80u : 48u, opcode, slot, 0, 32, sequence};
  return {reinterpret_cast<const char *>(fields), sizeof fields};
}

/// The first of a connection's slots, as members of this group know it.
uint64_t firstSlot() {
  const std::string digits = derive("of the run", "slots");
  const uint64_t number = fingerprintBytes(digits.data(), digits.size());
  return number - number % 8;
}

// A stranger may answer what he was told of: nobody waits for the rest.
TEST_F(GlooTransportTest, a_greeting_that_breaks_off) {
  for (const absl::Status &status : connect())
    ASSERT_TRUE(status.ok()) << status;
  const std::vector<int> ends = connectionsSince(before);
  ASSERT_EQ(ends.size(), 2u);
  for (int self : {0, 1})
    EXPECT_TRUE(absl::IsCancelled(hear(self, 1ms).status()));
  // Behind the streams'.
  const std::string head = messageOf(1, firstSlot() + kStreams);
  for (int end : ends)
    EXPECT_EQ(send(end, head.data(), head.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(head.size()));
  awaitReading(ends);
  shutdown(ends[0], SHUT_RDWR);
  for (int self : {0, 1})
    EXPECT_FALSE(members[self]->awaitGreeting(1 - self).ok());
}

// Gloo would pass over what it does not know, and take the middle of the next
// message for its head.
TEST_F(GlooTransportTest, what_is_no_message_ends_the_connection) {
  const std::string texts[] = {
      // Of Gloo's other buffers, and of a slot that nobody has.
      messageOf(0, 7), messageOf(1, 7), messageOf(4, 7),
      // Of another size than it says.
      messageOf(1, 7).replace(0, 1, "x"), messageOf(2, 7).replace(0, 1, "x"),
      std::string(48, '\xff')};
  for (const std::string &text : texts) {
    for (const absl::Status &status : connect())
      ASSERT_TRUE(status.ok()) << status;
    int received[2] = {};
    for (int self : {0, 1})
      ASSERT_TRUE(
          members[self]
              ->receive(1 - self, Tag(), &received[self], sizeof received[self])
              .ok());
    const std::vector<int> ends = connectionsSince(before);
    ASSERT_EQ(ends.size(), 2u);
    send(ends[0], text.data(), text.size(), MSG_NOSIGNAL);
    // One of them has heard it, and closes.
    std::array<absl::StatusCode, 2> found = {};
    auto wait = [&](int self) {
      found[self] = members[self]->awaitReceived(1 - self, Tag()).code();
    };
    isInterruptedAfter(kLongTime, [&] {
      std::thread other(wait, 1);
      wait(0);
      other.join();
    });
    EXPECT_THAT(found,
                testing::UnorderedElementsAre(absl::StatusCode::kDataLoss,
                                              absl::StatusCode::kUnavailable));
    open();
  }
}

TEST_F(GlooTransportTest, a_message_out_of_order_ends_the_connection) {
  for (const absl::Status &status : connect())
    ASSERT_TRUE(status.ok()) << status;
  ASSERT_NO_FATAL_FAILURE(expectMessage());
  const std::vector<int> ends = connectionsSince(before);
  ASSERT_EQ(ends.size(), 2u);
  std::array<std::array<std::byte, 32>, 2> received;
  // Member 0 has had a message of calls, and member 1 none.
  for (int self : {0, 1})
    ASSERT_TRUE(members[self]
                    ->receive(1 - self, {MessageStream::Calls, 1 - self},
                              received[self].data(), received[self].size())
                    .ok());
  const std::string text = messageOf(1, firstSlot(), 5) + std::string(32, 'x');
  ASSERT_EQ(send(ends[0], text.data(), text.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(text.size()));
  std::array<absl::Status, 2> found;
  auto wait = [&](int self) {
    found[self] = members[self]->awaitReceived(
        1 - self, {MessageStream::Calls, 1 - self});
  };
  std::thread other(wait, 1);
  wait(0);
  other.join();
  const int reader = absl::IsDataLoss(found[0]) ? 0 : 1;
  EXPECT_TRUE(absl::IsDataLoss(found[reader])) << found[reader];
  EXPECT_EQ(found[reader].message(),
            absl::StrCat("it sent message 5 of calls, expected message ",
                         1 - reader));
  EXPECT_TRUE(absl::IsUnavailable(found[1 - reader])) << found[1 - reader];
  for (int self : {0, 1})
    EXPECT_EQ(errorPlaceOf(found[self])->rank, 1 - self);
}

// Whatever a stranger says before the peer comes: the port is the peer's, or
// it is taken and another connection will do. Who waits for a peer that has
// found a stranger waits until it is interrupted; a connection that was just
// made may be closed by that.
TEST_F(GlooTransportTest, strangers_end_one_connection_at_most) {
  std::vector<std::string> texts = {
      "", "x", std::string(48, '\0'), std::string(480, '\xff'),
      "GET / HTTP/1.1\r\nHost: somebody.example\r\n"};
  for (uint64_t opcode : {1, 2, 3})
    for (uint64_t slot : {0, 4, 6})
      texts.push_back(messageOf(opcode, slot));
  const auto limit = scaled(50ms);
  int forgotten = 0;
  for (size_t i = 0; i < texts.size(); ++i)
    for (int self : {0, 1})
      for (bool goes : {false, true}) {
        SCOPED_TRACE(testing::Message() << "text " << i << " at " << self);
        const std::string address = members[self]->address(1 - self);
        const std::vector<int> earlier = openConnections();
        Descriptor stranger(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        ASSERT_EQ(::connect(stranger.number(),
                            reinterpret_cast<const sockaddr *>(address.data()),
                            sizeof(sockaddr_in)),
                  0);
        // Both ends: it was taken for the peer.
        const std::vector<int> ends = awaitConnectionsSince(earlier, 2);
        EXPECT_EQ(send(stranger.number(), texts[i].data(), texts[i].size(),
                       MSG_NOSIGNAL),
                  static_cast<ssize_t>(texts[i].size()));
        awaitReading(ends);
        if (goes)
          stranger.reset();
        int connected = 0;
        const bool isInterrupted = isInterruptedAfter(limit, [&] {
          for (const absl::Status &status : connect()) {
            EXPECT_TRUE(status.ok() || absl::IsAborted(status) ||
                        absl::IsCancelled(status))
                << status;
            connected += status.ok();
          }
        });
        // The port was that of who connects: what was said there is forgotten.
        if (connected == 2 && !isInterrupted) {
          ++forgotten;
          ASSERT_TRUE(members[self]->greet(1 - self, greetingOf('a')).ok());
          EXPECT_EQ(hear(1 - self).value_or("nothing"), greetingOf('a'));
          ASSERT_TRUE(members[1 - self]->greet(self, greetingOf('b')).ok());
          EXPECT_EQ(hear(self).value_or("nothing"), greetingOf('b'));
        }
        forgetInterrupts();
        ASSERT_NO_FATAL_FAILURE(connectAnew());
        ASSERT_NO_FATAL_FAILURE(expectMessage());
        open();
      }
  EXPECT_GT(forgotten, 0);
}

// It comes over the control plane, from who might say anything.
TEST_F(GlooTransportTest, an_address_that_is_none_is_refused) {
  const std::string real = members[0]->address(1);
  std::mt19937 random(5);
  for (int round = 0; round < 300; ++round) {
    std::string address = real;
    switch (round % 3) {
    case 0: // any length
      address.resize(random() % (2 * real.size()), 'x');
      break;
    case 1: // a kind of address that there is not
      address[0] = static_cast<char>(50 + random() % 200);
      break;
    default: // nothing of it is right
      for (char &byte : address)
        byte = static_cast<char>(128 + random() % 128);
    }
    if (address == real)
      continue;
    EXPECT_FALSE(members[1]->connect(0, address).ok()) << round;
    ASSERT_TRUE(members[1]->renew(0).ok());
  }
}

/// Threads of this process that wait for events.
int eventWaits() {
  int count = 0;
  for (const auto &task :
       std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream file(task.path() / "syscall");
    int call = 0;
    count += file >> call && (call == SYS_epoll_pwait
#ifdef SYS_epoll_wait
                              || call == SYS_epoll_wait
#endif
                             );
  }
  return count;
}

// Each network's thread wakes a hundred times a second while it has a
// connection to watch, and not at all once those that wait move their bytes.
TEST_F(GlooTransportTest, gloos_threads_rest_while_nobody_needs_them) {
  for (int round = 0; round < 3; ++round) {
    while (eventWaits() < 2) // They listen.
      std::this_thread::yield();
    for (const absl::Status &status : connect())
      ASSERT_TRUE(status.ok()) << status;
    do
      ASSERT_NO_FATAL_FAILURE(expectMessage());
    while (eventWaits() > 0);
    for (int self : {0, 1})
      ASSERT_TRUE(members[self]->renew(1 - self).ok());
  }
}

} // namespace
} // namespace bagua::runtime
