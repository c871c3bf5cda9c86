//===- RendezvousTest.cpp - How processes find each other -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Who is let in: ranks that don't agree, don't come or come twice,
// strangers, and what a former run has left.
//
//===----------------------------------------------------------------------===//
#include "Communication/Control/ControlChannel.h"
#include "Communication/Rendezvous/MeetingMessages.h"
#include "Communication/Rendezvous/Sockets.h"
#include "Communication/Secret.h"
#include "CommunicatorBackends.h"
#include "Yardstick.h"

#include "bagua/Runtime/Processes.h"

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/synchronization/blocking_counter.h"
#include "absl/synchronization/notification.h"
#include "gmock/gmock.h"

#include <csignal>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <fstream>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <vector>

namespace bagua::runtime {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

/// Says when somebody has looked there.
class WatchedStore final : public Store {
public:
  WatchedStore(const std::string &path, absl::Notification &ownHasLooked)
      : file(createFileStore(path)), hasLooked(ownHasLooked) {}

  absl::Status set(const std::string &name, const std::string &text) override {
    return file->set(name, text);
  }
  absl::StatusOr<std::optional<std::string>>
  get(const std::string &name) override {
    auto text = file->get(name);
    if (!hasLooked.HasBeenNotified())
      hasLooked.Notify();
    return text;
  }

private:
  const std::unique_ptr<Store> file;
  absl::Notification &hasLooked;
};

class RendezvousTest : public testing::Test {
protected:
  RendezvousTest()
      : path(testing::TempDir() + "/bagua-rendezvous-" +
             std::to_string(getpid()) + "-" +
             testing::UnitTest::GetInstance()->current_test_info()->name()) {
    std::remove(path.c_str());
  }
  ~RendezvousTest() override { std::remove(path.c_str()); }

  absl::StatusOr<std::unique_ptr<World>>
  connect(int rank, int size, std::chrono::nanoseconds timeout = kLongTime,
          std::shared_ptr<Store> store = nullptr) {
    ProcessOptions options;
    options.rank = rank;
    options.size = size;
    options.store = store ? std::move(store) : createFileStore(path);
    options.timeout = timeout;
    options.patience = kLongTime;
    return connectProcesses(options);
  }
  /// Rank 0 and rank 1 of two, who comes first and finds what is there.
  void meetOneByOne() {
    absl::Notification hasLooked;
    onEachRank(2, [&](int rank) {
      if (rank == 0)
        hasLooked.WaitForNotification();
      auto world =
          connect(rank, 2, kLongTime,
                  rank == 1 ? std::make_shared<WatchedStore>(path, hasLooked)
                            : nullptr);
      ASSERT_TRUE(world.ok()) << world.status();
      EXPECT_TRUE(joinAll(**world)->barrier().ok());
    });
  }
  /// What rank 0 says of itself, once it does: where it listens, the run's
  /// secret, and what tells hosts from each other.
  std::vector<std::string> awaitRecord() {
    auto store = createFileStore(path);
    while (true) {
      auto record = store->get("bagua/rank0");
      if (record.ok() && *record)
        return absl::StrSplit(**record, ' ');
      std::this_thread::sleep_for(1ms);
    }
  }
  TcpAddress awaitAddress() { return *parseTcpAddress(awaitRecord()[0]); }
  /// Says to rank 0 what a rank would, if it is there.
  ControlChannel sayHello(int rank, int size, int version = kProtocol,
                          uint64_t process = 1, const std::string &host = "") {
    const std::vector<std::string> record = awaitRecord();
    auto socket = connectTo(*parseTcpAddress(record[0]),
                            std::chrono::steady_clock::now() + kLongTime);
    if (!socket.ok())
      return {};
    ControlChannel channel(*std::move(socket));
    JoinOptions options;
    options.rank = rank;
    options.size = size;
    options.host = host;
    options.patience = kLongTime;
    ControlMessage hello = helloOf(options, process, record[1]);
    hello.version = version;
    channel.queue(hello);
    channel.flush().IgnoreError();
    return channel;
  }
  /// None where the connection ends before one.
  static std::optional<ControlMessage> awaitMessage(ControlChannel &channel) {
    std::optional<ControlMessage> said;
    absl::Status read;
    while (!said && read.ok()) {
      read = channel.fill(); // rank 0 may close it behind its message
      if (auto next = channel.next(); next.ok())
        said = *std::move(next);
    }
    return said;
  }

