//===- CommunicatorFailureTest.cpp - What happens when ranks disagree -----===//
//
// Calls that differ, ranks that do not come, aborts, lifetimes, concurrent use
// and allocations: everything about communicators but the numbers.
//
//===----------------------------------------------------------------------===//
#include "AllocationCount.h"
#include "CommunicatorBackends.h"

#include "bagua/Runtime/ErrorPlace.h"

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "gmock/gmock.h"

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <mutex>
#include <optional>
#include <random>
#include <sys/socket.h>

namespace bagua::runtime {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class CommunicatorFailureTest : public testing::TestWithParam<Backend> {
protected:
  /// Runs `call` on every rank; all must fail alike, saying each of `parts`.
  void expectRefusal(int size, const std::vector<std::string> &parts,
                     const std::function<absl::Status(Communicator &)> &call);

  Worlds createWorlds(int size, std::chrono::nanoseconds timeout = kLongTime) {
    return GetParam().createWorlds(size, timeout);
  }
};

void CommunicatorFailureTest::expectRefusal(
    int size, const std::vector<std::string> &parts,
    const std::function<absl::Status(Communicator &)> &call) {
  Worlds worlds = createWorlds(size);
  std::vector<std::string> messages(size);
  onEachRank(size, [&](int rank) {
    auto communicator = joinAll(*worlds[rank], "grads");
    absl::Status status = call(*communicator);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    messages[rank] = std::string(status.message());
    // The members are in step again.
    float value = 1, sum = 0;
    absl::Status next = communicator->allReduce(
        &value, &sum, 1, DataType::Float32, ReduceKind::Sum);
    EXPECT_TRUE(next.ok()) << next;
    EXPECT_EQ(sum, size);
  });
  for (const std::string &message : messages)
    EXPECT_EQ(message, messages[0]);
  for (const std::string &part : parts)
    EXPECT_THAT(messages[0], HasSubstr(part));
  EXPECT_THAT(messages[0], HasSubstr("'grads'"));
}

//===----------------------------------------------------------------------===//
// Calls that differ or are wrong
//===----------------------------------------------------------------------===//

// Nothing is written before the difference is found.
TEST_P(CommunicatorFailureTest, counts_differ) {
  expectRefusal(3, {"count is 1000 on ranks 0, 2; 999 on rank 1"},
                [](Communicator &communicator) {
                  std::vector<float> data(1000, 5);
                  int64_t count = communicator.rank() == 1 ? 999 : 1000;
                  absl::Status status = communicator.allReduce(
                      data.data(), data.data(), count, DataType::Float32,
                      ReduceKind::Sum);
                  EXPECT_EQ(data, std::vector<float>(1000, 5));
                  return status;
                });
}

// One member would stage its input, the other not.
TEST_P(CommunicatorFailureTest, small_and_large_counts_differ) {
  expectRefusal(2, {"count is 1 on rank 0; 100000 on rank 1"},
                [](Communicator &communicator) {
                  std::vector<float> data(100000);
                  return communicator.allReduce(
                      data.data(), data.data(),
                      communicator.rank() == 0 ? 1 : 100000, DataType::Float32,
                      ReduceKind::Sum);
                });
}

TEST_P(CommunicatorFailureTest, types_differ) {
  expectRefusal(2, {"type is f16 on rank 0; bf16 on rank 1"},
                [](Communicator &communicator) {
                  std::vector<uint16_t> data(10);
                  return communicator.allReduce(data.data(), data.data(), 10,
                                                communicator.rank() == 0
                                                    ? DataType::Float16
                                                    : DataType::BFloat16,
                                                ReduceKind::Sum);
                });
}

TEST_P(CommunicatorFailureTest, kinds_differ) {
  expectRefusal(2, {"kind is sum on rank 0; mean on rank 1"},
                [](Communicator &communicator) {
                  std::vector<float> data(10);
                  return communicator.allReduce(
                      data.data(), data.data(), 10, DataType::Float32,
                      communicator.rank() == 0 ? ReduceKind::Sum
                                               : ReduceKind::Mean);
                });
}

TEST_P(CommunicatorFailureTest, ops_differ) {
  expectRefusal(4, {"op is all_reduce on rank 0; barrier on ranks 1, 2, 3"},
                [](Communicator &communicator) {
                  float data = 1;
                  if (communicator.rank() != 0)
                    return communicator.barrier();
                  return communicator.allReduce(
                      &data, &data, 1, DataType::Float32, ReduceKind::Sum);
                });
}

TEST_P(CommunicatorFailureTest, owners_differ) {
  expectRefusal(2, {"owners is [0, 1] on rank 0; [1, 0] on rank 1"},
                [](Communicator &communicator) {
                  float data[2] = {}, part = 0;
                  int rank = communicator.rank();
                  return communicator.reduceToOwners(
                      data, &part, 2, DataType::Float32, ReduceKind::Sum, 2,
                      {rank, 1 - rank});
                });
}

TEST_P(CommunicatorFailureTest, contributors_differ) {
  expectRefusal(2, {"contributors or receivers is 1 on rank 0; 2 on rank 1"},
                [](Communicator &communicator) {
                  float data[2] = {}, part[2] = {};
                  return communicator.reduceToOwners(
                      data, part, 2, DataType::Float32, ReduceKind::Sum,
                      communicator.rank() + 1, {0});
                });
}

TEST_P(CommunicatorFailureTest, mean_of_integers) {
  expectRefusal(2, {"all_reduce", "mean of i32 is not defined"},
                [](Communicator &communicator) {
                  int32_t data = 1;
                  return communicator.allReduce(
                      &data, &data, 1, DataType::Int32, ReduceKind::Mean);
                });
}

// The others would wait for ever for a member that found its own mistake.
TEST_P(CommunicatorFailureTest, one_member_is_wrong_and_all_are_told) {
  expectRefusal(3, {"rank 2", "the input is null"},
                [](Communicator &communicator) {
                  float data = 1;
                  return communicator.allReduce(
                      communicator.rank() == 2 ? nullptr : &data, &data, 1,
                      DataType::Float32, ReduceKind::Sum);
                });
}

TEST_P(CommunicatorFailureTest, negative_count) {
  expectRefusal(2, {"count must be in [0, ", "got -1"},
                [](Communicator &communicator) {
                  float data = 1;
                  return communicator.allReduce(
                      &data, &data, -1, DataType::Float32, ReduceKind::Sum);
                });
}

TEST_P(CommunicatorFailureTest, buffers_overlap) {
  expectRefusal(2, {"output overlaps input"}, [](Communicator &communicator) {
    float data[8] = {};
    return communicator.allReduce(data, data + 1, 4, DataType::Float32,
                                  ReduceKind::Sum);
  });
  // The place of part 0 is not the place of part 1.
  expectRefusal(
      2, {"rank 1", "output overlaps input"}, [](Communicator &communicator) {
        float data[8] = {};
        return communicator.reduceToOwners(data, data, 8, DataType::Float32,
                                           ReduceKind::Sum, 2, {0, 1});
      });
}

TEST_P(CommunicatorFailureTest, owners_are_wrong) {
  auto reduceTo = [](std::vector<int> owners, int contributors) {
    return [=](Communicator &communicator) {
      float data[4] = {}, part[4] = {};
      return communicator.reduceToOwners(data, part, 4, DataType::Float32,
                                         ReduceKind::Sum, contributors, owners);
    };
  };
  expectRefusal(2, {"member 2 is not in [0, 2)"}, reduceTo({0, 2}, 2));
  expectRefusal(2, {"member 1 is an owner twice"}, reduceTo({1, 1}, 2));
  expectRefusal(2, {"there are no owners"}, reduceTo({}, 2));
  expectRefusal(2, {"contributors must be in [1, 2], got 3"}, reduceTo({0}, 3));
}

TEST_P(CommunicatorFailureTest, exchange_is_one_sided) {
  expectRefusal(3, {"rank 0 sends to rank 1, which does not expect it"},
                [](Communicator &communicator) {
                  int32_t mine = 1, theirs = 0;
                  const int peer = (communicator.rank() + 1) % 3;
                  void *const output = &theirs;
                  return communicator.exchange(&mine, 4, {peer}, {peer},
                                               {output});
                });
  expectRefusal(
      3, {"rank 0 expects something of rank 1, which does not send to it"},
      [](Communicator &communicator) {
        int32_t mine = 1, theirs = 0;
        const int peer = (communicator.rank() + 1) % 3;
        void *const output = &theirs;
        return communicator.exchange(&mine, 4, {}, {peer}, {output});
      });
  expectRefusal(3, {"member 3 is not in [0, 3)"},
                [](Communicator &communicator) {
                  int32_t mine = 1;
                  return communicator.exchange(&mine, 4, {3}, {}, {});
                });
  expectRefusal(3, {"the input is null"}, [](Communicator &communicator) {
    return communicator.exchange(nullptr, 4, {(communicator.rank() + 1) % 3},
                                 {}, {});
  });
}

//===----------------------------------------------------------------------===//
// Ranks that do not come
//===----------------------------------------------------------------------===//

// The message names who is missing, and every rank hears of it from then on:
// also the one that came late, on other communicators too.
TEST_P(CommunicatorFailureTest, missing_rank_is_named_and_aborts_the_world) {
  Worlds worlds = createWorlds(4, 200ms);
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
      EXPECT_THAT(std::string(status.message()),
                  HasSubstr("waited 200ms for rank 2"));
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
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("waited 200ms for rank 2"));
    if (GetParam().failsAsOne) {
      EXPECT_EQ(status, late[0]);
    }
  }
}

