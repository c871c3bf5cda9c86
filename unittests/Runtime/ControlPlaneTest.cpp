//===- ControlPlaneTest.cpp - How processes know of each other ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Messages on a wire, whatever comes over it, and who hears what of whom.
//
//===----------------------------------------------------------------------===//
#include "Communication/Control/ControlPlane.h"
#include "CommunicatorBackends.h"
#include "Yardstick.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <csignal>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <random>
#include <string>

namespace bagua::runtime {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct Wire {
  Wire() {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    first = Descriptor(ends[0]);
    second = Descriptor(ends[1]);
  }
  Descriptor first, second;
};

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

ControlMessage makeMessage(const std::string &text) {
  ControlMessage message;
  message.kind = fb::ControlKind::Abort;
  message.rank = 7;
  message.code = 13;
  message.text = text;
  return message;
}

TEST(ControlChannelTest, messages_arrive_whole_and_in_order) {
  Wire wire;
  ControlChannel from(std::move(wire.first)), to(std::move(wire.second));
  // More than the kernel takes at once.
  const std::vector<std::string> texts = {"", "one", std::string(900000, 'x'),
                                          "two", std::string(800000, 'y')};
  for (const std::string &text : texts)
    from.queue(makeMessage(text));
  for (size_t next = 0; next < texts.size();) {
    ASSERT_TRUE(from.flush().ok());
    ASSERT_TRUE(to.fill().ok());
    auto message = to.next();
    ASSERT_TRUE(message.ok()) << message.status();
    if (!message->has_value())
      continue;
    EXPECT_EQ((*message)->text, texts[next++]);
    EXPECT_EQ((*message)->rank, 7);
    EXPECT_EQ((*message)->code, 13);
  }
  EXPECT_FALSE(from.hasUnsent());
}

TEST(ControlChannelTest, the_other_side_is_gone) {
  Wire wire;
  ControlChannel channel(std::move(wire.first));
  wire.second.reset();
  EXPECT_EQ(channel.fill().code(), absl::StatusCode::kUnavailable);
  channel.queue(makeMessage("x"));
  EXPECT_EQ(channel.flush().code(), absl::StatusCode::kUnavailable);
}

TEST(ControlChannelTest, long_messages_are_refused) {
  Wire wire;
  ControlChannel channel(std::move(wire.first));
  const unsigned char length[] = {0xff, 0xff, 0xff, 0x7f};
  ASSERT_EQ(write(wire.second.number(), length, 4), 4);
  ASSERT_TRUE(channel.fill().ok());
  EXPECT_THAT(std::string(channel.next().status().message()),
              HasSubstr("a message of 2147483647 bytes, expected at most"));
}

// Random bytes, and messages with some bytes changed, cut or repeated: each is
// a message or is refused, and reading comes to an end.
TEST(ControlChannelTest, garbage_does_no_harm) {
  std::mt19937 random(3);
  int refused = 0, read = 0;
  for (int round = 0; round < 20000; ++round) {
    flatbuffers::FlatBufferBuilder builder;
    ControlMessage message = makeMessage(std::string(random() % 40, 't'));
    message.hosts = {0, 1};
    builder.FinishSizePrefixed(fb::ControlMessage::Pack(builder, &message));
    std::string bytes(
        reinterpret_cast<const char *>(builder.GetBufferPointer()),
        builder.GetSize());
    for (unsigned i = random() % 4; i > 0; --i)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    if (round % 4 == 1)
      bytes.resize(random() % bytes.size());
    if (round % 4 == 2)
      bytes += bytes;
    if (round % 4 == 3)
      for (char &byte : bytes)
        byte = static_cast<char>(random() % 7 ? byte : random());
    Wire wire;
    ControlChannel channel(std::move(wire.first));
    ASSERT_EQ(write(wire.second.number(), bytes.data(), bytes.size()),
              static_cast<ssize_t>(bytes.size()));
    wire.second.reset();
    EXPECT_FALSE(channel.fill().ok());
    for (int i = 0; i < 3; ++i) {
      auto found = channel.next();
      refused += !found.ok();
      read += found.ok() && found->has_value();
      if (!found.ok() || !found->has_value())
        break;
    }
  }
  EXPECT_GT(refused, 1000);
  EXPECT_GT(read, 1000);
}

//===----------------------------------------------------------------------===//
// Three ranks
//===----------------------------------------------------------------------===//

/// What a rank hears; lives as long as somebody may still speak to it.
class Listener : public std::enable_shared_from_this<Listener> {
public:
  ControlEvents events() {
    auto self = shared_from_this();
    ControlEvents result;
    result.findHanging = [self](std::chrono::nanoseconds) {
      std::lock_guard<std::mutex> lock(self->mutex);
      return self->hanging;
    };
    result.isWaiting = [self] {
      ++self->timesAsked;
      return self->isWaiting.load();
    };
    result.onAbort = [self](const absl::Status &why) {
      self->add("abort " + std::string(why.message()));
    };
    result.onNote = [self](int rank, const std::string &what) {
      self->add("note " + std::to_string(rank) + " " + what);
    };
    result.onLeave = [self](int rank) {
      self->add("leave " + std::to_string(rank));
    };
    result.onLoss = [self](int rank, const absl::Status &why) {
      self->add("loss " + std::to_string(rank) + " " +
                std::string(why.message()));
    };
    return result;
  }
  std::vector<std::string> await(size_t count) {
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait_for(lock, kLongTime, [&] { return heard.size() >= count; });
    return heard;
  }