  const std::string path;
};

// Two runs at the same ports, the first of which somebody else has, who says
// nothing: ranks find their own run.
TEST_F(RendezvousTest, runs_share_a_range_of_ports) {
  auto taken = listenOn({"127.0.0.1", 0});
  ASSERT_TRUE(taken.ok()) << taken.status();
  const int port = addressOf(taken->number())->port;
  const std::string range = toString({"127.0.0.1", port, 24});
  EXPECT_EQ(parseTcpAddress(range)->ports, 24);
  onEachRank(6, [&](int thread) {
    ProcessOptions options;
    options.rank = thread / 2;
    options.size = 3;
    options.address = range;
    options.run = thread % 2 ? "one" : "other";
    options.timeout = kLongTime;
    auto world = connectProcesses(options);
    ASSERT_TRUE(world.ok()) << world.status();
    auto all = joinAll(**world);
    const int64_t own = thread % 2;
    std::vector<int64_t> found(3);
    ASSERT_TRUE(all->gatherFromOwners(&own, found.data(), 3, DataType::Int64, 3,
                                      firstMembers(3))
                    .ok());
    EXPECT_EQ(found, std::vector<int64_t>(3, own));
  });
}

TEST_F(RendezvousTest, ranges_of_ports_are_checked) {
  for (const char *text :
       {"a:5-4", "a:1-2-3", "a:1-65536", "a:-1", "a:1-", ":5"})
    EXPECT_FALSE(parseTcpAddress(text).ok()) << text;
  EXPECT_EQ(toString(*parseTcpAddress("[::1]:7-9")), "[::1]:7-9");
  EXPECT_EQ(toString(*parseTcpAddress("a:7-7")), "a:7");
}

TEST_F(RendezvousTest, ranks_that_do_not_come_are_named) {
  absl::Status status = connect(0, 3, 100ms).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("rank 0 waited 100ms for ranks 1, 2 to come"));
  status = connect(1, 3, 100ms).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("rank 1 waited 100ms for rank 0: rank 0 has failed: "
                        "rank 0 waited 100ms for ranks 1, 2 to come"));
  std::remove(path.c_str());
  ASSERT_TRUE(connect(0, 1).ok());
  EXPECT_THAT(std::string(connect(1, 3, 100ms).status().message()),
              HasSubstr("rank 1 waited 100ms for rank 0: can't reach"));
}

// Those that have come are told, by rank 0, for whom it waited in vain.
TEST_F(RendezvousTest, who_has_come_hears_why_it_was_in_vain) {
  const auto limit = scaled(2s);
  onEachRank(2, [&](int rank) {
    absl::Status status =
        connect(rank, 3, rank == 0 ? limit : kLongTime).status();
    EXPECT_THAT(
        std::string(status.message()),
        HasSubstr("rank 0 waited " + textOf(limit) + " for ranks 2 to come"));
  });
}

// Who gives up before rank 0 does knows as well who is missing, and is not said
// to have never come.
TEST_F(RendezvousTest, who_is_missing_is_named_by_those_who_wait) {
  const auto limit = scaled(2s);
  onEachRank(2, [&](int rank) {
    absl::Status status =
        connect(rank, 3, rank == 0 ? 2 * limit : limit).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
    EXPECT_EQ(status.message(),
              rank == 0 ? "rank 0 waited " + textOf(2 * limit) +
                              " for ranks 2 to come"
                        : "rank 1 waited " + textOf(limit) +
                              " for rank 0: it waits for ranks 2 to come");
  });
}

// Whether or not rank 0 has heard it before it went.
TEST_F(RendezvousTest, who_has_gone_comes_again) {
  std::thread others([&] {
    for (int i = 0; i < 20; ++i)
      sayHello(1, 3);
    std::vector<std::thread> ranks;
    for (int rank : {1, 2})
      ranks.emplace_back([&, rank] {
        auto world = connect(rank, 3);
        EXPECT_TRUE(world.ok()) << world.status();
      });
    for (std::thread &rank : ranks)
      rank.join();
  });
  auto world = connect(0, 3);
  EXPECT_TRUE(world.ok()) << world.status();
  others.join();
}

