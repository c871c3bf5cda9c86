//===- PeerMeetingTest.cpp - Peers instead of strangers -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Members of a group meet over connections that strangers have taken, as a
// script says for each port. The faults that it makes: a stranger who says
// nothing, who says anything, who says what he was told, who goes; a peer that
// is turned away, hears nothing or waits for a connection that does not come,
// for a stranger at the other end; a peer that is heard when who waits for it
// might have given up.
//
//===----------------------------------------------------------------------===//
#include "Communication/Hosts/PeerMeeting.h"

#include "Communication/Memory/RunState.h"
#include "CommunicatorBackends.h"

#include "bagua/Runtime/ErrorPlace.h"

#include "absl/strings/str_cat.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <sys/socket.h>

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <map>
#include <mutex>
#include <random>
#include <thread>

namespace bagua::runtime {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;

/// What is at a member's port for a peer.
enum class Port {
  Peer,
  HeardLate,
  Silent,
  Noise,
  Echo,
  Goes,
  TurnsAway,
  NobodyComes
};

constexpr bool isPeer(Port port) {
  return port == Port::Peer || port == Port::HeardLate;
}

/// Longer than anybody waits for a greeting the first time.
constexpr std::chrono::milliseconds kLateness(700);

/// What a peer may find for a stranger at the other end.
constexpr Port kFound[] = {Port::Silent, Port::TurnsAway, Port::NobodyComes};

/// By member, peer and attempt.
using Script = std::function<Port(int, int, int)>;

/// All connections of a group.
class Switchboard {
public:
  Switchboard(Script atPorts, int ownFirst)
      : script(std::move(atPorts)), first(ownFirst) {}

  static std::string address(int member, int peer, int attempt) {
    return absl::StrCat(member, " to ", peer, ", ", attempt);
  }
  Port at(int member, int peer, int attempt) const {
    const Port own = script(member, peer, attempt);
    const Port other = script(peer, member, attempt);
    if (!isPeer(own) || isPeer(other))
      return own;
    // Who has a connection, if only to a stranger, has found this port, too.
    const bool mayStayAway = other == Port::TurnsAway || other == Port::Goes;
    return kFound[(member + peer + attempt + first) % (mayStayAway ? 3 : 2)];
  }

  std::mutex mutex;
  std::condition_variable changed;
  /// What was said, by member, peer and attempt, and from when on it is heard.
  struct Said {
    std::string text;
    std::chrono::steady_clock::time_point from;
  };
  std::map<std::tuple<int, int, int>, Said> said;
  /// Waits for greetings that have begun.
  int waits = 0;

private:
  const Script script;
  const int first;
};

class ScriptedTransport final : public Transport {
public:
  ScriptedTransport(Switchboard &allConnections, int member, int size)
      : board(allConnections), self(member), attempts(size) {}

  std::string address(int peer) const override {
    return Switchboard::address(self, peer, attempts[peer]);
  }
  absl::Status connect(int peer, const std::string &address) override {
    EXPECT_EQ(address, Switchboard::address(peer, self, attempts[peer]));
    std::unique_lock<std::mutex> lock(board.mutex);
    if (std::exchange(isInterrupted, false))
      return absl::CancelledError();
    if (here(peer) == Port::NobodyComes) {
      board.changed.wait(lock, [&] { return isInterrupted; });
      isInterrupted = false;
      return absl::UnavailableError("closed");
    }
    return here(peer) == Port::TurnsAway
               ? absl::AbortedError("Connection refused")
               : absl::OkStatus();
  }
  absl::Status renew(int peer) override {
    ++attempts[peer];
    return absl::OkStatus();
  }
  absl::Status greet(int peer, const std::string &text) override {
    EXPECT_EQ(text.size(), kGreetingBytes);
    if (here(peer) == Port::Goes)
      return absl::UnavailableError("Connection closed");
    std::lock_guard<std::mutex> lock(board.mutex);
    const bool isLate = here(peer) == Port::HeardLate;
    board.said[{self, peer, attempts[peer]}] = {
        text, std::chrono::steady_clock::now() + (isLate ? kLateness : 0ms)};
    board.changed.notify_all();
    return absl::OkStatus();
  }
  absl::StatusOr<std::string> awaitGreeting(int peer) override {
    const Port port = here(peer);
    if (port == Port::Noise)
      return std::string(kGreetingBytes, 'x');
    std::unique_lock<std::mutex> lock(board.mutex);
    const std::tuple<int, int, int> own = {self, peer, attempts[peer]};
    const std::tuple<int, int, int> theirs = {peer, self, attempts[peer]};
    if (port == Port::Echo && board.said.count(own))
      return board.said[own].text;
    ++board.waits;
    board.changed.notify_all();
    while (!isInterrupted) {
      const auto found = board.said.find(theirs);
      if (!isPeer(port) || found == board.said.end())
        board.changed.wait(lock);
      else if (std::chrono::steady_clock::now() < found->second.from)
        board.changed.wait_until(lock, found->second.from);
      else
        return found->second.text;
    }
    isInterrupted = false;
    return absl::CancelledError();
  }
  void interrupt() override {
    std::lock_guard<std::mutex> lock(board.mutex);
    isInterrupted = true;
    board.changed.notify_all();
  }

