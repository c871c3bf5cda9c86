//===- QueueTest.cpp - Timelines, and queues of programs ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What work in a queue of the program's means for a session. The suites of
// sessions run on a far device, too (BAGUA_TEST_DEVICE).
//
//===----------------------------------------------------------------------===//
#include "SessionHarness.h"

#include "bagua/Runtime/ErrorPlace.h"
#include "bagua/Runtime/Timeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

namespace bagua::runtime {
namespace {

using namespace test;

constexpr std::chrono::nanoseconds kNoLimit = std::chrono::nanoseconds::max();

TEST(TimelineTest, GrowsPastThirtyTwoBits) {
  Timeline timeline;
  for (uint64_t value : {uint64_t{1}, uint64_t{0x7fffffff}, uint64_t{1} << 31,
                         uint64_t{1} << 32, (uint64_t{1} << 62) + 5}) {
    EXPECT_FALSE(timeline.reached(value));
    timeline.signal(value);
    EXPECT_EQ(timeline.value(), value);
    EXPECT_TRUE(timeline.reached(value));
    EXPECT_FALSE(timeline.hasFailed());
  }
}

/// Two threads wake each other many times, without a limit: one that missed a
/// signal would sleep for ever.
TEST(TimelineTest, NobodyMissesASignal) {
  constexpr uint64_t kTurns = 20000;
  Timeline one, other;
  auto await = [](Timeline &timeline, uint64_t target) {
    while (!timeline.reached(target))
      timeline.sleep(target, kNoLimit);
  };
  std::thread thread([&] {
    for (uint64_t turn = 1; turn <= kTurns; ++turn) {
      await(one, turn);
      other.signal(turn);
      other.tell();
    }
  });
  for (uint64_t turn = 1; turn <= kTurns; ++turn) {
    one.signal(turn);
    one.tell();
    await(other, turn);
  }
  thread.join();
}

/// Whoever is late changes nothing, and nobody sees it go back.
TEST(TimelineTest, SignalsThatCrossEachOther) {
  for (int round = 0; round < 200; ++round) {
    Timeline timeline;
    std::vector<std::thread> threads;
    for (uint64_t first : {1, 2, 3})
      threads.emplace_back([&timeline, first] {
        for (uint64_t value = first; value <= 300; value += 3) {
          const uint64_t before = timeline.value();
          timeline.signal(value);
          ASSERT_GE(timeline.value(), std::max(before, value));
        }
      });
    for (std::thread &thread : threads)
      thread.join();
    ASSERT_EQ(timeline.value(), 300u);
  }
}

TEST(TimelineTest, AFailureEndsWaitsAndKeepsTheCount) {
  Timeline timeline;
  timeline.signal(3);
  std::thread sleeper([&] {
    while (!timeline.hasFailed())
      timeline.sleep(4, kNoLimit);
  });
  timeline.fail();
  sleeper.join();
  timeline.sleep(4, kNoLimit); // at once
  EXPECT_EQ(timeline.value(), 3u);
  timeline.signal(5); // was under way
  EXPECT_TRUE(timeline.hasFailed());
  EXPECT_EQ(timeline.value(), 5u);
}

TEST(TimelineTest, ListenersAreToldOnce) {
  Timeline timeline;
  std::vector<int> told;
  for (int target : {4, 2, 1, 9})
    timeline.onReached(target, [&, target] { told.push_back(target); });
  timeline.signal(1);
  EXPECT_TRUE(told.empty());
  timeline.tell();
  EXPECT_THAT(told, ElementsAre(1));
  timeline.signal(5);
  timeline.tell();
  EXPECT_THAT(told, ElementsAre(1, 2, 4));
  timeline.onReached(5, [&] { told.push_back(5); }); // has come already
  EXPECT_THAT(told, ElementsAre(1, 2, 4, 5));
  timeline.fail();
  timeline.tellAll();
  EXPECT_THAT(told, ElementsAre(1, 2, 4, 5, 9));
  timeline.onReached(20, [&] { told.push_back(20); }); // never comes
  EXPECT_THAT(told, ElementsAre(1, 2, 4, 5, 9, 20));
}

/// One may come to a target while a listener for it is added: it is told, by
/// one of both.
TEST(TimelineTest, ListenersRaceWithSignals) {
  for (int round = 0; round < 2000; ++round) {
    Timeline timeline;
    std::atomic<int> told{0};
    std::thread signaller([&] {
      timeline.signal(1);
      timeline.tell();
    });
    timeline.onReached(1, [&] { ++told; });
    signaller.join();
    ASSERT_EQ(told, 1);
  }
}

HarnessOptions farAway() {
  HarnessOptions options;
  options.isFar = true;
  return options;
}

/// wait() with a queue returns while the sum is still being computed; what is
/// enqueued behind it finds the sum.
TEST(ProgramQueueTest, WorkFollowsATensor) {
  auto body = [](RankContext &rank) -> absl::Status {
    std::vector<float> own(100, static_cast<float>(rank.rank()));
    std::vector<float> found(100);
    for (int step = 0; step < 5; ++step) {
      BAGUA_RETURN_IF_ERROR(rank.session->beginStep());
      BAGUA_RETURN_IF_ERROR(rank.queue->copy(rank.address(0), own.data(), 400));
      BAGUA_RETURN_IF_ERROR(rank.session->markReady(TensorId(0), *rank.queue));
      BAGUA_RETURN_IF_ERROR(rank.session->wait(TensorId(0), *rank.queue));
      BAGUA_RETURN_IF_ERROR(
          rank.queue->copy(found.data(), rank.address(0), 400));
      BAGUA_RETURN_IF_ERROR(rank.session->endStep());
      BAGUA_RETURN_IF_ERROR(rank.queue->drain());
      EXPECT_THAT(found, testing::Each(3.0f));
    }
    return rank.session->finish();
  };
  runAll(makeOneGradient(3).load(), body, farAway());
}

/// Of the work that makes a tensor; nobody waits for it in vain.
TEST(ProgramQueueTest, WorkThatFails) {
  auto body = [](RankContext &rank) -> absl::Status {
    BAGUA_RETURN_IF_ERROR(rank.step({0}));
    BAGUA_RETURN_IF_ERROR(rank.session->beginStep());
    if (rank.rank() == 1)
      rank.queue->fail(absl::DataLossError("out of order"));
    BAGUA_RETURN_IF_ERROR(rank.session->markReady(TensorId(0), *rank.queue));
    return rank.session->wait(TensorId(0));
  };
  std::vector<absl::Status> statuses =
      runRanks(makeOneGradient(3).load(), body, farAway());
  expectOnAllRanks(
      statuses,
      AllOf(HasSubstr("the program's work before tensor 'g' has failed, in "
                      "step 1"),
            HasSubstr("rank 1: instruction 0 'AllReduce0'")));
  for (const absl::Status &status : statuses)
    EXPECT_EQ(errorPlaceOf(status)->rank, 1);
}

TEST(ProgramQueueTest, MemoryOfTheHostIsRefused) {
  auto body = [](RankContext &rank) -> absl::Status {
    std::vector<float> own(100);
    BAGUA_RETURN_IF_ERROR(rank.session->beginStep());
    return rank.session->markReady(TensorId(0), own.data(), 400);
  };
  expectOnAllRanks(runRanks(makeOneGradient(2).load(), body, farAway()),
                   HasSubstr("markReady of tensor 'g': expected memory of the "
                             "far device"));
}

} // namespace
} // namespace bagua::runtime