TEST_F(RendezvousTest, ranks_of_another_version_are_refused) {
  std::thread other([&] {
    ControlChannel channel = sayHello(1, 2, 99);
    std::optional<ControlMessage> said = awaitMessage(channel);
    ASSERT_TRUE(said);
    EXPECT_EQ(said->kind, fb::ControlKind::Refusal);
  });
  EXPECT_EQ(connect(0, 2).status().message(),
            "rank 1 speaks version 99 of the protocol, rank 0 version 5");
  other.join();
}

// The impatient one would take the other for lost.
TEST_F(RendezvousTest, ranks_have_one_patience) {
  onEachRank(2, [&](int rank) {
    ProcessOptions options;
    options.rank = rank;
    options.size = 2;
    options.store = createFileStore(path);
    options.patience = rank == 0 ? 10s : 300ms;
    absl::Status status = connectProcesses(options).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(status.message(), "rank 1 lets others be silent for 300ms "
                                "(patience), rank 0 for 10s");
  });
}

// Not waited for without a word: those who have come fill all that there are.
TEST_F(RendezvousTest, rank_0_says_that_it_has_no_descriptors) {
  const pid_t process = fork();
  if (process == 0) {
    const auto few = static_cast<rlim_t>(dup(0) + 12);
    const rlimit limit = {few, few};
    setrlimit(RLIMIT_NOFILE, &limit);
    absl::Status status = connect(0, 40).status();
    _exit(status.code() == absl::StatusCode::kResourceExhausted &&
                  absl::StrContains(
                      status.message(),
                      "rank 0 needs a connection to each of 39 "
                      "ranks: can't accept a connection: Too many open")
              ? 0
              : 1);
  }
  std::vector<ControlChannel> guests;
  for (int rank = 1; rank < 39; ++rank)
    guests.push_back(sayHello(rank, 40));
  int status = 1;
  waitpid(process, &status, 0);
  EXPECT_EQ(status, 0);
}

// As a record says that somebody has left who is on another host.
TEST_F(RendezvousTest, loopback_of_another_host_is_not_tried) {
  ASSERT_TRUE(
      createFileStore(path)->set("bagua/rank0", "127.0.0.1:1 00ff 11").ok());
  EXPECT_THAT(std::string(connect(1, 2, 100ms).status().message()),
              HasSubstr("rank 1 waited 100ms for rank 0: rank 0 listens at "
                        "127.0.0.1:1 of another host, which this host can't "
                        "reach: expected rank 0 to have an address or an "
                        "interface that other hosts reach"));
}

TEST_F(RendezvousTest, ranks_that_count_differently_are_told) {
  onEachRank(2, [&](int rank) {
    absl::Status status = connect(rank, rank == 1 ? 4 : 3).status();
    EXPECT_THAT(
        std::string(status.message()),
        HasSubstr("rank 1 says that the run has 4 ranks, rank 0 says 3"));
  });
}

TEST_F(RendezvousTest, a_rank_that_comes_twice_is_refused) {
  onEachRank(3, [&](int thread) {
    absl::Status status = connect(thread == 2 ? 1 : thread, 3).status();
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("two processes have joined as rank 1"));
  });
}