  int attemptsWith(int peer) const { return attempts[peer]; }
  bool isWithPeer(int peer) const { return isPeer(here(peer)); }

  // Nobody gets as far as messages.
  absl::Status send(int, Tag, const void *, int64_t) override {
    return absl::InternalError("a message");
  }
  absl::Status receive(int, Tag, void *, int64_t) override {
    return absl::InternalError("a message");
  }
  void flush() override {}
  absl::Status awaitReceived(int, Tag) override {
    return absl::InternalError("a message");
  }
  bool hasReceived(int, Tag) override { return false; }
  absl::StatusOr<bool> awaitSent() override { return false; }
  void close() override {}

private:
  Port here(int peer) const { return board.at(self, peer, attempts[peer]); }

  Switchboard &board;
  const int self;
  /// By peer.
  std::vector<int> attempts;
  bool isInterrupted = false;
};

/// Members that are a host each, and what their processes have.
class Members {
public:
  Members(int size, const Script &script, int first = 0)
      : board(script, first) {
    std::vector<ControlChannel> hub(size);
    std::vector<ControlChannel> others(size);
    for (int rank = 1; rank < size; ++rank) {
      int ends[2];
      EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
      hub[rank] = ControlChannel(Descriptor(ends[0]));
      others[rank] = ControlChannel(Descriptor(ends[1]));
    }
    for (int rank = 0; rank < size; ++rank) {
      std::vector<ControlChannel> channels;
      if (rank == 0)
        channels = std::move(hub);
      else
        channels.push_back(std::move(others[rank]));
      planes.push_back(std::make_shared<ControlPlane>(
          rank, size, std::move(channels), kLongTime));
      EXPECT_TRUE(planes.back()
                      ->start({[](const absl::Status &) {},
                               [](int, const std::string &) {},
                               [](int) {},
                               [](int, const absl::Status &) {},
                               {},
                               {}})
                      .ok());
      states.push_back(std::make_unique<RunState>(size, 1, kLongTime));
      transports.push_back(
          std::make_shared<ScriptedTransport>(board, rank, size));
    }
  }
  ~Members() {
    for (auto &plane : planes)
      plane->leave();
    for (auto &plane : planes)
      plane->retire();
  }

  /// What each member's meeting ends in.
  std::vector<absl::Status> meet(std::chrono::nanoseconds limit = kLongTime) {
    const int size = static_cast<int>(planes.size());
    std::vector<absl::Status> results(size);
    std::vector<std::thread> threads;
    for (int rank = 0; rank < size; ++rank)
      threads.emplace_back([&, rank] { results[rank] = meetAs(rank, limit); });
    for (std::thread &thread : threads)
      thread.join();
    return results;
  }

  Switchboard board;
  std::vector<std::shared_ptr<ScriptedTransport>> transports;
  std::vector<std::unique_ptr<RunState>> states;

private:
  absl::Status meetAs(int rank, std::chrono::nanoseconds limit) {
    const int size = static_cast<int>(planes.size());
    HostGroup group;
    group.name = "all";
    group.secret = "0123456789abcdef0123456789abcdef";
    group.self = rank;
    group.transport = transports[rank];
    std::vector<int> peers;
    std::vector<std::string> addresses;
    for (int member = 0; member < size; ++member) {
      group.members.push_back(member);
      group.hosts.push_back(member);
      if (member == rank)
        continue;
      peers.push_back(member);
      addresses.push_back(Switchboard::address(member, rank, 0));
    }
    Alarm alarm;
    PeerMeeting meeting(group, *states[rank], *planes[rank], alarm,
                        std::chrono::steady_clock::now() + limit);
    // As who opens connections has it: nothing else ends a wait.
    states[rank]->onAbort(rank, group.transport.get(),
                          [&] { group.transport->interrupt(); });
    absl::Status status = meeting.run(peers, addresses);
    states[rank]->onAbort(rank, group.transport.get(), nullptr);
    return status;
  }