  void hang(const std::string &what) {
    std::lock_guard<std::mutex> lock(mutex);
    hanging = what;
  }

  /// Whether it waits for others, and how often it was asked that.
  std::atomic<bool> isWaiting = false;
  std::atomic<int> timesAsked = 0;

private:
  void add(const std::string &what) {
    std::lock_guard<std::mutex> lock(mutex);
    heard.push_back(what);
    changed.notify_all();
  }
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::string> heard;
  std::string hanging;
};

class ControlPlaneTest : public testing::Test {
protected:
  explicit ControlPlaneTest(std::chrono::nanoseconds patience = kLongTime)
      : patience(patience) {
    for (auto &listener : listeners)
      listener = std::make_shared<Listener>();
    std::vector<ControlChannel> hub(3);
    for (int rank = 1; rank < 3; ++rank) {
      Wire wire;
      hub[rank] = ControlChannel(std::move(wire.first));
      ends[rank] = std::move(wire.second);
    }
    planes[0] = std::make_shared<ControlPlane>(0, 3, std::move(hub), patience);
    EXPECT_TRUE(planes[0]->start(listeners[0]->events()).ok());
  }
  ~ControlPlaneTest() override {
    for (auto &plane : planes)
      if (plane) {
        plane->leave();
        plane->retire();
      }
    ends[2].reset(); // rank 0 waits for nobody
  }

  void start(int rank) { start(rank, listeners[rank]->events()); }
  void start(int rank, ControlEvents events) {
    std::vector<ControlChannel> channels;
    channels.emplace_back(std::move(ends[rank]));
    planes[rank] =
        std::make_shared<ControlPlane>(rank, 3, std::move(channels), patience);
    EXPECT_TRUE(planes[rank]->start(std::move(events)).ok());
  }

