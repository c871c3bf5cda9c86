//===- TransportConformanceTest.cpp - What every transport promises -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The promises of Transport.h, one by one, over Gloo on loopback and in memory:
// order, tags, interrupts, ends of connections, and errors with their peer.
//
//===----------------------------------------------------------------------===//
#include "Communication/Gloo/GlooNetwork.h"
#include "Communication/Transport/MemoryNetwork.h"
#include "CommunicatorBackends.h"

#include "bagua/Runtime/ErrorPlace.h"

#include "absl/strings/str_cat.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace bagua::runtime {
namespace {

constexpr int kMembers = 3;

using Networks = std::vector<std::shared_ptr<Network>>;

struct Kind {
  const char *name;
  /// By member.
  Networks (*make)();
};

Networks makeGlooNetworks() {
  Networks networks;
  for (int member = 0; member < kMembers; ++member)
    networks.push_back(*createGlooNetwork("127.0.0.1", kLongTime));
  return networks;
}
Networks makeMemoryNetwork() {
  return Networks(kMembers, createMemoryNetwork());
}

const Kind kKinds[] = {{"gloo", makeGlooNetworks},
                       {"memory", makeMemoryNetwork}};

constexpr MessageStream kStream = MessageStream::Blocks;
constexpr Tag kFirst = {kStream, 0};

class TransportTest : public testing::TestWithParam<Kind> {
protected:
  void SetUp() override {
    networks = GetParam().make();
    for (int self = 0; self < kMembers; ++self) {
      std::vector<int> peers;
      for (int peer = 0; peer < kMembers; ++peer)
        if (peer != self)
          peers.push_back(peer);
      members.push_back(*networks[self]->open(self, kMembers, peers,
                                              "of the run", kLongTime));
    }
    for (int self = 0; self < kMembers; ++self)
      for (int peer = self + 1; peer < kMembers; ++peer)
        connect(self, peer);
  }
  void connect(int self, int peer) {
    const std::string own = members[self]->address(peer);
    const std::string theirs = members[peer]->address(self);
    std::thread other(
        [&] { EXPECT_TRUE(members[peer]->connect(self, own).ok()); });
    EXPECT_TRUE(members[self]->connect(peer, theirs).ok());
    other.join();
  }
  /// Until all that a member has sent is on its way.
  void awaitAllSent(int self) {
    auto more = members[self]->awaitSent();
    while (more.ok() && *more)
      more = members[self]->awaitSent();
    EXPECT_TRUE(more.ok()) << more.status();
  }
  absl::Status receive(int self, int peer, Tag tag, std::string &to) {
    return members[self]->receive(peer, tag, to.data(),
                                  static_cast<int64_t>(to.size()));
  }
  /// Keeps the text.
  absl::Status send(int self, int peer, Tag tag, std::string text) {
    const std::string &from = sent[self].emplace_back(std::move(text));
    return members[self]->send(peer, tag, from.data(),
                               static_cast<int64_t>(from.size()));
  }
  /// One message from member 1 to member 0 under this tag.
  void expectMessage(Tag tag, const std::string &text = "a message") {
    std::string received(text.size(), '-');
    ASSERT_TRUE(receive(0, 1, tag, received).ok());
    ASSERT_TRUE(send(1, 0, tag, text).ok());
    std::thread sender([&] { awaitAllSent(1); });
    EXPECT_TRUE(members[0]->awaitReceived(1, tag).ok());
    sender.join();
    EXPECT_EQ(received, text);
  }

