//===- CommunicatorFailureTest.cpp - Ranks that do not come, or go --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Time limits, aborts, lifetimes, concurrent use and allocations: what
// communicators do besides numbers, where all calls are right.
//
//===----------------------------------------------------------------------===//
#include "AllocationCount.h"
#include "AwaitSleep.h"
#include "CommunicatorBackends.h"
#include "OpenConnections.h"
#include "Yardstick.h"

#include "bagua/Runtime/ErrorPlace.h"

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "gmock/gmock.h"

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <random>
#include <sys/socket.h>
#include <unistd.h>

namespace bagua::runtime {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;

class CommunicatorFailureTest : public testing::TestWithParam<TestBackend> {
protected:
  Worlds createWorlds(int size, std::chrono::nanoseconds timeout = kLongTime) {
    return GetParam().createWorlds(size, timeout);
  }
};

//===----------------------------------------------------------------------===//
// Ranks that do not come
//===----------------------------------------------------------------------===//

// The message names who is missing, and every rank hears of it from then on:
// also the one that came late, on other communicators too.
TEST_P(CommunicatorFailureTest, missing_rank_is_named_and_aborts_the_world) {
  const auto limit = scaled(200ms);
  const std::string waited = "waited " + textOf(limit) + " for rank 2";
  Worlds worlds = createWorlds(4, limit);
  std::atomic<int> finished{0};
  std::vector<absl::Status> late(4);
  onEachRank(4, [&](int rank) {
    auto communicator = joinAll(*worlds[rank], "grads");
    auto other = joinAll(*worlds[rank], "other");
    std::vector<float> data(100000);
    if (rank != 2) {
      absl::Status status = communicator->allReduce(
          data.data(), data.data(), 100000, DataType::Float32, ReduceKind::Sum);
      EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
      EXPECT_THAT(std::string(status.message()), HasSubstr("'grads'"));
      EXPECT_THAT(std::string(status.message()), HasSubstr("all_reduce"));
      EXPECT_THAT(std::string(status.message()), HasSubstr(waited));
      ++finished;
    }
    while (finished < 3)
      std::this_thread::sleep_for(1ms);
    late[rank] = communicator->allReduce(data.data(), data.data(), 100000,
                                         DataType::Float32, ReduceKind::Sum);
    EXPECT_EQ(other->barrier(), late[rank]);
    EXPECT_EQ(worlds[rank]->status(), late[rank]);
    EXPECT_EQ(worlds[rank]->createCommunicator({0, 1, 2, 3}, "new").status(),
              late[rank]);
  });
  for (const absl::Status &status : late) {
    EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
    EXPECT_THAT(std::string(status.message()), HasSubstr(waited));
    if (GetParam().traits.failsAsOne) {
      EXPECT_EQ(status, late[0]);
    }
  }
}

// World ranks, not numbers within the group.
TEST_P(CommunicatorFailureTest, missing_ranks_at_creation_are_named) {
  Worlds worlds = createWorlds(6, scaled(100ms)); // rank 0 answers in time
  auto communicator = worlds[4]->createCommunicator({5, 4, 1}, "grads");
  EXPECT_EQ(communicator.status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(communicator.status().message()),
              HasSubstr("for ranks 5, 1"));
  EXPECT_EQ(awaitAbort(*worlds[0]), communicator.status());
}

TEST_P(CommunicatorFailureTest, abort_wakes_a_waiting_rank) {
  Worlds worlds = createWorlds(3);
  // It says whose it was.
  const absl::Status why =
      withPlace(absl::DataLossError("tensor w7 was not ready"), {2});
  std::atomic<pid_t> waiting[2] = {};
  onEachRank(3, [&](int rank) {
    auto communicator = joinAll(*worlds[rank]);
    if (rank == 2) {
      for (const std::atomic<pid_t> &thread : waiting)
        awaitSleep(thread);
      worlds[2]->abort(absl::Status(why.code(), why.message()));
    } else {
      waiting[rank] = gettid();
    }
    EXPECT_EQ(communicator->barrier(), why);
    EXPECT_EQ(communicator->barrier(), why);
    EXPECT_EQ(worlds[rank]->status(), why);
  });
}

TEST_P(CommunicatorFailureTest, first_abort_wins) {
  Worlds worlds = createWorlds(2);
  EXPECT_TRUE(worlds[0]->status().ok());
  worlds[1]->abort(absl::UnavailableError("first"));
  // Which says whose it was, unless it speaks of another rank.
  const absl::Status first = withPlace(absl::UnavailableError("first"), {1});
  EXPECT_EQ(awaitAbort(*worlds[0]), first);
  worlds[0]->abort(absl::InternalError("second"));
  EXPECT_EQ(worlds[0]->status(), first);
  EXPECT_EQ(worlds[1]->createCommunicator({1}, "alone").status(), first);
}

// A call that returned has given its buffers back, whatever the reason; under a
// sanitizer a member still at work on one would be found.
TEST_P(CommunicatorFailureTest, abort_while_members_work) {
  for (int round = 0; round < 20; ++round) {
    Worlds worlds = createWorlds(3);
    std::atomic<int> calls{0}, aborts{-1};
    onEachRank(3, [&](int rank) {
      auto communicator = joinAll(*worlds[rank]);
      absl::Status status;
      while (status.ok()) {
        auto data = std::make_unique<std::vector<float>>(50000, 1);
        status = communicator->allReduce(data->data(), data->data(), 50000,
                                         DataType::Float32, ReduceKind::Sum);
        if (++calls == 10 + round) {
          aborts = rank;
          worlds[rank]->abort(absl::AbortedError("enough"));
        }
      }
      EXPECT_EQ(status, withPlace(absl::AbortedError("enough"), {aborts}));
    });
  }
}

// At any moment: members that have come further than others wait for nobody who
// will not come, and none returns while another reads its memory.
TEST_P(CommunicatorFailureTest, abort_at_any_moment) {
  constexpr int kRanks = 4;
  std::mt19937 random(11);
  for (int round = 0; round < 15; ++round) {
    Worlds worlds = createWorlds(kRanks);
    std::atomic<int> joined{0};
    const bool isGather = round % 3 == 2;
    const int aborts = static_cast<int>(random() % kRanks);
    const auto delay = std::chrono::microseconds(random() % 20000);
    onEachRank(kRanks, [&](int rank) {
      auto communicator = joinAll(*worlds[rank]);
      constexpr int64_t kCount = 300000;
      auto memory = *worlds[rank]->allocate(kCount * sizeof(float));
      std::thread aborter;
      if (++joined; rank == aborts)
        aborter = std::thread([&] {
          while (joined < kRanks)
            std::this_thread::yield();
          std::this_thread::sleep_for(delay);
          worlds[aborts]->abort(absl::AbortedError("enough"));
        });
      auto *data = reinterpret_cast<float *>(memory.get());
      const std::vector<int> owners = firstMembers(kRanks);
      absl::Status status;
      while (status.ok())
        status = isGather ? communicator->gatherFromOwners(
                                data + rank * (kCount / kRanks), data, kCount,
                                DataType::Float32, kRanks, owners)
                          : communicator->allReduce(data, data, kCount,
                                                    DataType::Float32,
                                                    ReduceKind::Max);
      EXPECT_EQ(status, withPlace(absl::AbortedError("enough"), {aborts}));
      if (aborter.joinable())
        aborter.join();
    });
  }
}

// The same with the time limit: the last member may come just then.
TEST_P(CommunicatorFailureTest, timeout_while_the_last_member_comes) {
  std::chrono::milliseconds limit = 5ms;
  for (int round = 0; round < 30;) {
    Worlds worlds = createWorlds(2, limit);
    std::atomic<int> created{0};
    onEachRank(2, [&](int rank) {
      auto communicator = worlds[rank]->createCommunicator({0, 1}, "all");
      if (!communicator.ok())
        return;
      ++created;
      auto data = std::make_unique<std::vector<float>>(50000, 1);
      if (rank == 1)
        std::this_thread::sleep_for(limit - 100us + round * 10us);
      absl::Status status = (*communicator)
                                ->allReduce(data->data(), data->data(), 50000,
                                            DataType::Float32, ReduceKind::Sum);
      if (status.ok()) {
        EXPECT_EQ(*data, std::vector<float>(50000, 2));
      } else if (GetParam().traits.failsAsOne) {
        EXPECT_EQ(*data, std::vector<float>(50000, 1));
      }
    });
    // The same limit is that of what comes before.
    if (created == 2)
      ++round;
    else
      limit *= 2;
  }
}

// The limit is the caller's, whatever the world's; at a tenth of it the caller
// hears who is missing, and what that one says of itself.
TEST_P(CommunicatorFailureTest, limits_and_warnings_are_each_members) {
  const auto limit = scaled(300ms);
  Worlds worlds = createWorlds(2);
  worlds[1]->note("compiles");
  onEachRank(2, [&](int rank) {
    std::vector<std::string> warnings;
    CommunicatorOptions options;
    options.timeout = rank == 0 ? limit : kLongTime;
    options.onWarning = [&](const std::string &text) {
      warnings.push_back(text);
    };
    options.describeCall = [] { return "bucket 7"; };
    auto communicator =
        worlds[rank]->createCommunicator({0, 1}, "grads", options);
    ASSERT_TRUE(communicator.ok()) << communicator.status();
    if (rank == 0) {
      warnings.clear();
      absl::Status status = (*communicator)->barrier();
      EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
      EXPECT_THAT(std::string(status.message()),
                  HasSubstr("barrier of rank 0, bucket 7, waited " +
                            textOf(limit) + " for rank 1; rank 1: compiles"));
      EXPECT_THAT(warnings,
                  testing::ElementsAre(HasSubstr(
                      "waited " + textOf(limit / 10) + " for rank 1")));
    }
    while (worlds[rank]->status().ok())
      std::this_thread::sleep_for(1ms);
  });
}

//===----------------------------------------------------------------------===//
// Ranks that leave
//===----------------------------------------------------------------------===//

// Those that wait already and those that come later hear of it at once.
TEST_P(CommunicatorFailureTest, a_member_that_left_is_named) {
  Worlds worlds = createWorlds(3);
  std::vector<absl::Status> statuses(3);
  std::atomic<int> passed{0};
  std::atomic<pid_t> waiting{0};
  std::atomic<bool> hasLeft{false};
  onEachRank(3, [&](int rank) {
    auto communicator = joinAll(*worlds[rank], "grads");
    EXPECT_TRUE(communicator->barrier().ok());
    for (++passed; passed < 3;)
      std::this_thread::yield();
    if (rank == 1) {
      awaitSleep(waiting);
      communicator.reset();
      hasLeft = true;
      return;
    }
    if (rank == 0)
      waiting = gettid();
    while (rank == 2 && !hasLeft)
      std::this_thread::yield();
    statuses[rank] = communicator->barrier();
  });
  for (int rank : {0, 2}) {
    EXPECT_EQ(statuses[rank].code(), absl::StatusCode::kUnavailable);
    EXPECT_THAT(std::string(statuses[rank].message()),
                HasSubstr("needs rank 1, which has left"));
    EXPECT_EQ(worlds[rank]->status(), statuses[rank]);
  }
}

// Before the others ask for it, or while they wait for it.
TEST_P(CommunicatorFailureTest, a_rank_that_never_joins_is_named) {
  for (bool isFirst : {true, false}) {
    Worlds worlds = createWorlds(3);
    std::atomic<bool> hasLeft{false};
    std::atomic<int> alone{0};
    std::atomic<pid_t> waiting[3] = {};
    onEachRank(3, [&](int rank) {
      if (rank == 1) {
        for (int other : {0, 2})
          if (!isFirst)
            awaitSleep(waiting[other]);
        worlds[1].reset();
        hasLeft = true;
        return;
      }
      while (isFirst && !hasLeft)
        std::this_thread::yield();
      // A group without it comes to be all the same.
      EXPECT_TRUE(worlds[rank]->createCommunicator({rank}, "alone").ok());
      for (++alone; alone < 2;)
        std::this_thread::yield();
      waiting[rank] = gettid();
      absl::Status status =
          worlds[rank]->createCommunicator({0, 1, 2}, "all").status();
      EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
      EXPECT_THAT(std::string(status.message()),
                  HasSubstr("needs rank 1, which has left"));
    });
  }
}

// Who has what it wants goes, while others are still on their way out.
TEST_P(CommunicatorFailureTest, leaving_after_the_last_call_is_no_error) {
  for (int round = 0; round < 50; ++round) {
    Worlds worlds = createWorlds(3);
    onEachRank(3, [&](int rank) {
      auto communicator = joinAll(*worlds[rank]);
      std::vector<float> data(round % 2 ? 10 : 50000, 1);
      absl::Status status =
          communicator->allReduce(data.data(), data.data(), data.size(),
                                  DataType::Float32, ReduceKind::Sum);
      EXPECT_TRUE(status.ok()) << status;
      communicator.reset();
      worlds[rank].reset();
    });
  }
}

// Nor does who goes wait for those who stay.
TEST_P(CommunicatorFailureTest, leaving_needs_no_other_to_leave) {
  Worlds worlds = createWorlds(4);
  absl::Notification isGone;
  onEachRank(4, [&](int rank) {
    auto communicator = joinAll(*worlds[rank]);
    ASSERT_TRUE(communicator->barrier().ok());
    if (rank != 0) {
      isGone.WaitForNotification();
      return;
    }
    communicator.reset();
    worlds[0].reset();
    isGone.Notify();
  });
}

// Of communicators that come and go nothing is left, though a peer keep its end
// of an older one.
TEST_P(CommunicatorFailureTest, what_is_over_holds_no_descriptors) {
  auto openDescriptors = [] {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return std::distance(begin(all), end(all));
  };
  Worlds worlds = createWorlds(3);
  constexpr int kRounds = 20;
  int64_t early = 0, late = 0;
  onEachRank(3, [&](int rank) {
    auto all = joinAll(*worlds[rank]);
    auto kept = joinAll(*worlds[rank], "kept");
    if (rank != 1)
      kept.reset();
    for (int round = 0; round < kRounds; ++round) {
      auto one = joinAll(*worlds[rank], std::to_string(round).c_str());
      ASSERT_TRUE(one->barrier().ok());
      one.reset();
      ASSERT_TRUE(all->barrier().ok());
      if (rank == 0 && round == kRounds / 4)
        early = openDescriptors();
      if (rank == 0 && round == kRounds - 1)
        late = openDescriptors();
      ASSERT_TRUE(all->barrier().ok());
    }
  });
  // One communicator's, more or less.
  EXPECT_LE(late, early + 8);
}

// Called once, on whichever thread aborts; at once where that was before.
TEST_P(CommunicatorFailureTest, abort_calls_the_handlers) {
  Worlds worlds = createWorlds(3);
  std::atomic<int> calls[3] = {};
  for (int rank : {0, 1})
    worlds[rank]->onAbort(&worlds, [&calls, rank] { ++calls[rank]; });
  worlds[1]->onAbort(&worlds, nullptr);
  worlds[2]->abort(absl::AbortedError("enough"));
  worlds[2]->abort(absl::AbortedError("again"));
  while (calls[0] == 0)
    std::this_thread::sleep_for(1ms);
  EXPECT_EQ(awaitAbort(*worlds[1]).message(), "enough");
  EXPECT_EQ(calls[0], 1);
  EXPECT_EQ(calls[1], 0);
  worlds[2]->onAbort(&worlds, [&calls] { ++calls[2]; });
  EXPECT_EQ(calls[2], 1);
}

//===----------------------------------------------------------------------===//
// Groups and lifetimes
//===----------------------------------------------------------------------===//

// Numbers in a group follow the order given at creation.
TEST_P(CommunicatorFailureTest, groups_of_some_ranks) {
  Worlds worlds = createWorlds(5);
  onEachRank(5, [&](int rank) {
    if (rank == 1)
      return;
    std::vector<int> members =
        rank % 2 ? std::vector<int>{3} : std::vector<int>{4, 0, 2};
    auto communicator = worlds[rank]->createCommunicator(members, "half");
    ASSERT_TRUE(communicator.ok()) << communicator.status();
    EXPECT_EQ((*communicator)->size(), static_cast<int>(members.size()));
    EXPECT_EQ(members[(*communicator)->rank()], rank);
    std::vector<int32_t> ranks(members.size());
    ASSERT_TRUE((*communicator)
                    ->gatherFromOwners(&rank, ranks.data(), members.size(),
                                       DataType::Int32, members.size(),
                                       firstMembers(members.size()))
                    .ok());
    EXPECT_EQ(ranks, std::vector<int32_t>(members.begin(), members.end()));
  });
}

// Communicators live longer than the worlds they came from, on any thread.
TEST_P(CommunicatorFailureTest, destruction_in_any_order) {
  Worlds worlds = createWorlds(3);
  std::vector<std::unique_ptr<Communicator>> kept(3);
  onEachRank(3, [&](int rank) {
    kept[rank] = joinAll(*worlds[rank]);
    auto shortLived = joinAll(*worlds[rank], "short");
    ASSERT_TRUE(shortLived->barrier().ok());
    shortLived.reset();
    worlds[rank].reset();
    ASSERT_TRUE(kept[rank]->barrier().ok());
  });
  onEachRank(3, [&](int rank) {
    ASSERT_TRUE(kept[rank]->barrier().ok());
    if (rank != 1)
      kept[rank].reset();
  });
}

// And hear of an abort all the same.
TEST_P(CommunicatorFailureTest, abort_reaches_who_has_left_its_world) {
  Worlds worlds = createWorlds(2);
  std::atomic<pid_t> waiting{0};
  absl::Notification isAborted;
  onEachRank(2, [&](int rank) {
    auto communicator = joinAll(*worlds[rank]);
    ASSERT_TRUE(communicator->barrier().ok());
    if (rank == 0) {
      worlds[0].reset();
      waiting = gettid();
      // Else the limit would end it.
      EXPECT_EQ(communicator->barrier(),
                withPlace(absl::AbortedError("enough"), {1}));
      isAborted.Notify();
      return;
    }
    awaitSleep(waiting);
    worlds[1]->abort(absl::AbortedError("enough"));
    isAborted.WaitForNotification();
  });
}

// However slow the network is: longer than the limit, and than what calls have
// at least once all have come.
TEST_P(CommunicatorFailureTest, large_messages_on_a_slow_network) {
  if (!std::getenv("BAGUA_FULL_TESTS") || !GetParam().hasConnections)
    GTEST_SKIP() << "a network, with BAGUA_FULL_TESTS";
  constexpr int64_t kBytes = int64_t{96} << 20;
  const std::chrono::milliseconds limit = scaled(5s);
  // 8 MiB/s where the limit is 5 s.
  const auto bytesPerSecond =
      static_cast<unsigned>(kBytes * 1000 / (limit.count() * 12 / 5));
  Worlds worlds = createWorlds(2, limit);
  onEachRank(2, [&](int rank) {
    auto communicator = joinAll(*worlds[rank]);
    ASSERT_TRUE(communicator->barrier().ok());
    for (int descriptor = 0; descriptor < 1024; ++descriptor)
      setsockopt(descriptor, SOL_SOCKET, SO_MAX_PACING_RATE, &bytesPerSecond,
                 sizeof bytesPerSecond);
    std::vector<char> from(2 * kBytes, static_cast<char>(rank + 1));
    std::vector<char> to(2 * kBytes);
    const auto begin = std::chrono::steady_clock::now();
    absl::Status status =
        communicator->allToAll(from.data(), to.data(), kBytes);
    EXPECT_TRUE(status.ok()) << status;
    EXPECT_GT(std::chrono::steady_clock::now() - begin, 2 * limit);
    EXPECT_EQ(to[kBytes - 1], 1);
    EXPECT_EQ(to[kBytes], 2);
    // One that only sends.
    status =
        communicator->reduceToOwners(from.data(), to.data(), kBytes,
                                     DataType::Int8, ReduceKind::Max, 2, {1});
    EXPECT_TRUE(status.ok()) << status;
    EXPECT_EQ(to[0], rank == 1 ? 2 : 1);
  });
}

// Whose control connection is sound, so that no other news tells of it.
TEST_P(CommunicatorFailureTest, garbage_between_hosts_names_who_sent_it) {
  if (!GetParam().hasConnections)
    GTEST_SKIP() << "no connections between members";
  Worlds worlds = createWorlds(2);
  std::vector<std::unique_ptr<Communicator>> members(2);
  const std::vector<int> before = openConnections();
  onEachRank(2, [&](int rank) { members[rank] = joinAll(*worlds[rank]); });
  const std::vector<int> ends = connectionsSince(before);
  ASSERT_EQ(ends.size(), 2u);
  // A head's worth: with bytes unread the connection would be reset, which
  // ThreadSanitizer takes for no news of what was sent.
  const std::string garbage(48, 'g');
  send(ends[0], garbage.data(), garbage.size(), MSG_NOSIGNAL);
  std::vector<std::string> messages(2);
  onEachRank(2, [&](int rank) {
    std::vector<float> values(100000);
    absl::Status status =
        members[rank]->allReduce(values.data(), values.data(), 100000,
                                 DataType::Float32, ReduceKind::Sum);
    EXPECT_TRUE(absl::IsUnavailable(status)) << status;
    messages[rank] = std::string(status.message());
  });
  // Who finds its connection closed has awaited other news.
  EXPECT_EQ(messages[0], messages[1]);
  EXPECT_THAT(messages[0],
              AnyOf(AllOf(HasSubstr("of rank 0"),
                          HasSubstr("rank 1 is lost: it sent a malformed "
                                    "message")),
                    AllOf(HasSubstr("of rank 1"),
                          HasSubstr("rank 0 is lost: it sent a malformed "
                                    "message"))));
}

// As a session with two streams does it.
TEST_P(CommunicatorFailureTest, two_communicators_at_once) {
  const int size = 3, rounds = 100;
  Worlds worlds = createWorlds(size);
  onEachRank(2 * size, [&](int thread) {
    int rank = thread / 2;
    bool isFirst = thread % 2 == 0;
    auto communicator = joinAll(*worlds[rank], isFirst ? "first" : "second");
    std::vector<int32_t> data(isFirst ? 10 : 20000);
    for (int round = 0; round < rounds; ++round) {
      std::fill(data.begin(), data.end(), round + isFirst);
      ASSERT_TRUE(communicator
                      ->allReduce(data.data(), data.data(), data.size(),
                                  DataType::Int32, ReduceKind::Sum)
                      .ok());
      ASSERT_EQ(data,
                std::vector<int32_t>(data.size(), size * (round + isFirst)));
    }
  });
}

//===----------------------------------------------------------------------===//
// Allocations
//===----------------------------------------------------------------------===//

TEST_P(CommunicatorFailureTest, collectives_do_not_allocate) {
  const int size = 4;
  Worlds worlds = createWorlds(size);
  onEachRank(size, [&](int rank) {
    auto communicator = joinAll(*worlds[rank]);
    const std::vector<int> owners = firstMembers(size);
    for (int64_t count : {100, 100000}) {
      std::vector<float> whole(count), part(count), other(count);
      const int peers[] = {(rank + 1) % size, (rank + size - 1) % size};
      void *const outputs[] = {part.data(), other.data()};
      absl::Status status;
      int64_t before = allocationCount();
      for (int round = 0; round < 3; ++round) {
        status.Update(communicator->allReduce(whole.data(), whole.data(), count,
                                              DataType::Float32,
                                              ReduceKind::Mean));
        status.Update(communicator->reduceToOwners(
            whole.data(), part.data(), count, DataType::Float32,
            ReduceKind::Sum, size, owners));
        status.Update(communicator->gatherFromOwners(
            part.data(), whole.data(), count, DataType::Float32, size, owners));
        status.Update(communicator->allToAll(whole.data(), part.data(),
                                             count / size * 4));
        status.Update(communicator->exchange(whole.data(), count * 4, peers,
                                             peers, outputs));
        status.Update(communicator->barrier());
      }
      if (!GetParam().allocates) {
        EXPECT_EQ(allocationCount(), before);
      }
      EXPECT_TRUE(status.ok()) << status;
    }
  });
}

INSTANTIATE_TEST_SUITE_P(, CommunicatorFailureTest,
                         testing::ValuesIn(testBackends()),
                         [](const testing::TestParamInfo<TestBackend> &info) {
                           return std::string(info.param.name);
                         });

} // namespace
} // namespace bagua::runtime
