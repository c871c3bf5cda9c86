//===- RendezvousTest.cpp - How processes find each other -----------------===//
//
// Stores, and who is let in: ranks that don't agree, don't come or come twice,
// strangers, and what a former run has left.
//
//===----------------------------------------------------------------------===//
#include "Communication/Control/ControlChannel.h"
#include "Communication/Rendezvous/Sockets.h"
#include "CommunicatorBackends.h"

#include "bagua/Runtime/Processes.h"

#include "absl/synchronization/blocking_counter.h"
#include "gmock/gmock.h"

#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cstdio>
#include <fstream>
#include <optional>
#include <random>
#include <sstream>
#include <string>

namespace bagua::runtime {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

/// Of a store's file.
const std::string kFirstLine = "bagua store 1\n";

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
  connect(int rank, int size, std::chrono::nanoseconds timeout = kLongTime) {
    ProcessOptions options;
    options.rank = rank;
    options.size = size;
    options.store = createFileStore(path);
    options.timeout = timeout;
    return connectProcesses(options);
  }
  /// Where rank 0 listens, once it does.
  TcpAddress awaitAddress() {
    auto store = createFileStore(path);
    while (true) {
      auto record = store->get("bagua/rank0");
      if (record.ok() && *record)
        return *parseTcpAddress((*record)->substr(0, (*record)->find(' ')));
      std::this_thread::sleep_for(1ms);
    }
  }

  const std::string path;
};

TEST_F(RendezvousTest, the_last_text_of_a_name_holds) {
  auto store = createFileStore(path);
  EXPECT_EQ(*store->get("a"), std::nullopt);
  ASSERT_TRUE(store->set("a", "one").ok());
  ASSERT_TRUE(store->set("b", std::string("two\n\0 3", 7)).ok());
  ASSERT_TRUE(store->set("a", "").ok());
  auto other = createFileStore(path);
  EXPECT_EQ(*other->get("a"), "");
  EXPECT_EQ(*other->get("b"), std::string("two\n\0 3", 7));
  EXPECT_EQ(*other->get("c"), std::nullopt);
}

TEST_F(RendezvousTest, what_is_no_store_is_refused) {
  for (const char *text :
       {"garbage", "1 1\nabc", "1 x\nab\n", "99999999999999999999 1\nab\n",
        "1 18446744073709551615\nab\n", "-1 1\nab\n"}) {
    std::ofstream(path) << kFirstLine << text;
    absl::Status status = createFileStore(path)->get("a").status();
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("found bytes that are no record"))
        << text;
  }
  EXPECT_EQ(createFileStore("/nonexistent/a")->set("a", "b").code(),
            absl::StatusCode::kUnavailable);
}

// Whatever somebody keeps at that path stays as it is, though it begin like a
// record that is cut.
TEST_F(RendezvousTest, nobodys_file_is_taken_for_a_store) {
  for (const char *text : {"2024", "1500 3000\n1.5 2.5\n", "bagua store 2\n"}) {
    std::ofstream(path) << text;
    auto store = createFileStore(path);
    for (const absl::Status &status :
         {store->set("a", "b"), store->get("a").status()})
      EXPECT_THAT(std::string(status.message()),
                  HasSubstr("expected a file of ranks that meet, or none, "
                            "found another one"));
    std::ostringstream found;
    found << std::ifstream(path).rdbuf();
    EXPECT_EQ(found.str(), text);
  }
}

// Nor does anybody wait where no file is, or read what has no end.
TEST_F(RendezvousTest, what_is_no_file_is_not_waited_for) {
  std::remove(path.c_str());
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(*createFileStore(path)->get("a"), std::nullopt);
  EXPECT_FALSE(createFileStore(path)->set("a", "b").ok());
  EXPECT_FALSE(createFileStore("/dev/zero")->get("a").ok());
}

// Cut after every byte, as by a rank that is killed while it writes.
TEST_F(RendezvousTest, a_record_that_is_cut_is_none) {
  const std::string first = kFirstLine + "1 3\na1\n2\n", second = "1 2\nbxy\n";
  for (size_t bytes = 0; bytes <= first.size() + second.size(); ++bytes) {
    SCOPED_TRACE(bytes);
    std::ofstream(path) << (first + second).substr(0, bytes);
    auto store = createFileStore(path);
    std::optional<std::string> a, b;
    if (bytes >= first.size())
      a = "1\n2";
    if (bytes == first.size() + second.size())
      b = "xy";
    EXPECT_EQ(*store->get("a"), a);
    EXPECT_EQ(*store->get("b"), b);
    EXPECT_TRUE(store->set("c", "later").ok());
    EXPECT_EQ(*store->get("a"), a);
    EXPECT_EQ(*store->get("b"), b);
    EXPECT_EQ(*store->get("c"), "later");
  }
}

TEST_F(RendezvousTest, who_keeps_a_store_locked_is_not_waited_for_without_end) {
  auto store = createFileStore(path, 20ms);
  ASSERT_TRUE(store->set("a", "one").ok());
  std::FILE *other = std::fopen(path.c_str(), "r");
  ASSERT_EQ(flock(fileno(other), LOCK_EX), 0);
  for (const absl::Status &status :
       {store->set("a", "two"), store->get("a").status()})
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("another process has kept it locked for 20ms"));
  std::fclose(other);
  EXPECT_EQ(*store->get("a"), "one");
}

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
              HasSubstr("rank 1 waited 100ms for rank 0: can't reach"));
}

// Those that have come are told, by rank 0, for whom it waited in vain.
TEST_F(RendezvousTest, who_has_come_hears_why_it_was_in_vain) {
  onEachRank(2, [&](int rank) {
    absl::Status status = connect(rank, 3, rank == 0 ? 2s : 60s).status();
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("rank 0 waited 2s for ranks 2 to come"));
  });
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
                HasSubstr("rank 1 has come twice"));
  });
}

// Garbage, silence, messages of another run: none of it keeps ranks apart.
TEST_F(RendezvousTest, strangers_are_turned_away) {
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
        hello.version = 1;
        hello.secret = "guessed";
        channel.queue(hello);
        channel.flush().IgnoreError();
      } else if (i % 3 == 2) {
        send(socket->number(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      }
      if (i < 20)
        silent.push_back(*std::move(socket));
    }
  });
  onEachRank(3, [&](int rank) {
    if (rank > 0)
      std::this_thread::sleep_for(rank * 100ms);
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
  for (const std::string &former :
       {std::string("127.0.0.1:1"), toString(*addressOf(stopped->number()))}) {
    std::remove(path.c_str());
    ASSERT_TRUE(
        createFileStore(path)->set("bagua/rank0", former + " 00ff").ok());
    onEachRank(2, [&](int rank) {
      if (rank == 0)
        std::this_thread::sleep_for(100ms);
      auto world = connect(rank, 2);
      ASSERT_TRUE(world.ok()) << world.status();
      EXPECT_TRUE(joinAll(**world)->barrier().ok());
    });
  }
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

} // namespace
} // namespace bagua::runtime