// It floods rank 0, which neither keeps what it says nor is kept busy by it.
TEST_F(RendezvousTest, a_rank_that_speaks_out_of_turn_is_not_there) {
  std::thread others([&] {
    ControlChannel talker = sayHello(1, 3, kProtocol, 7);
    ASSERT_TRUE(awaitMessage(talker)); // rank 0 knows it
    ControlMessage message;
    message.kind = fb::ControlKind::Claim;
    message.text = std::string(500'000, 'x');
    absl::Status status;
    while (status.ok()) {
      talker.queue(message);
      while (status.ok() && talker.hasUnsent())
        status = talker.flush();
    }
    std::thread last([&] {
      auto world = connect(2, 3);
      EXPECT_TRUE(world.ok()) << world.status();
    });
    auto world = connect(1, 3);
    EXPECT_TRUE(world.ok()) << world.status();
    last.join();
  });
  auto world = connect(0, 3);
  EXPECT_TRUE(world.ok()) << world.status();
  others.join();
}

// Rank 0 has not heard that its first connection has gone, as where a network
// was cut.
TEST_F(RendezvousTest, who_was_cut_off_comes_again) {
  std::thread others([&] {
    ControlChannel first = sayHello(1, 3, kProtocol, 7);
    // Until rank 0 knows it.
    std::optional<ControlMessage> said = awaitMessage(first);
    ASSERT_TRUE(said);
    EXPECT_EQ(said->kind, fb::ControlKind::Heartbeat);
    ControlChannel second = sayHello(1, 3, kProtocol, 7);
    auto world = connect(2, 3);
    EXPECT_TRUE(world.ok()) << world.status();
  });
  auto world = connect(0, 3);
  EXPECT_TRUE(world.ok()) << world.status();
  others.join();
}

#ifndef __SANITIZE_THREAD__ // makes no threads in forked processes
// What others said meanwhile lies in its socket, and it is let out of the
// meeting by nobody.
TEST_F(RendezvousTest, who_stood_still_is_there_all_the_same) {
  const pid_t process = fork();
  if (process == 0)
    _exit(connect(1, 4).ok() ? 0 : 1);
  std::thread others([&] {
    // Rank 0 says for whom it waits, until it is not for that one.
    ControlChannel observer = sayHello(3, 4);
    std::optional<ControlMessage> said;
    while ((said = awaitMessage(observer)) && said->text != "ranks 2 to come") {
    }
    ASSERT_TRUE(said);
    observer = ControlChannel();
    kill(process, SIGSTOP);
    std::vector<std::unique_ptr<World>> worlds(2);
    onEachRank(2, [&](int other) {
      auto world = connect(2 + other, 4);
      ASSERT_TRUE(world.ok()) << world.status();
      worlds[other] = *std::move(world);
    });
    // Longer than ranks that meet wait for each other, shorter than the
    // patience of those that have met.
    std::this_thread::sleep_for(6s);
    kill(process, SIGCONT);
    int status = 1;
    waitpid(process, &status, 0);
    EXPECT_EQ(status, 0);
  });
  auto world = connect(0, 4);
  EXPECT_TRUE(world.ok()) << world.status();
  others.join();
}

// A group of a host's ranks meets where rank 0 says.
TEST_F(RendezvousTest, who_waits_for_an_answer_of_rank_0_says_so) {
  const pid_t process = fork();
  if (process == 0) {
    auto world = connect(0, 3);
    while (world.ok())
      pause();
    _exit(1);
  }
  std::vector<std::unique_ptr<World>> worlds(2);
  onEachRank(2, [&](int other) {
    auto world = connect(1 + other, 3);
    ASSERT_TRUE(world.ok()) << world.status();
    worlds[other] = *std::move(world);
  });
  kill(process, SIGSTOP);
  int status = 0;
  waitpid(process, &status, WUNTRACED);
  EXPECT_EQ(worlds[0]
                ->createCommunicator({1, 2}, "both", {100ms, {}, {}})
                .status()
                .message(),
            "communicator 'both': create_communicator of rank 1 waited 100ms "
            "for rank 0");
  kill(process, SIGKILL);
  waitpid(process, nullptr, 0);
}
#endif

/// What all users of this host can read.
std::string readNames() {
  std::ostringstream names;
  names << std::ifstream("/proc/net/unix").rdbuf();
  return names.str();
}

// While ranks meet for their shared memory, its giver has a name there.
TEST_F(RendezvousTest, the_secret_is_in_no_name) {
  std::thread first([&] {
    EXPECT_EQ(connect(0, 2).status().message(),
              "rank 1 is lost: its process ended");
  });
  const std::vector<std::string> record = awaitRecord();
  const std::string secret = record[1];
  // One that has come, and does not take the memory.
  ControlChannel guest =
      sayHello(1, 2, kProtocol, 1, absl::HexStringToBytes(record[2]));
  std::optional<ControlMessage> said;
  while ((said = awaitMessage(guest)) &&
         said->kind != fb::ControlKind::Welcome) {
  }
  ASSERT_TRUE(said);
  EXPECT_EQ(said->secret, secret);
  const std::string name = "@bagua-" + derive(secret, "memory of rank 0");
  std::string names;
  const auto limit = std::chrono::steady_clock::now() + kLongTime;
  do
    names = readNames();
  while (!absl::StrContains(names, name) && !absl::StrContains(names, secret) &&
         std::chrono::steady_clock::now() < limit);
  EXPECT_TRUE(absl::StrContains(names, name));
  EXPECT_FALSE(absl::StrContains(names, secret.substr(0, 8)));
  guest = ControlChannel();
  first.join();
}

// Neither the secret nor anything by which a stranger could say to be rank 0.
TEST_F(RendezvousTest, who_listens_in_rank_0s_place_learns_nothing) {
  auto stranger = listenOn({"127.0.0.1", 0});
  ASSERT_TRUE(stranger.ok());
  ASSERT_TRUE(connect(0, 1).ok());
  const std::string network = awaitRecord()[2];
  const std::string secret(32, 'a');
  auto store = createFileStore(path);
  ASSERT_TRUE(store
                  ->set("bagua/rank0",
                        absl::StrCat(toString(*addressOf(stranger->number())),
                                     " ", secret, " ", network))
                  .ok());
  absl::Status status;
  std::thread guest([&] { status = connect(1, 2).status(); });
  for (int i = 0; i < 8; ++i) {
    ASSERT_TRUE(awaitReadable(stranger->number(),
                              std::chrono::steady_clock::now() + kLongTime));
    auto come = acceptFrom(*stranger);
    ASSERT_TRUE(come.ok() && *come);
    ControlChannel channel(*std::move(come));
    std::optional<ControlMessage> hello = awaitMessage(channel);
    ASSERT_TRUE(hello);
    EXPECT_EQ(hello->secret, "");
    EXPECT_NE(hello->proof, secret);
    // What it has heard, in the place of what it can't know.
    ControlMessage answer;
    answer.kind = i % 2 ? fb::ControlKind::Welcome : fb::ControlKind::Refusal;
    answer.code = 3;
    answer.hosts = {0, 0};
    answer.secret = i % 4 < 2 ? hello->proof : secret;
    answer.proof = hello->proof;
    JoinOptions options;
    options.store = store.get();
    EXPECT_EQ(
        readAnswer(answer, *hello, secret, options).status(),
        absl::AbortedError("the process that listens there is not rank 0 of "
                           "this run: it does not know the run's secret"));
    channel.queue(answer);
    channel.flush().IgnoreError();
  }
  leaveFailure(*store, absl::DataLossError("enough"));
  guest.join();
  EXPECT_EQ(status, absl::DataLossError("rank 0 has failed: enough"));
}

// They take all the room there is for those who have not said who they are, and
// come again as soon as they are turned away.
TEST_F(RendezvousTest, silent_strangers_keep_nobody_waiting) {
  std::atomic<bool> isOver{false};
  std::atomic<int> turnedAway{0};
  std::thread strangers([&] {
    const TcpAddress address = awaitAddress();
    std::vector<Descriptor> silent(400);
    while (!isOver) {
      for (Descriptor &each : silent) {
        char byte;
        const bool isOpen = each &&
                            recv(each.number(), &byte, 1, MSG_DONTWAIT) < 0 &&
                            errno == EAGAIN;
        if (isOpen || isOver)
          continue;
        turnedAway += each ? 1 : 0;
        auto socket = connectTo(address, std::chrono::steady_clock::now() + 1s);
        each = socket.ok() ? *std::move(socket) : Descriptor();
      }
    }
  });
  std::vector<std::thread> ranks;
  // 64 at a time, each with 2 s to say who it is, would take longer than this.
  ranks.emplace_back([&] { EXPECT_TRUE(connect(0, 4, 120s).ok()); });
  while (turnedAway < 4000 && !HasFailure())
    std::this_thread::sleep_for(1ms);
  for (int rank = 1; rank < 4; ++rank)
    ranks.emplace_back([&, rank] { EXPECT_TRUE(connect(rank, 4).ok()); });
  for (std::thread &rank : ranks)
    rank.join();
  isOver = true;
  strangers.join();
}

// Garbage, silence, messages of another run: none of it keeps ranks apart.
TEST_F(RendezvousTest, strangers_are_turned_away) {
  std::atomic<int> come{0};
  std::thread strangers([&] {
    TcpAddress address = awaitAddress();
    std::vector<Descriptor> silent;
    std::mt19937 random(7);
    for (int i = 0; i < 100; ++i) {
      auto socket =
          connectTo(address, std::chrono::steady_clock::now() + kLongTime);
      if (!socket.ok())
        break; // all have come
      std::string bytes(random() % 300, '\0');
      for (char &byte : bytes)
        byte = static_cast<char>(random());
      if (i % 3 == 1) {
        ControlChannel channel(Descriptor(dup(socket->number())));
        ControlMessage hello;
        hello.kind = fb::ControlKind::Hello;
        hello.rank = 1;
        hello.size = 3;
        hello.version = kProtocol;
        hello.proof = std::string(32, 'a');
        channel.queue(hello);
        channel.flush().IgnoreError();
      } else if (i % 3 == 2) {
        send(socket->number(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      }
      ++come;
      if (i < 20)
        silent.push_back(*std::move(socket));
    }
  });
  onEachRank(3, [&](int rank) {
    while (come < 30 * rank)
      std::this_thread::yield();
    auto world = connect(rank, 3);
    ASSERT_TRUE(world.ok()) << world.status();
    EXPECT_TRUE(joinAll(**world)->barrier().ok());
  });
  strangers.join();
}

// A former run's rank 0 may be gone, or stopped so that its socket still takes
// connections and says nothing.
TEST_F(RendezvousTest, a_former_runs_record_is_passed_over) {
  auto stopped = listenOn({"127.0.0.1", 0});
  ASSERT_TRUE(stopped.ok());
  ASSERT_TRUE(connect(0, 1).ok());
  const std::string network = awaitRecord()[2];
  for (const std::string &former :
       {std::string("127.0.0.1:1"), toString(*addressOf(stopped->number()))}) {
    std::remove(path.c_str());
    ASSERT_TRUE(createFileStore(path)
                    ->set("bagua/rank0", former + " 00ff " + network)
                    .ok());
    meetOneByOne();
  }
}

// Rank 0 can't listen there, and nobody could come to hear of it.
TEST_F(RendezvousTest, who_waits_hears_that_rank_0_has_failed) {
  absl::Notification hasLooked;
  std::thread guest([&] {
    absl::Status status =
        connect(1, 2, kLongTime,
                std::make_shared<WatchedStore>(path, hasLooked))
            .status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("rank 0 has failed: expected the name or an address "
                          "of a network interface of this host, found 'no-"));
  });
  hasLooked.WaitForNotification();
  ProcessOptions options;
  options.size = 2;
  options.store = createFileStore(path);
  options.interface = "no-such-card";
  EXPECT_FALSE(connectProcesses(options).ok());
  guest.join();
  // What it has left is of a former run for those who come now, but told where
  // there is nothing newer.
  EXPECT_THAT(std::string(connect(1, 2, 300ms).status().message()),
              HasSubstr("rank 1 waited 300ms for rank 0: rank 0 has failed: "
                        "expected the name"));
  meetOneByOne();
}

TEST_F(RendezvousTest, wrong_options_are_named) {
  EXPECT_THAT(std::string(connect(3, 3).status().message()),
              HasSubstr("expected a rank in [0, 3), found 3"));
  ProcessOptions options;
  options.size = 1;
  options.patience = 1ms;
  EXPECT_THAT(
      std::string(connectProcesses(options).status().message()),
      HasSubstr(
          "patience: expected at least 100 ms and at most a day, found 1ms"));
  options.patience = 1s;
  for (std::chrono::nanoseconds timeout :
       {-1ns, 0ns, std::chrono::nanoseconds::max()}) {
    options.timeout = timeout;
    EXPECT_THAT(
        std::string(connectProcesses(options).status().message()),
        HasSubstr("timeout: expected more than 0 and at most ten years"));
  }
  options.timeout = 10s;
  for (const char *address : {"", "a", "a:", ":1", "a:x", "a:65536", "a:-1"}) {
    options.address = address;
    EXPECT_THAT(std::string(connectProcesses(options).status().message()),
                HasSubstr("expected an address and a port"))
        << address;
  }
  options.address = "nowhere.invalid:1";
  EXPECT_THAT(std::string(connectProcesses(options).status().message()),
              HasSubstr("'nowhere.invalid' is no address"));
}

// Ranks of one share memory, those of others need an interface; who has none
// ends the run on all, so it asks only after the others have met.
TEST_F(RendezvousTest, hosts_are_told_apart) {
  absl::BlockingCounter met(2);
  onEachRank(3, [&](int rank) {
    ProcessOptions options;
    options.rank = rank;
    options.size = 3;
    options.store = createFileStore(path);
    options.host = rank == 1 ? "b" : "a";
    options.interface = rank == 1 ? "no-such-card" : "lo";
    auto world = connectProcesses(options);
    ASSERT_TRUE(world.ok()) << world.status();
    EXPECT_EQ((*world)->hostCount(), 2);
    if (rank != 1) {
      auto neighbours = (*world)->createCommunicator({0, 2}, "a");
      EXPECT_TRUE(neighbours.ok()) << neighbours.status();
      EXPECT_TRUE(neighbours.ok() && (*neighbours)->barrier().ok());
      met.DecrementCount();
    } else {
      met.Wait();
    }
    absl::Status status =
        (*world)->createCommunicator({0, 1, 2}, "all").status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("communicator 'all' of rank 1: expected the name or "
                          "an address of a network interface of this host, "
                          "found 'no-such-card'"));
  });
}

// Nor does it leave in its parent's name.
TEST_F(RendezvousTest, a_forked_process_has_no_world) {
  onEachRank(2, [&](int rank) {
    auto world = connect(rank, 2);
    ASSERT_TRUE(world.ok()) << world.status();
    if (rank == 0) {
      const pid_t process = fork();
      if (process == 0) {
        alarm(60);
        absl::Status status =
            (*world)->createCommunicator({0, 1}, "all").status();
        world->reset();
        _exit(absl::IsFailedPrecondition(status) ? 0 : 1);
      }
      int status = 1;
      waitpid(process, &status, 0);
      EXPECT_EQ(status, 0);
    }
    EXPECT_TRUE(joinAll(**world)->barrier().ok());
  });
}

// Ranks of one host get numbers one behind the other, whoever started them.
TEST_F(RendezvousTest, ranks_are_ordered_by_host) {
  const char *hosts[] = {"b", "a", "c", "a", "b"};
  const int expected[] = {0, 2, 4, 3, 1};
  onEachRank(5, [&](int rank) {
    ProcessOptions options;
    options.rank = rank;
    options.size = 5;
    options.store = createFileStore(path);
    options.host = hosts[rank];
    options.ordersByHost = true;
    auto world = connectProcesses(options);
    ASSERT_TRUE(world.ok()) << world.status();
    EXPECT_EQ((*world)->rank(), expected[rank]);
    EXPECT_EQ((*world)->hosts(), (std::vector<int>{0, 0, 1, 1, 2}));
    for (int started = 0; started < 5; ++started)
      EXPECT_EQ((*world)->startedAs(expected[started]), started);
    // The numbers are those that all speak of.
    auto all = (*world)->createCommunicator(firstMembers(5), "all");
    ASSERT_TRUE(all.ok()) << all.status();
    const int own = (*world)->rank();
    std::vector<int32_t> found(5);
    int32_t mine = own * 10;
    absl::Status status = (*all)->gatherFromOwners(
        &mine, found.data(), 5, DataType::Int32, 5, firstMembers(5));
    EXPECT_TRUE(status.ok()) << status;
    EXPECT_EQ(found, (std::vector<int32_t>{0, 10, 20, 30, 40}));
    // Who is the first to leave it may abort before others have left.
    (*all)->barrier().IgnoreError();
    if (rank == 1)
      (*world)->abort(absl::AbortedError("of rank 2"));
    else
      EXPECT_EQ(awaitAbort(**world).message(), "of rank 2");
  });
}

// Addresses of IPv6, at which ranks meet and hosts talk.
TEST_F(RendezvousTest, hosts_talk_over_ipv6) {
  if (!listenOn({"::1", 0}).ok())
    GTEST_SKIP() << "this machine has no IPv6";
  onEachRank(3, [&](int rank) {
    ProcessOptions options;
    options.rank = rank;
    options.size = 3;
    options.store = createFileStore(path);
    options.host = std::to_string(rank);
    if (rank == 0)
      options.address = "[::1]:0";
    auto world = connectProcesses(options);
    ASSERT_TRUE(world.ok()) << world.status();
    auto all = joinAll(**world);
    std::vector<float> values(1 << 16, static_cast<float>(rank + 1));
    absl::Status status =
        all->allReduce(values.data(), values.data(), values.size(),
                       DataType::Float32, ReduceKind::Sum);
    EXPECT_TRUE(status.ok()) << status;
    EXPECT_EQ(values, std::vector<float>(1 << 16, 6));
  });
}

} // namespace
} // namespace bagua::runtime