  /// By sender.
  std::array<std::deque<std::string>, kMembers> sent;
  Networks networks;
  std::vector<std::unique_ptr<Transport>> members;
};

INSTANTIATE_TEST_SUITE_P(Transports, TransportTest, testing::ValuesIn(kKinds),
                         [](const auto &info) {
                           return std::string(info.param.name);
                         });

/// Of a message, which no other one has.
std::string textOf(int from, int to, Tag tag) {
  std::string text = absl::StrCat(from, " to ", to, ", ",
                                  streamName(tag.stream), " ", tag.sequence);
  std::minstd_rand random(static_cast<unsigned>(tag.sequence + 1));
  text.resize(64 + random() % 70000, static_cast<char>('a' + from));
  return text;
}

// All members to all, in all streams. Each member sends and awaits in an order
// of its own, in which the messages of one stream keep theirs.
TEST_P(TransportTest, messages_come_by_their_tags) {
  constexpr int kMessages = 12;
  using Place = std::pair<int, MessageStream>;
  auto placesOf = [](int self, unsigned seed) {
    std::vector<Place> places;
    for (int peer = 0; peer < kMembers; ++peer)
      for (int stream = 0; peer != self && stream < kStreams; ++stream)
        places.insert(places.end(), kMessages,
                      {peer, static_cast<MessageStream>(stream)});
    std::shuffle(places.begin(), places.end(),
                 std::minstd_rand(seed + static_cast<unsigned>(self)));
    return places;
  };
  onEachRank(kMembers, [&](int self) {
    Transport &transport = *members[self];
    std::map<std::pair<Place, int64_t>, std::string> received;
    std::map<Place, int64_t> counts;
    for (const Place &place : placesOf(self, 1)) {
      const Tag tag = {place.second, counts[place]++};
      EXPECT_TRUE(
          send(self, place.first, tag, textOf(self, place.first, tag)).ok());
    }
    counts.clear();
    for (const Place &place : placesOf(self, 50)) {
      const Tag tag = {place.second, counts[place]++};
      std::string &to = received[{place, tag.sequence}];
      to.resize(textOf(place.first, self, tag).size());
      EXPECT_TRUE(receive(self, place.first, tag, to).ok());
    }
    counts.clear();
    for (const Place &place : placesOf(self, 99)) {
      const Tag tag = {place.second, counts[place]++};
      EXPECT_TRUE(transport.awaitReceived(place.first, tag).ok());
      EXPECT_TRUE(transport.hasReceived(place.first, tag));
      const std::string &text = received[{place, tag.sequence}];
      EXPECT_EQ(text, textOf(place.first, self, tag));
    }
    awaitAllSent(self);
  });
}

TEST_P(TransportTest, what_is_sent_waits_for_its_receiver) {
  const std::string text(1 << 20, 'm');
  ASSERT_TRUE(send(1, 0, kFirst, text).ok());
  members[1]->flush();
  EXPECT_FALSE(members[0]->hasReceived(1, kFirst));
  std::thread sender([&] { awaitAllSent(1); });
  // Less may come than was expected.
  std::string received(text.size() + 3, '-');
  ASSERT_TRUE(receive(0, 1, kFirst, received).ok());
  EXPECT_TRUE(members[0]->awaitReceived(1, kFirst).ok());
  sender.join();
  EXPECT_EQ(received, text + "---");
  // Asked again, what is there is there.
  EXPECT_TRUE(members[0]->hasReceived(1, kFirst));
  EXPECT_TRUE(members[0]->awaitReceived(1, kFirst).ok());
  EXPECT_FALSE(members[0]->hasReceived(1, {kStream, 1}));
}

TEST_P(TransportTest, each_message_that_was_sent_is_told_once) {
  EXPECT_FALSE(*members[1]->awaitSent());
  std::string to[2] = {"12", "34"};
  for (int64_t i : {0, 1}) {
    ASSERT_TRUE(receive(0, 1, {kStream, i}, to[i]).ok());
    ASSERT_TRUE(send(1, 0, {kStream, i}, "ab").ok());
  }
  std::thread receiver([&] {
    EXPECT_TRUE(members[0]->awaitReceived(1, {kStream, 1}).ok());
    // The later one comes after the earlier one, which nobody has awaited.
    EXPECT_TRUE(members[0]->hasReceived(1, kFirst));
    EXPECT_TRUE(members[0]->awaitReceived(1, kFirst).ok());
  });
  EXPECT_TRUE(*members[1]->awaitSent());
  EXPECT_TRUE(*members[1]->awaitSent());
  EXPECT_FALSE(*members[1]->awaitSent());
  receiver.join();
}

TEST_P(TransportTest, an_interrupt_ends_one_wait) {
  std::string received = "-----";
  ASSERT_TRUE(receive(0, 1, kFirst, received).ok());
  // The next one.
  members[0]->interrupt();
  EXPECT_TRUE(absl::IsCancelled(members[0]->awaitReceived(1, kFirst)));
  // The one in progress, or the next one: whichever this finds.
  std::thread bell([&] { members[0]->interrupt(); });
  EXPECT_TRUE(absl::IsCancelled(members[0]->awaitReceived(1, kFirst)));
  bell.join();
  // What is sent to nobody yet.
  ASSERT_TRUE(send(1, 0, {MessageStream::Calls, 0}, "later").ok());
  members[1]->interrupt();
  EXPECT_TRUE(absl::IsCancelled(members[1]->awaitSent().status()));
  // And nothing is lost.
  std::string call = "-----";
  ASSERT_TRUE(receive(0, 1, {MessageStream::Calls, 0}, call).ok());
  ASSERT_TRUE(send(1, 0, kFirst, "whole").ok());
  std::thread sender([&] { awaitAllSent(1); });
  EXPECT_TRUE(members[0]->awaitReceived(1, kFirst).ok());
  EXPECT_TRUE(members[0]->awaitReceived(1, {MessageStream::Calls, 0}).ok());
  sender.join();
  EXPECT_EQ(received, "whole");
  EXPECT_EQ(call, "later");
  // Who asks for what is there hears of it all the same.
  members[0]->interrupt();
  EXPECT_TRUE(members[0]->awaitReceived(1, kFirst).ok());
  EXPECT_TRUE(absl::IsCancelled(members[0]->awaitReceived(1, {kStream, 1})));
}

TEST_P(TransportTest, a_tag_that_is_not_the_next_one_is_refused) {
  std::string text = "-";
  ASSERT_NO_FATAL_FAILURE(expectMessage(kFirst));
  for (int64_t wrong : {0, 2, -1}) {
    const absl::Status statuses[] = {send(1, 0, {kStream, wrong}, text),
                                     receive(0, 1, {kStream, wrong}, text)};
    for (int peer : {0, 1}) {
      EXPECT_TRUE(absl::IsInvalidArgument(statuses[peer])) << statuses[peer];
      EXPECT_EQ(
          statuses[peer].message(),
          absl::StrCat("message ", wrong, " of blocks, expected message 1"));
      ASSERT_TRUE(errorPlaceOf(statuses[peer]));
      EXPECT_EQ(errorPlaceOf(statuses[peer])->rank, peer);
    }
  }
  // Which has changed nothing.
  ASSERT_NO_FATAL_FAILURE(expectMessage({kStream, 1}));
  ASSERT_NO_FATAL_FAILURE(expectMessage({MessageStream::Results, 0}));
}

void expectEnd(const absl::Status &status, absl::StatusCode code, int peer) {
  EXPECT_EQ(status.code(), code) << status;
  ASSERT_TRUE(errorPlaceOf(status)) << status;
  EXPECT_EQ(errorPlaceOf(status)->rank, peer);
}

TEST_P(TransportTest, a_message_that_is_too_large_ends_the_connection) {
  std::string small(8, '-'), other(4, '-');
  ASSERT_TRUE(receive(0, 1, kFirst, small).ok());
  ASSERT_TRUE(receive(1, 0, kFirst, other).ok());
  ASSERT_TRUE(send(1, 0, kFirst, "more than fits").ok());
  std::thread sender([&] {
    expectEnd(members[1]->awaitReceived(0, kFirst),
              absl::StatusCode::kUnavailable, 0);
  });
  expectEnd(members[0]->awaitReceived(1, kFirst), absl::StatusCode::kDataLoss,
            1);
  sender.join();
  EXPECT_EQ(small, "--------");
  expectEnd(members[0]->awaitReceived(1, kFirst), absl::StatusCode::kDataLoss,
            1);
  EXPECT_FALSE(send(1, 0, {kStream, 1}, "x").ok());
  // Others go on.
  std::string text = "-";
  ASSERT_TRUE(receive(2, 1, kFirst, text).ok());
  ASSERT_TRUE(send(1, 2, kFirst, "y").ok());
  std::atomic<bool> isThere = false;
  std::thread third([&] {
    EXPECT_TRUE(members[2]->awaitReceived(1, kFirst).ok());
    isThere = true;
    members[1]->interrupt();
  });
  while (!isThere) // Its wait for what it could not send ends at once.
    (void)members[1]->hasReceived(2, kFirst);
  third.join();
  EXPECT_EQ(text, "y");
}

TEST_P(TransportTest, who_closes_is_lost_to_peers_and_touched_by_none) {
  std::string kept = "kept", came = "----", never = "-----";
  ASSERT_NO_FATAL_FAILURE(expectMessage(kFirst));
  ASSERT_TRUE(receive(1, 0, kFirst, kept).ok());
  ASSERT_TRUE(receive(0, 1, {kStream, 1}, came).ok());
  ASSERT_TRUE(receive(0, 1, {kStream, 2}, never).ok());
  ASSERT_TRUE(send(1, 0, {kStream, 1}, "came").ok());
  std::thread sender([&] {
    awaitAllSent(1);
    // It says no more.
    members[1]->close();
  });
  expectEnd(members[0]->awaitReceived(1, {kStream, 2}),
            absl::StatusCode::kUnavailable, 1);
  sender.join();
  EXPECT_EQ(came, "came");
  EXPECT_EQ(never, "-----");
  // What had come is there.
  EXPECT_TRUE(members[0]->hasReceived(1, {kStream, 1}));
  if (send(0, 1, kFirst, "over").ok()) {
    expectEnd(members[0]->awaitSent().status(), absl::StatusCode::kUnavailable,
              1);
  }
  EXPECT_EQ(kept, "kept");
}

TEST_P(TransportTest, another_connection_begins_anew) {
  const std::string before = members[0]->address(1);
  for (int self : {0, 1})
    ASSERT_TRUE(members[self]->renew(1 - self).ok());
  EXPECT_NE(members[0]->address(1), before);
  connect(0, 1);
  const std::string greetings[] = {std::string(Transport::kGreetingBytes, 'a'),
                                   std::string(Transport::kGreetingBytes, 'b')};
  ASSERT_TRUE(members[1]->greet(0, greetings[1]).ok());
  EXPECT_EQ(members[0]->awaitGreeting(1).value_or("nothing"), greetings[1]);
  members[1]->interrupt();
  EXPECT_TRUE(absl::IsCancelled(members[1]->awaitGreeting(0).status()));
  ASSERT_TRUE(members[0]->greet(1, greetings[0]).ok());
  EXPECT_EQ(members[1]->awaitGreeting(0).value_or("nothing"), greetings[0]);
  ASSERT_NO_FATAL_FAILURE(expectMessage(kFirst));
}

TEST_P(TransportTest, an_interrupt_ends_a_connection_before_it_begins) {
  for (int self : {0, 1})
    ASSERT_TRUE(members[self]->renew(1 - self).ok());
  members[0]->interrupt();
  EXPECT_TRUE(
      absl::IsCancelled(members[0]->connect(1, members[1]->address(0))));
  connect(0, 1);
  ASSERT_NO_FATAL_FAILURE(expectMessage(kFirst));
}

} // namespace
} // namespace bagua::runtime