  std::vector<std::shared_ptr<ControlPlane>> planes;
};

TEST(PeerMeetingTest, without_strangers_the_first_connections_hold) {
  auto countMore = [] {
    Members members(4, [](int, int, int) { return Port::Peer; });
    for (const absl::Status &status : members.meet())
      EXPECT_TRUE(status.ok()) << status;
    int more = 0;
    for (int rank = 0; rank < 4; ++rank)
      for (int peer = 0; peer < 4; ++peer)
        more += members.transports[rank]->attemptsWith(peer);
    return more;
  };
  // A member that gets no core for half a second is met by the next connection.
  int more = countMore();
  for (int again = 0; more > 0 && again < 9; ++again)
    more = countMore();
  EXPECT_EQ(more, 0);
}

/// Each kind of stranger at either end, once, and twice running, with whatever
/// the peer may find.
TEST(PeerMeetingTest, any_stranger_is_found_out) {
  for (Port port : {Port::HeardLate, Port::Silent, Port::Noise, Port::Echo,
                    Port::Goes, Port::TurnsAway})
    for (int times : {1, 2})
      for (int found = 0; found < 6; ++found) {
        const int taken = found % 2;
        Members members(
            2,
            [=](int member, int, int attempt) {
              return member == taken && attempt < times ? port : Port::Peer;
            },
            found / 2);
        for (const absl::Status &status : members.meet())
          EXPECT_TRUE(status.ok()) << status;
        for (int rank : {0, 1})
          EXPECT_TRUE(members.transports[rank]->isWithPeer(1 - rank));
      }
}

/// At ports by chance, of a group whose members go from peer to peer.
void meetByChance(int seed) {
  SCOPED_TRACE(seed);
  auto script = [seed](int member, int peer, int attempt) {
    std::seed_seq place = {seed, member, peer, attempt};
    std::mt19937 random(place);
    return attempt < 3 && random() % 2 == 0 ? static_cast<Port>(random() % 7)
                                            : Port::Peer;
  };
  Members members(2 + seed % 4, script, seed / 3);
  for (const absl::Status &status : members.meet())
    EXPECT_TRUE(status.ok()) << status;
  const int size = static_cast<int>(members.transports.size());
  for (int rank = 0; rank < size; ++rank)
    for (int peer = 0; peer < size; ++peer)
      if (peer != rank) {
        EXPECT_TRUE(members.transports[rank]->isWithPeer(peer));
        EXPECT_EQ(members.transports[rank]->attemptsWith(peer),
                  members.transports[peer]->attemptsWith(rank));
      }
}

/// Several groups at a time, since they mostly wait. In that of 111 a member
/// waits for a connection whose other end is gone, and others for that member.
TEST(PeerMeetingTest, strangers_anywhere) {
  const int end = std::getenv("BAGUA_FULL_TESTS") ? 1000 : 120;
  std::atomic<int> next{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 16; ++i)
    threads.emplace_back([&] {
      for (int seed = next++; seed < end; seed = next++)
        meetByChance(seed);
    });
  for (std::thread &thread : threads)
    thread.join();
}

/// Who has taken every port keeps the group from meeting, for as long as the
/// limit is.
TEST(PeerMeetingTest, a_stranger_who_stays) {
  Members members(2, [](int member, int, int) {
    return member == 1 ? Port::Silent : Port::Peer;
  });
  std::vector<absl::Status> results = members.meet(1500ms);
  for (int rank : {0, 1}) {
    EXPECT_FALSE(results[rank].ok());
    EXPECT_THAT(std::string(results[rank].message()),
                HasSubstr(absl::StrCat("rank ", 1 - rank, ": ")));
    EXPECT_EQ(errorPlaceOf(results[rank])->rank, 1 - rank);
  }
}

TEST(PeerMeetingTest, an_abort_ends_it) {
  Members members(3, [](int, int, int) { return Port::Silent; });
  std::thread aborter([&] {
    std::unique_lock<std::mutex> lock(members.board.mutex);
    members.board.changed.wait(lock, [&] { return members.board.waits >= 3; });
    lock.unlock();
    for (auto &state : members.states)
      state->abortFromAfar(absl::AbortedError("enough"));
  });
  for (const absl::Status &status : members.meet())
    EXPECT_EQ(status, absl::AbortedError("enough"));
  aborter.join();
}

} // namespace
} // namespace bagua::runtime
