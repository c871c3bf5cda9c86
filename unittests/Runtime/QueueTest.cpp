//===- QueueTest.cpp - Timelines, and queues of programs ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What work in a queue of the program's means for a session. The suites of
// sessions run on a far device, too (BAGUA_TEST_DEVICE).
//
//===----------------------------------------------------------------------===//
#include "FarBackend.h"
#include "SessionHarness.h"

#include "bagua/Runtime/Device.h"
#include "bagua/Runtime/ErrorPlace.h"
#include "bagua/Runtime/Timeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <numeric>
#include <random>
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
      BAGUA_RETURN_IF_ERROR(rank.queue->drain(kLongTime));
      EXPECT_THAT(found, testing::Each(3.0f));
    }
    return rank.session->finish();
  };
  runAll(makeOneGradient(3).load(), body, farAway());
}

/// A plan of one gradient for each of two streams.
PlanBuilder makeTwoStreams(int64_t ranks) {
  PlanBuilder plan({{"gpu", ranks}});
  plan.addTensor("a", {100});
  plan.addTensor("b", {100});
  plan.addOp(fb::Opcode::AllReduce, {plan.whole(0)}, {plan.whole(0)}, {0});
  plan.addOp(fb::Opcode::AllReduce, {plan.whole(1)}, {plan.whole(1)}, {0},
             plan.addStream("other"));
  return plan;
}

/// Neither the call nor a thread of the session's waits for the program's work:
/// the host enqueues the sum behind it, and the program's next work behind the
/// sum, while it has not even begun.
TEST(ProgramQueueTest, WaitComesBeforeTheWork) {
  auto body = [](RankContext &rank) -> absl::Status {
    std::vector<float> own(100, static_cast<float>(rank.rank() + 1));
    std::vector<float> found(100);
    for (int step = 0; step < 3; ++step) {
      std::atomic<bool> isHeld{true};
      BAGUA_RETURN_IF_ERROR(rank.session->beginStep());
      rank.queue->hold(isHeld);
      for (uint32_t i : {0, 1}) {
        BAGUA_RETURN_IF_ERROR(
            rank.queue->copy(rank.address(i), own.data(), 400));
        BAGUA_RETURN_IF_ERROR(
            rank.session->markReady(TensorId(i), *rank.queue));
      }
      for (uint32_t i : {0, 1})
        BAGUA_RETURN_IF_ERROR(rank.session->wait(TensorId(i), *rank.queue));
      BAGUA_RETURN_IF_ERROR(
          rank.queue->copy(found.data(), rank.address(1), 400));
      BAGUA_RETURN_IF_ERROR(rank.session->endStep());
      EXPECT_THAT(found, testing::Each(step == 0 ? 0.0f : 6.0f));
      isHeld = false;
      BAGUA_RETURN_IF_ERROR(rank.queue->drain(kLongTime));
      EXPECT_THAT(found, testing::Each(6.0f));
    }
    return rank.session->finish();
  };
  runAll(makeTwoStreams(3).load(), body, farAway());
}

/// Of another rank, or of this one: queues that wait for tensors of a run that
/// has failed are freed. The far device hears of a failure only if it is told,
/// and knows no timeline that it was not told of, nor one that is gone.
TEST(ProgramQueueTest, AFailureFreesWorkThatWaits) {
  for (int round = 0; round < 20; ++round) {
    std::atomic<bool> isHeld{true};
    std::atomic<int> waiting{0};
    auto body = [&](RankContext &rank) -> absl::Status {
      BAGUA_RETURN_IF_ERROR(rank.session->beginStep());
      if (rank.rank() == 1)
        rank.queue->hold(isHeld);
      BAGUA_RETURN_IF_ERROR(rank.session->markReady(TensorId(0), *rank.queue));
      rank.session->wait(TensorId(0), *rank.queue).IgnoreError();
      for (++waiting; waiting < 3;)
        std::this_thread::yield();
      if (rank.rank() == 2)
        rank.session->abort(absl::AbortedError("enough"));
      if (rank.rank() == 0) {
        EXPECT_FALSE(rank.queue->drain(kLongTime).ok());
        isHeld = false;
      }
      awaitAbort(*rank.world).IgnoreError();
      rank.session->endStep().IgnoreError(); // may not have heard of it
      return rank.session->finish();
    };
    expectOnAllRanks(runRanks(makeOneGradient(3).load(), body, farAway()),
                     HasSubstr("enough"));
  }
}