// World ranks, not numbers within the group.
TEST_P(CommunicatorFailureTest, missing_ranks_at_creation_are_named) {
  Worlds worlds = createWorlds(6, 100ms);
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
  std::atomic<int> created{0};
  onEachRank(3, [&](int rank) {
    auto communicator = joinAll(*worlds[rank]);
    ++created;
    if (rank == 2) {
      // Time for the others to fall asleep.
      while (created < 3)
        std::this_thread::sleep_for(1ms);
      std::this_thread::sleep_for(50ms);
      worlds[2]->abort(absl::Status(why.code(), why.message()));
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
      std::thread aborter;
      if (++joined; rank == aborts)
        aborter = std::thread([&] {
          while (joined < kRanks)
            std::this_thread::yield();
          std::this_thread::sleep_for(delay);
          worlds[aborts]->abort(absl::AbortedError("enough"));
        });
      constexpr int64_t kCount = 300000;
      auto memory = *worlds[rank]->allocate(kCount * sizeof(float));
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
  for (int round = 0; round < 30; ++round) {
    const auto limit = 5ms;
    Worlds worlds = createWorlds(2, limit);
    std::atomic<bool> isLate{false};
    onEachRank(2, [&](int rank) {
      auto communicator = worlds[rank]->createCommunicator({0, 1}, "all");
      if (!communicator.ok())
        return;
      auto data = std::make_unique<std::vector<float>>(50000, 1);
      if (rank == 1)
        std::this_thread::sleep_for(limit - 100us + round * 10us);
      absl::Status status = (*communicator)
                                ->allReduce(data->data(), data->data(), 50000,
                                            DataType::Float32, ReduceKind::Sum);
      if (status.ok()) {
        EXPECT_EQ(*data, std::vector<float>(50000, 2));
      } else if (GetParam().failsAsOne) {
        EXPECT_EQ(*data, std::vector<float>(50000, 1));
      }
    });
  }
}

// The limit is the caller's, whatever the world's; at a tenth of it the caller
// hears who is missing, and what that one says of itself.
TEST_P(CommunicatorFailureTest, limits_and_warnings_are_each_members) {
  Worlds worlds = createWorlds(2);
  worlds[1]->note("compiles");
  onEachRank(2, [&](int rank) {
    std::vector<std::string> warnings;
    CommunicatorOptions options;
    options.timeout = rank == 0 ? 300ms : kLongTime;
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
      EXPECT_THAT(
          std::string(status.message()),
          HasSubstr("barrier of rank 0, bucket 7, waited 300ms for rank 1; "
                    "rank 1: compiles"));
      EXPECT_THAT(warnings,
                  testing::ElementsAre(HasSubstr("waited 30ms for rank 1")));
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
  Worlds worlds = createWorlds(3, 10s);
  std::vector<absl::Status> statuses(3);
  std::atomic<int> passed{0};
  onEachRank(3, [&](int rank) {
    auto communicator = joinAll(*worlds[rank], "grads");
    EXPECT_TRUE(communicator->barrier().ok());
    for (++passed; passed < 3;)
      std::this_thread::yield();
    if (rank == 1)
      return;
    if (rank == 2)
      std::this_thread::sleep_for(50ms);
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
    Worlds worlds = createWorlds(3, 10s);
    std::atomic<bool> hasLeft{false};
    std::atomic<int> alone{0};
    onEachRank(3, [&](int rank) {
      if (rank == 1) {
        if (!isFirst)
          std::this_thread::sleep_for(50ms);
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

TEST_P(CommunicatorFailureTest, wrong_members) {
  Worlds worlds = createWorlds(3);
  for (std::vector<int> members :
       {std::vector<int>{}, {0, 2}, {1, 1}, {1, 3}, {-1, 1}}) {
    absl::Status status =
        worlds[1]->createCommunicator(members, "wrong").status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  }
  ASSERT_TRUE(worlds[1]->createCommunicator({1}, "once").ok());
  absl::Status again = worlds[1]->createCommunicator({1}, "once").status();
  EXPECT_EQ(again.code(), absl::StatusCode::kInvalidArgument) << again;
  // A mistake in arguments leaves the world as it is.
  EXPECT_TRUE(worlds[1]->status().ok());
}

// Nor does it harm the one that exists: others still have it when a member has
// left, and nobody else gets its memory.
TEST_P(CommunicatorFailureTest, a_name_that_exists) {
  Worlds worlds = createWorlds(4);
  onEachRank(4, [&](int rank) {
    auto all = joinAll(*worlds[rank]);
    for (int leaver = 0; leaver < 4; ++leaver) {
      const std::string name = absl::StrCat("grads ", leaver);
      auto first = joinAll(*worlds[rank], name.c_str());
      EXPECT_EQ(worlds[rank]
                    ->createCommunicator(firstMembers(4), name)
                    .status()
                    .code(),
                absl::StatusCode::kInvalidArgument);
      ASSERT_TRUE(first->barrier().ok());
      if (rank == leaver)
        first.reset();
      ASSERT_TRUE(all->barrier().ok());
      auto next = joinAll(*worlds[rank], absl::StrCat("next ", leaver).c_str());
      ASSERT_TRUE(next->barrier().ok());
      first.reset();
      ASSERT_TRUE(all->barrier().ok());
      int64_t sum = 0, own = rank;
      absl::Status status =
          next->allReduce(&own, &sum, 1, DataType::Int64, ReduceKind::Sum);
      ASSERT_TRUE(status.ok()) << status;
      EXPECT_EQ(sum, 6);
    }
  });
}

TEST_P(CommunicatorFailureTest, limits_that_are_none) {
  Worlds worlds = createWorlds(2);
  for (std::chrono::nanoseconds limit :
       {-1ns, 0ns, std::chrono::nanoseconds::max()})
    EXPECT_THAT(
        std::string(worlds[0]
                        ->createCommunicator({0, 1}, "grads", {limit, {}, {}})
                        .status()
                        .message()),
        HasSubstr("communicator 'grads': timeout: expected more than 0 "
                  "and at most ten years"));
  EXPECT_TRUE(worlds[0]->status().ok());
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
  absl::Notification isAborted;
  onEachRank(2, [&](int rank) {
    auto communicator = joinAll(*worlds[rank]);
    ASSERT_TRUE(communicator->barrier().ok());
    if (rank == 0) {
      worlds[0].reset();
      EXPECT_FALSE(communicator->barrier().ok());
      isAborted.Notify();
      return;
    }
    std::this_thread::sleep_for(100ms);
    worlds[1]->abort(absl::AbortedError("enough"));
    // Else the limit would end it.
    EXPECT_TRUE(isAborted.WaitForNotificationWithTimeout(absl::Seconds(60)));
  });
}

// However slow the network is: longer than the limit, and than what calls have
// at least once all have come.
TEST_P(CommunicatorFailureTest, large_messages_on_a_slow_network) {
  if (!std::getenv("BAGUA_FULL_TESTS") || GetParam().failsAsOne)
    GTEST_SKIP() << "a network, with BAGUA_FULL_TESTS";
  constexpr int64_t kBytes = int64_t{96} << 20;
  constexpr unsigned kBytesPerSecond = 8 << 20;
  Worlds worlds = createWorlds(2, 5s);
  onEachRank(2, [&](int rank) {
    auto communicator = joinAll(*worlds[rank]);
    ASSERT_TRUE(communicator->barrier().ok());
    for (int descriptor = 0; descriptor < 1024; ++descriptor)
      setsockopt(descriptor, SOL_SOCKET, SO_MAX_PACING_RATE, &kBytesPerSecond,
                 sizeof kBytesPerSecond);
    std::vector<char> from(2 * kBytes, static_cast<char>(rank + 1));
    std::vector<char> to(2 * kBytes);
    const auto begin = std::chrono::steady_clock::now();
    absl::Status status =
        communicator->allToAll(from.data(), to.data(), kBytes);
    EXPECT_TRUE(status.ok()) << status;
    EXPECT_GT(std::chrono::steady_clock::now() - begin, 10s);
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
                         testing::ValuesIn(kBackends),
                         [](const testing::TestParamInfo<Backend> &info) {
                           return std::string(info.param.name);
                         });

} // namespace
} // namespace bagua::runtime