  const std::chrono::nanoseconds patience;
  const std::chrono::steady_clock::time_point begin =
      std::chrono::steady_clock::now();
  std::shared_ptr<Listener> listeners[3];
  Descriptor ends[3];
  std::shared_ptr<ControlPlane> planes[3];
};

TEST_F(ControlPlaneTest, all_hear_what_one_says) {
  start(1);
  start(2);
  planes[1]->note("compiles");
  planes[1]->abort(absl::DataLossError("bits"));
  for (int rank : {0, 2})
    EXPECT_THAT(listeners[rank]->await(2),
                ElementsAre("note 1 compiles", "abort bits"));
  planes[0]->note("waits");
  for (int rank : {1, 2})
    EXPECT_THAT(listeners[rank]->await(rank == 1 ? 1 : 3),
                testing::Contains("note 0 waits"));
}

TEST_F(ControlPlaneTest, the_first_claim_is_kept) {
  start(1);
  start(2);
  auto claim = [&](int rank, const std::string &text) {
    return *planes[rank]->claim("key", text, kLongTime, [] { return false; });
  };
  EXPECT_EQ(claim(2, "two"), "two");
  EXPECT_EQ(claim(0, "zero"), "two");
  EXPECT_EQ(claim(1, "one"), "two");
}

TEST_F(ControlPlaneTest, a_claim_ends_in_time) {
  start(1);
  // Rank 0 is asked nothing: the other end of this wire says nothing.
  Wire wire;
  std::vector<ControlChannel> channels;
  channels.emplace_back(std::move(wire.first));
  auto lonely =
      std::make_shared<ControlPlane>(1, 3, std::move(channels), patience);
  ASSERT_TRUE(lonely->start(listeners[2]->events()).ok());
  EXPECT_EQ(
      lonely->claim("key", "", 20ms, [] { return false; }).status().code(),
      absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(
      lonely->claim("key", "", kLongTime, [] { return true; }).status().code(),
      absl::StatusCode::kCancelled);
  lonely->retire();
}

TEST_F(ControlPlaneTest, who_ends_without_a_word_is_lost) {
  start(1);
  ends[2].reset();
  for (int rank : {0, 1})
    EXPECT_THAT(listeners[rank]->await(1),
                ElementsAre("loss 2 rank 2 is lost: its process ended"));
}

#ifndef __SANITIZE_THREAD__ // makes no threads in forked processes
// Workers that it has forked keep none of its connections open.
TEST_F(ControlPlaneTest, who_is_killed_is_lost_though_its_children_live) {
  int told[2];
  ASSERT_EQ(pipe(told), 0);
  const pid_t killed = fork();
  if (killed == 0) {
    start(1);
    const pid_t child = fork();
    if (child != 0 && write(told[1], &child, sizeof child) != sizeof child)
      _exit(1);
    while (true)
      pause();
  }
  ends[1].reset();
  pid_t child = 0;
  ASSERT_EQ(read(told[0], &child, sizeof child), ssize_t{sizeof child});
  kill(killed, SIGKILL);
  waitpid(killed, nullptr, 0);
  EXPECT_THAT(listeners[0]->await(1),
              ElementsAre("loss 1 rank 1 is lost: its process ended"));
  kill(child, SIGKILL);
  close(told[0]);
  close(told[1]);
}
#endif

TEST_F(ControlPlaneTest, who_leaves_is_not_lost) {
  start(1);
  start(2);
  planes[2]->leave();
  planes[2]->retire();
  planes[2].reset();
  for (int rank : {0, 1})
    EXPECT_THAT(listeners[rank]->await(1), ElementsAre("leave 2"));
  planes[1]->note("goes on");
  EXPECT_THAT(listeners[0]->await(2), ElementsAre("leave 2", "note 1 goes on"));
}

// A process that exits before it has said so is lost to the others. Here its
// thread has other work for as long as others once waited.
TEST_F(ControlPlaneTest, who_retires_waits_until_its_goodbye_is_sent) {
  std::atomic<bool> isAtWork = false, isDone = false;
  ControlEvents events = listeners[2]->events();
  events.onNote = [&](int, const std::string &) {
    const auto end = std::chrono::steady_clock::now() + 1500ms;
    isAtWork = true;
    while (std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(1ms);
    isDone = true;
  };
  start(1);
  start(2, events);
  planes[1]->note("compiles");
  while (!isAtWork)
    std::this_thread::yield();
  planes[2]->retire();
  EXPECT_TRUE(isDone);
}

// Rank 0 hands on between others after it has left.
TEST_F(ControlPlaneTest, others_hear_of_each_other_without_rank_0) {
  start(1);
  start(2);
  planes[0]->leave();
  planes[0]->retire();
  planes[0].reset();
  EXPECT_THAT(listeners[1]->await(1), ElementsAre("leave 0"));
  planes[2]->abort(absl::DataLossError("bits"));
  EXPECT_THAT(listeners[1]->await(2), ElementsAre("leave 0", "abort bits"));
}

TEST_F(ControlPlaneTest, who_sends_garbage_is_lost) {
  start(1);
  const std::string garbage(64, '\x11');
  ASSERT_EQ(write(ends[2].number(), garbage.data(), garbage.size()), 64);
  for (int rank : {0, 1})
    EXPECT_THAT(listeners[rank]->await(1),
                ElementsAre(HasSubstr("loss 2 rank 2 is lost: it sent ")));
}

struct Wrong {
  fb::ControlKind kind;
  int rank;
  int code;
  const char *found;
};

// Its messages say of which rank they are, so each is looked at.
TEST_F(ControlPlaneTest, who_says_in_rank_0s_place_what_can_not_be) {
  using Kind = fb::ControlKind;
  const Wrong all[] = {
      {Kind::Note, 1000000, 0,
       "a message with rank 1000000, expected one below 3"},
      {Kind::Leave, -1, 0, "a message with rank -1, expected one below 3"},
      {Kind::Lost, 3, 0, "a message with rank 3, expected one below 3"},
      {Kind::Abort, 2, 0, "a message with code 0, expected 1 to 16"},
      {Kind::Abort, 2, 17, "a message with code 17, expected 1 to 16"},
      {Kind::Claim, 0, 0, "a message of kind 8, which rank 0 does not send"},
      {Kind::Welcome, 0, 0, "a message of kind 1, which rank 0 does not send"},
      {Kind(99), 0, 0, "a message of kind 99, which rank 0 does not send"},
  };
  for (const Wrong &wrong : all) {
    Wire wire;
    std::vector<ControlChannel> channels;
    channels.emplace_back(std::move(wire.first));
    auto listener = std::make_shared<Listener>();
    auto plane =
        std::make_shared<ControlPlane>(1, 3, std::move(channels), patience);
    ASSERT_TRUE(plane->start(listener->events()).ok());
    ControlChannel hostile(std::move(wire.second));
    ControlMessage message = makeMessage("x");
    message.kind = wrong.kind;
    message.rank = wrong.rank;
    message.code = wrong.code;
    hostile.queue(message);
    ASSERT_TRUE(hostile.flush().ok());
    EXPECT_THAT(listener->await(1),
                ElementsAre(std::string("loss 0 rank 0 is lost: it sent ") +
                            wrong.found));
    plane->retire();
  }
}

TEST_F(ControlPlaneTest, nobody_speaks_for_another_rank) {
  start(1);
  ControlChannel hostile(std::move(ends[2]));
  ControlMessage message = makeMessage("x");
  message.kind = fb::ControlKind::Leave;
  message.rank = 1;
  hostile.queue(message);
  ASSERT_TRUE(hostile.flush().ok());
  EXPECT_THAT(listeners[1]->await(1),
              ElementsAre("loss 2 rank 2 is lost: it sent a message with rank "
                          "1, expected its own, 2"));
}

class ImpatientControlPlaneTest : public ControlPlaneTest {
protected:
  ImpatientControlPlaneTest() : ControlPlaneTest(scaled(500ms)) {}
};

// Rank 2 is connected and says nothing, as one that is stopped.
TEST_F(ImpatientControlPlaneTest, who_is_silent_is_lost_in_time) {
  start(1);
  for (int rank : {0, 1})
    EXPECT_THAT(
        listeners[rank]->await(1),
        ElementsAre(HasSubstr("rank 2 is lost: nothing was heard of it for")));
  EXPECT_GE(std::chrono::steady_clock::now() - begin, patience * 3 / 5);
  // It wakes, and learns that it was given up, before it may think so of rank
  // 0.
  start(2);
  EXPECT_THAT(
      listeners[2]->await(1),
      ElementsAre(HasSubstr("loss 2 rank 2 is lost: nothing was heard")));
}

// A thread of a rank's hangs, and the control plane's goes on: the rank is lost
// to all, once, itself included.
TEST_F(ImpatientControlPlaneTest, who_hangs_is_lost_though_it_is_heard_of) {
  start(1);
  start(2);
  for (int rank : {0, 1}) {
    const std::string loss = "loss " + std::to_string(rank) + " rank " +
                             std::to_string(rank) + " is lost: it hangs";
    listeners[rank]->hang("it hangs");
    const size_t count = rank + 1;
    for (auto &listener : listeners)
      EXPECT_EQ(listener->await(count).back(), loss);
  }
  std::this_thread::sleep_for(patience);
  for (auto &listener : listeners)
    EXPECT_EQ(listener->await(0).size(), 2u);
}

// As _exit() ends it, after it has left in order. Who waits for nobody is not
// concerned.
TEST_F(ImpatientControlPlaneTest, rank_0_that_has_left_may_end_early) {
  Wire wire;
  ControlChannel hub(std::move(wire.first));
  ends[1] = std::move(wire.second);
  start(1);
  for (fb::ControlKind kind :
       {fb::ControlKind::Leave, fb::ControlKind::Goodbye}) {
    ControlMessage message;
    message.kind = kind;
    hub.queue(message);
  }
  ASSERT_TRUE(hub.flush().ok());
  hub = ControlChannel();
  const auto isOver = [] { return false; };
  EXPECT_EQ(planes[1]->claim("key", "", kLongTime, isOver).status(),
            absl::UnavailableError(
                "rank 0, which keeps texts for all ranks, left before "
                "it sent 'key'"));
  while (listeners[1]->timesAsked < 3)
    std::this_thread::yield();
  EXPECT_THAT(listeners[1]->await(1), ElementsAre("leave 0"));
  listeners[1]->isWaiting = true;
  EXPECT_THAT(listeners[1]->await(2),
              ElementsAre("leave 0",
                          "loss 0 rank 0 is lost: its process ended, and the "
                          "other ranks exchanged their heartbeats through it"));
}

/// Whether a retired control plane's thread has ended, for which it waits.
bool isOver(const std::weak_ptr<ControlPlane> &retired) {
  const auto limit = std::chrono::steady_clock::now() + kLongTime;
  while (!retired.expired() && std::chrono::steady_clock::now() < limit)
    std::this_thread::sleep_for(1ms);
  return retired.expired();
}

// Those hang in their own programs, and never leave.
TEST_F(ImpatientControlPlaneTest, rank_0_of_a_failed_run_does_not_linger) {
  start(1);
  start(2);
  std::weak_ptr<ControlPlane> retired = planes[0];
  planes[0]->abort(absl::DataLossError("bits"));
  planes[0]->leave();
  planes[0]->retire();
  planes[0].reset();
  for (int rank : {1, 2})
    EXPECT_THAT(listeners[rank]->await(2),
                ElementsAre("abort bits", "leave 0"));
  EXPECT_TRUE(isOver(retired));
}

TEST_F(ImpatientControlPlaneTest, rank_0_of_a_program_that_ends_does_not) {
  start(1);
  start(2);
  std::weak_ptr<ControlPlane> retired = planes[0];
  planes[0]->limitStay();
  planes[0]->leave();
  planes[0]->retire();
  planes[0].reset();
  EXPECT_TRUE(isOver(retired));
  // Ranks that leave as well need no rank 0, and are told of no loss.
  for (int rank : {1, 2})
    EXPECT_THAT(listeners[rank]->await(1), ElementsAre("leave 0"));
}

// Those that speak are not, however little they have to say.
TEST_F(ImpatientControlPlaneTest, who_only_lives_is_not_lost) {
  start(1);
  start(2);
  std::this_thread::sleep_for(3 * patience);
  for (auto &listener : listeners)
    EXPECT_THAT(listener->await(0), IsEmpty());
}

} // namespace
} // namespace bagua::runtime