/// The session ends, says so, and keeps the memory on which the device works.
TEST(ProgramQueueTest, ADeviceThatStandsStillIsGivenUp) {
  HarnessOptions options = farAway();
  options.timeout = std::chrono::milliseconds(200);
  std::atomic<int> warnings{0};
  options.session.onWarning = [&](const std::string &text) {
    if (text.find("the device has not ended its work within 200ms") !=
        std::string::npos)
      ++warnings;
  };
  std::atomic<int> idle{0}, ended{0};
  // The program's own memory is kept by the program.
  static auto &kept = *new std::vector<std::shared_ptr<std::byte>>;
  std::mutex mutex;
  auto body = [&](RankContext &rank) -> absl::Status {
    BAGUA_RETURN_IF_ERROR(rank.step({0}));
    for (++idle; idle < 2;)
      std::this_thread::yield();
    stallFar(true);
    // The other rank may have ended the run already.
    absl::Status status = rank.session->beginStep();
    if (status.ok())
      status = rank.session->markReady(TensorId(0));
    if (status.ok())
      status = rank.session->wait(TensorId(0), *rank.queue);
    rank.session.reset();
    std::lock_guard<std::mutex> lock(mutex);
    for (auto &buffer : rank.buffers)
      kept.push_back(buffer);
    if (++ended == 2)
      stallFar(false);
    return status;
  };
  runRanks(makeOneGradient(2).load(), body, options);
  EXPECT_EQ(warnings, 2);
}

/// All ranks launch collectives in the plan's order, though each gives its
/// tensors in another order: communicators of a device may need that.
TEST(ProgramQueueTest, LaunchesHaveOneOrder) {
  constexpr int kRanks = 4;
  constexpr uint32_t kTensors = 8;
  PlanBuilder plan({{"gpu", kRanks}});
  std::vector<uint32_t> streams = {0};
  for (const char *name : {"s1", "s2"})
    streams.push_back(plan.addStream(name));
  for (uint32_t i = 0; i < kTensors; ++i) {
    plan.addTensor("g" + std::to_string(i), {100});
    const uint32_t stream = i * i % 3;
    plan.addOp(fb::Opcode::AllReduce, {plan.whole(i)}, {plan.whole(i)}, {0},
               streams[stream]);
  }
  std::vector<std::vector<std::string>> launched(kRanks);
  auto body = [&](RankContext &rank) -> absl::Status {
    std::vector<uint32_t> order(kTensors);
    std::iota(order.begin(), order.end(), 0);
    std::mt19937 random(rank.rank());
    for (int step = 0; step < 10; ++step) {
      std::shuffle(order.begin(), order.end(), random);
      BAGUA_RETURN_IF_ERROR(rank.step(order));
    }
    BAGUA_RETURN_IF_ERROR(rank.session->finish());
    launched[rank.rank()] = launchesOf(*rank.world);
    return absl::OkStatus();
  };
  auto loaded = plan.load();
  ASSERT_NE(loaded, nullptr);
  runAll(loaded, body, farAway());
  ASSERT_EQ(launched[0].size(), 10u * kTensors);
  for (uint32_t i = 0; i < launched[0].size(); ++i) {
    const fb::Instruction &op = loaded->instruction(i % kTensors);
    EXPECT_THAT(
        launched[0][i],
        testing::StartsWith(loaded->root().streams()->Get(op.stream())->str()));
  }
  for (const auto &other : launched)
    EXPECT_EQ(other, launched[0]);
}

/// A wait that would need another order can't end.
TEST(ProgramQueueTest, AWaitAgainstTheOrderOfLaunchesIsAnError) {
  auto body = [](RankContext &rank) -> absl::Status {
    BAGUA_RETURN_IF_ERROR(rank.session->beginStep());
    BAGUA_RETURN_IF_ERROR(rank.give(1));
    return rank.wait(1);
  };
  expectOnAllRanks(
      runRanks(makeTwoStreams(2).load(), body, farAway()),
      AllOf(HasSubstr("wait for tensor 'b' can't end: instruction 0 "
                      "'AllReduce0'"),
            HasSubstr("waits for tensor 'a', which the program has not "
                      "given")));
}

/// What ranks tell each other about a run is in memory of the host.
TEST(ProgramQueueTest, ControlIsOnTheHost) {
  auto body = [](RankContext &rank) -> absl::Status {
    EXPECT_EQ(&rank.world->control().device(), &cpuDevice());
    EXPECT_NE(&rank.world->backend(kFar)->device(), &cpuDevice());
    auto all = rank.world->createCommunicator({0, 1}, "program");
    if (!all.ok())
      return all.status();
    int64_t own = rank.rank() + 1, sum = 0;
    BAGUA_RETURN_IF_ERROR(
        (*all)->allReduce(&own, &sum, 1, DataType::Int64, ReduceKind::Sum));
    EXPECT_EQ(sum, 3);
    BAGUA_RETURN_IF_ERROR(rank.step({0}));
    return rank.session->finish();
  };
  runAll(makeOneGradient(2).load(), body, farAway());
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
