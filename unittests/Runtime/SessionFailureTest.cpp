//===- SessionFailureTest.cpp - Whatever goes wrong -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whatever goes wrong on one rank ends in an error on all of them that says
// what it was: at once where it is certain, within the limit where a rank may
// still come. What is no error ends no run.
//
//===----------------------------------------------------------------------===//
#include "AwaitSleep.h"
#include "PlanBuilder.h"
#include "SessionHarness.h"
#include "Yardstick.h"

#include "bagua/Runtime/ErrorPlace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <stdexcept>
#include <thread>

namespace bagua::runtime::test {
namespace {

using fb::Opcode;
using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;

TEST(SessionFailureTest, ATensorThatIsNeverGiven) {
  HarnessOptions options;
  options.timeout = scaled(milliseconds(300));
  std::mutex mutex;
  std::vector<std::string> warnings;
  options.session.onWarning = [&](const std::string &text) {
    std::lock_guard<std::mutex> lock(mutex);
    warnings.push_back(text);
  };
  std::atomic<int> ended = 0;
  auto body = [&](RankContext &rank) -> absl::Status {
    BAGUA_RETURN_IF_ERROR(rank.session->beginStep());
    if (rank.rank() == 2) {
      // Of what others have met a process hears a little later.
      absl::Status status;
      while (ended < 3 || status.ok()) {
        std::this_thread::sleep_for(milliseconds(1));
        status = rank.wait(0);
      }
      return status;
    }
    BAGUA_RETURN_IF_ERROR(rank.give(0));
    absl::Status status = rank.wait(0);
    ++ended;
    return status;
  };
  // Its own program does not end rank 2's run: the others do, who wait for it.
  std::vector<absl::Status> statuses =
      runRanks(makeOneGradient(4).load(), body, options);
  expectOnAllRanks(
      statuses,
      HasSubstr("instruction 0 'AllReduce0' (AllReduce) on stream 'comm' "
                "(touches 'g') in step 0, waited " +
                textOf(options.timeout) +
                " for rank 2; rank 2: "
                "instruction 0 'AllReduce0' (AllReduce) on stream 'comm' "
                "(touches 'g') waits for tensor 'g', which the program has "
                "not given"));
  for (int rank : {0, 1, 3}) {
    std::optional<ErrorPlace> place = errorPlaceOf(statuses[rank]);
    ASSERT_TRUE(place);
    EXPECT_EQ(place->rank, 2);
    EXPECT_EQ(place->tensor, 0);
    EXPECT_EQ(place->instruction, 0);
    EXPECT_EQ(place->step, 0);
  }
  EXPECT_THAT(warnings, testing::Contains(HasSubstr("rank 2: for ")));
}

/// One that comes when all others have warned: nobody fails, and they all do,
/// also those whose program's thread is in the collective itself.
TEST(SessionFailureTest, WarnsOfARankThatIsLate) {
  HarnessOptions options;
  options.timeout = scaled(std::chrono::seconds(10));
  std::mutex mutex;
  std::string warnings;
  std::atomic<int> failed{0};
  options.session.onWarning = [&](const std::string &text) {
    std::lock_guard<std::mutex> lock(mutex);
    warnings += text + "\n";
  };
  auto haveWarned = [&] {
    std::lock_guard<std::mutex> lock(mutex);
    auto says = [&](const char *text) {
      return warnings.find(text) != std::string::npos;
    };
    return says("rank 0: communicator") && says("rank 2: communicator");
  };
  auto body = [&](RankContext &rank) -> absl::Status {
    while (rank.rank() == 1 && !haveWarned() && failed == 0)
      std::this_thread::sleep_for(milliseconds(10));
    absl::Status status = rank.step({0});
    failed += !status.ok();
    return status.ok() ? rank.session->finish() : status;
  };
  runAll(makeOneGradient(3).load(), body, options);
  for (const char *rank : {"rank 0", "rank 2"})
    EXPECT_THAT(warnings, HasSubstr(std::string(rank) +
                                    ": communicator 'comm [gpu]': all_reduce "
                                    "of " +
                                    rank + ", instruction 0 'AllReduce0'"));
  EXPECT_THAT(warnings, HasSubstr("waited " + textOf(options.timeout / 10) +
                                  " for rank 1\n"));
}

/// What a wait needs was not given, and its own thread would have to give it.
TEST(SessionFailureTest, AWaitThatCanNotEndIsAnErrorAtOnce) {
  if (!traits().launchesInAnyOrder)
    GTEST_SKIP() << "on the other ranks, too, the first all_reduce comes first "
                    "(ProgramQueueTest)";
  auto body = [](RankContext &rank) -> absl::Status {
    BAGUA_RETURN_IF_ERROR(rank.session->beginStep());
    BAGUA_RETURN_IF_ERROR(rank.give(1));
    if (rank.rank() != 1)
      BAGUA_RETURN_IF_ERROR(rank.give(2));
    return rank.wait(1);
  };
  PlanBuilder plan = makeDdpPlan(3);
  plan.op(0).stream = plan.addStream("other");
  expectOnAllRanks(
      runRanks(plan.load(), body),
      AllOf(HasSubstr("rank 1: wait for tensor 'l2.weight.grad' can't end"),
            HasSubstr("waits for tensor 'l1.weight.grad'")));
}

/// The same by way of two more streams.
TEST(SessionFailureTest, AWaitThatCanNotEndIsFoundBehindOtherStreams) {
  PlanBuilder plan({{"gpu", 2}});
  for (uint32_t i : {0, 1, 2}) {
    plan.addTensor("g" + std::to_string(i), {10});
    uint32_t value = plan.whole(i);
    uint32_t stream = i ? plan.addStream("s" + std::to_string(i)) : 0;
    uint32_t op =
        plan.addOp(fb::Opcode::AllReduce, {value}, {value}, {0}, stream);
    if (i)
      plan.op(op).after = {op - 1};
  }
  auto body = [](RankContext &rank) -> absl::Status {
    BAGUA_RETURN_IF_ERROR(rank.session->beginStep());
    BAGUA_RETURN_IF_ERROR(rank.give(1));
    BAGUA_RETURN_IF_ERROR(rank.give(2));
    return rank.wait(2);
  };
  expectOnAllRanks(runRanks(plan.load(), body),
                   AllOf(HasSubstr("wait for tensor 'g2' can't end"),
                         HasSubstr("waits for tensor 'g0'")));
}

TEST(SessionFailureTest, ARankThatThrows) {
  auto body = [](RankContext &rank) -> absl::Status {
    BAGUA_RETURN_IF_ERROR(rank.step({0}));
    if (rank.rank() == 1)
      throw std::runtime_error("out of luck");
    BAGUA_RETURN_IF_ERROR(rank.step({0}));
    return rank.session->finish();
  };
  std::vector<absl::Status> statuses =
      runRanks(makeOneGradient(3).load(), body);
  EXPECT_EQ(message(statuses[1]), "out of luck");
  for (int rank : {0, 2})
    EXPECT_THAT(message(statuses[rank]),
                HasSubstr("rank 1: its session was destroyed in step 0, before "
                          "finish()"));
}

// By a thread beside the program's, which waits.
TEST(SessionFailureTest, ARankThatAborts) {
  std::vector<absl::Status> statuses = runRanks(
      makeOneGradient(3).load(), [](RankContext &rank) -> absl::Status {
        if (rank.rank() == 1)
          while (true)
            BAGUA_RETURN_IF_ERROR(rank.step({0}));
        std::atomic<int> steps{0};
        std::thread other([&] {
          while (steps < 10)
            std::this_thread::yield();
          if (rank.rank() == 2)
            rank.session->abort(absl::CancelledError("the user asked for it"));
        });
        absl::Status status;
        for (; status.ok(); ++steps)
          status = rank.step({0});
        steps = 10; // however far it came
        EXPECT_TRUE(rank.session->isReady(TensorId(0)));
        other.join();
        return status;
      });
  expectOnAllRanks(statuses,
                   HasSubstr("rank 2: aborted: the user asked for it"));
  for (const absl::Status &status : statuses)
    EXPECT_EQ(status.code(), absl::StatusCode::kCancelled);
}

TEST(SessionFailureTest, ARankThatFailsToStart) {
  HarnessOptions options;
  options.beforeStart = [](RankContext &rank) -> absl::Status {
    return rank.rank() == 0 ? absl::InternalError("no memory")
                            : absl::OkStatus();
  };
  std::vector<absl::Status> statuses = runRanks(
      makeOneGradient(2).load(),
      [](RankContext &rank) { return rank.step({0}); }, options);
  EXPECT_THAT(message(statuses[1]),
              HasSubstr("rank 0: its session was destroyed before its first "
                        "step"));
}

TEST(SessionFailureTest, ARankThatDoesNotCome) {
  HarnessOptions options;
  options.timeout = scaled(milliseconds(200));
  std::atomic<int> failed{0};
  auto body = [&](RankContext &rank) -> absl::Status {
    while (rank.rank() == 1 && failed < 2)
      std::this_thread::sleep_for(milliseconds(10));
    absl::Status status = rank.step({0});
    failed += !status.ok();
    return status;
  };
  std::vector<absl::Status> statuses =
      runRanks(makeOneGradient(3).load(), body, options);
  for (int rank : {0, 2})
    EXPECT_THAT(message(statuses[rank]),
                AllOf(HasSubstr("AllReduce0"), HasSubstr("'g'"),
                      HasSubstr("for rank 1")));
  EXPECT_FALSE(statuses[1].ok());
}

//===----------------------------------------------------------------------===//
// The time limit
//===----------------------------------------------------------------------===//

/// Collects warnings of all ranks.
class Warnings {
public:
  void attachTo(SessionOptions &options) {
    options.onWarning = [this](const std::string &text) {
      std::lock_guard<std::mutex> lock(mutex);
      texts.push_back(text);
    };
  }
  std::vector<std::string> all() {
    std::lock_guard<std::mutex> lock(mutex);
    return texts;
  }

private:
  std::mutex mutex;
  std::vector<std::string> texts;
};

/// Three times the limit passes between a step's begin and its gift, on all
/// ranks: the first step compiles, say. Nobody waits for another rank.
TEST(SessionFailureTest, ASlowProgramIsNoError) {
  const auto limit = scaled(milliseconds(500));
  HarnessOptions options;
  options.timeout = limit;
  Warnings warnings;
  warnings.attachTo(options.session);
  auto body = [limit](RankContext &rank) -> absl::Status {
    for (int step = 0; step < 2; ++step) {
      BAGUA_RETURN_IF_ERROR(rank.session->beginStep());
      std::this_thread::sleep_for(step == 0 ? 3 * limit : limit * 24 / 25);
      BAGUA_RETURN_IF_ERROR(rank.give(0));
      BAGUA_RETURN_IF_ERROR(rank.wait(0));
      BAGUA_RETURN_IF_ERROR(rank.session->endStep());
    }
    return rank.session->finish();
  };
  runAll(makeOneGradient(3).load(), body, options);
  EXPECT_THAT(warnings.all(),
              Contains(AllOf(HasSubstr("rank 1: for "),
                             HasSubstr("which the program has not given"))));
}

/// The world's limit is another: the session's holds.
TEST(SessionFailureTest, TheSessionsLimitHoldsInCollectives) {
  const auto limit = scaled(std::chrono::seconds(1));
  auto plan = makeOneGradient(2).load();
  auto worlds = createInProcessWorlds(2, kLongTime);
  std::atomic<bool> isOver{false};
  absl::Status status;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 2; ++rank)
    threads.emplace_back([&, rank] {
      std::vector<float> memory(100);
      SessionOptions options;
      options.timeout = rank == 0 ? limit : kLongTime;
      auto session = Session::create(plan, std::move(worlds[rank]), options);
      ASSERT_TRUE(session.ok());
      ASSERT_TRUE((*session)->bind(TensorId(0), memory.data(), 400).ok());
      ASSERT_TRUE((*session)->start().ok());
      if (rank == 0) {
        ASSERT_TRUE((*session)->beginStep().ok());
        ASSERT_TRUE((*session)->markReady(TensorId(0)).ok());
        status = (*session)->wait(TensorId(0));
        isOver = true;
      }
      while (!isOver)
        std::this_thread::sleep_for(milliseconds(1));
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_TRUE(absl::IsDeadlineExceeded(status));
  EXPECT_THAT(message(status),
              HasSubstr("waited " + textOf(limit) + " for rank 1"));
}

TEST(SessionFailureTest, TheSessionsLimitHoldsWhenItIsCreated) {
  auto worlds = createInProcessWorlds(3, kLongTime);
  SessionOptions options;
  options.timeout = milliseconds(200);
  absl::Status status =
      Session::create(makeOneGradient(3).load(), std::move(worlds[1]), options)
          .status();
  EXPECT_TRUE(absl::IsDeadlineExceeded(status));
  EXPECT_THAT(message(status),
              AllOf(HasSubstr("rank 1: creating a session of plan 'test'"),
                    HasSubstr("waited 200ms for ranks 0, 2")));
}

/// Each rank waits for the other in another session.
TEST(SessionFailureTest, SessionsCreatedInAnotherOrder) {
  auto plan = makeOneGradient(2).load();
  std::vector<std::unique_ptr<World>> worlds[] = {
      createInProcessWorlds(2, kLongTime), createInProcessWorlds(2, kLongTime)};
  SessionOptions options;
  options.timeout = milliseconds(200);
  std::vector<absl::Status> statuses(2);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 2; ++rank)
    threads.emplace_back([&, rank] {
      statuses[rank] =
          Session::create(plan, std::move(worlds[rank][rank]), options)
              .status();
    });
  for (std::thread &thread : threads)
    thread.join();
  for (int rank = 0; rank < 2; ++rank)
    EXPECT_THAT(message(statuses[rank]),
                AllOf(HasSubstr("as all ranks do in one order"),
                      HasSubstr("for rank " + std::to_string(1 - rank))));
}

//===----------------------------------------------------------------------===//
// Ranks that leave
//===----------------------------------------------------------------------===//

/// It stops one step early and goes; the others hear of it at once.
TEST(SessionFailureTest, ARankThatLeft) {
  auto body = [](RankContext &rank) -> absl::Status {
    for (int step = 0; step < (rank.rank() == 1 ? 2 : 3); ++step)
      BAGUA_RETURN_IF_ERROR(rank.step({0}));
    return rank.session->finish();
  };
  std::vector<absl::Status> statuses =
      runRanks(makeOneGradient(3).load(), body);
  EXPECT_TRUE(statuses[1].ok()) << statuses[1];
  for (int rank : {0, 2}) {
    EXPECT_TRUE(absl::IsUnavailable(statuses[rank])) << statuses[rank];
    EXPECT_THAT(message(statuses[rank]),
                HasSubstr("needs rank 1, which has left"));
  }
}

TEST(SessionFailureTest, ARankThatNeverUsedItsWorld) {
  auto worlds = createInProcessWorlds(2);
  worlds[1].reset();
  absl::Status status =
      Session::create(makeOneGradient(2).load(), std::move(worlds[0]), {})
          .status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(message(status), HasSubstr("needs rank 1, which has left"));
}

/// Nor does it end its parent's run, or wait for threads that it hasn't got.
TEST(SessionFailureTest, AForkedProcessHasNoSession) {
  auto body = [](RankContext &rank) -> absl::Status {
    BAGUA_RETURN_IF_ERROR(rank.step({0}));
    if (rank.rank() == 0) {
      const pid_t child = fork();
      if (child == 0) {
        alarm(60);
        bool isRefused = true;
        for (const absl::Status &status :
             {rank.session->beginStep(), rank.session->wait(TensorId(0)),
              rank.session->finish(), rank.session->saveState().status()})
          isRefused &= absl::IsFailedPrecondition(status) &&
                       absl::StrContains(status.message(),
                                         "which made a session, found ");
        rank.session.reset();
        _exit(isRefused ? 0 : 1);
      }
      int status = 1;
      waitpid(child, &status, 0);
      if (status != 0)
        return absl::InternalError(absl::StrCat("the child: ", status));
    }
    BAGUA_RETURN_IF_ERROR(rank.step({0}));
    return rank.session->finish();
  };
  for (const absl::Status &status : runRanks(makeOneGradient(2).load(), body))
    EXPECT_TRUE(status.ok()) << status;
}

/// What the backend says comes with all it says.
TEST(SessionFailureTest, ErrorsKeepTheirPayloads) {
  auto worlds = createInProcessWorlds(2);
  absl::Status why = absl::DataLossError("a link is down");
  why.SetPayload("link", absl::Cord("7"));
  worlds[1]->abort(why);
  absl::Status status =
      Session::create(makeOneGradient(2).load(), std::move(worlds[0]), {})
          .status();
  EXPECT_EQ(message(status), "rank 0: a link is down");
  ASSERT_TRUE(status.GetPayload("link").has_value());
  EXPECT_EQ(*status.GetPayload("link"), "7");
}

//===----------------------------------------------------------------------===//
// Before the first step
//===----------------------------------------------------------------------===//

/// Rank 1 makes every mistake there is before its first step; nobody's run
/// ends.
TEST(SessionFailureTest, MistakesBeforeTheFirstStepChangeNothing) {
  HarnessOptions options;
  options.beforeStart = [](RankContext &rank) -> absl::Status {
    if (rank.rank() != 1)
      return absl::OkStatus();
    EXPECT_THAT(message(rank.session->beginStep()),
                HasSubstr("rank 1: beginStep before start"));
    EXPECT_THAT(message(rank.give(0)), HasSubstr("outside of a step"));
    EXPECT_THAT(message(rank.session->endStep()),
                HasSubstr("endStep before beginStep"));
    return absl::OkStatus();
  };
  auto body = [](RankContext &rank) -> absl::Status {
    if (rank.rank() == 1) {
      EXPECT_THAT(message(rank.give(0)), HasSubstr("outside of a step"));
      EXPECT_THAT(message(rank.give(17)),
                  HasSubstr("expected a tensor's number below 1, found 17"));
      EXPECT_FALSE(rank.session->markAbsent(TensorId(0)).ok());
      EXPECT_FALSE(rank.session->endStep().ok());
      EXPECT_FALSE(rank.session->start().ok());
    }
    BAGUA_RETURN_IF_ERROR(rank.step({0}));
    return rank.session->finish();
  };
  runAll(makeOneGradient(3).load(), body, options);
}

/// After finish() no run is on that a mistake could end.
TEST(SessionFailureTest, MistakesAfterFinishChangeNothing) {
  auto body = [](RankContext &rank) -> absl::Status {
    for (int run = 0; run < 2; ++run) {
      BAGUA_RETURN_IF_ERROR(rank.step({0}));
      BAGUA_RETURN_IF_ERROR(rank.session->finish());
      EXPECT_FALSE(rank.give(0).ok());
      EXPECT_FALSE(rank.session->endStep().ok());
    }
    return absl::OkStatus();
  };
  runAll(makeOneGradient(2).load(), body);
}

/// From another thread, while streams come to be or go again.
TEST(SessionFailureTest, AbortBesideStart) {
  PlanBuilder plan({{"gpu", 1}});
  uint32_t value = plan.whole(plan.addTensor("g", {4}));
  for (const char *name : {"h0", "h1", "h2", "h3"}) {
    uint32_t result = plan.whole(plan.addTensor(name, {4}));
    plan.addOp(Opcode::Cast, {value}, {result}, {}, plan.addStream(name));
  }
  std::shared_ptr<const Plan> loaded = plan.load();
  ASSERT_NE(loaded, nullptr);
  for (int round = 0; round < 200; ++round) {
    auto worlds = createInProcessWorlds(1);
    std::vector<std::array<float, 4>> memory(5);
    auto session = *Session::create(loaded, std::move(worlds[0]), {});
    for (uint32_t i = 0; i < 5; ++i)
      ASSERT_TRUE(session->bind(TensorId(i), memory[i].data(), 16).ok());
    std::thread aborter(
        [&] { session->abort(absl::CancelledError("enough")); });
    session->start().IgnoreError();
    aborter.join();
    EXPECT_THAT(message(session->beginStep()), HasSubstr("enough"));
  }
}

TEST(SessionFailureTest, WhatIsNoLimit) {
  for (std::chrono::nanoseconds timeout :
       {std::chrono::nanoseconds(0), std::chrono::nanoseconds::max()}) {
    SessionOptions options;
    options.timeout = timeout;
    EXPECT_THAT(
        message(Session::create(makeOneGradient(1).load(),
                                std::move(createInProcessWorlds(1)[0]), options)
                    .status()),
        HasSubstr("timeout: expected more than 0 and at most ten years"));
  }
}

/// No thread can have a stack of 64 TiB: start() says so, and works once there
/// is room.
TEST(SessionFailureTest, NoThreadsToBeHad) {
  pthread_attr_t usual, huge;
  ASSERT_EQ(pthread_getattr_default_np(&usual), 0);
  ASSERT_EQ(pthread_getattr_default_np(&huge), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&huge, size_t{1} << 46), 0);
  auto worlds = createInProcessWorlds(1);
  PlanBuilder plan = makeOneGradient(1);
  plan.addResult("r", {100});
  plan.addOp(Opcode::Concat, {plan.whole(0)}, {plan.whole(1)});
  auto session = *Session::create(plan.load(), std::move(worlds[0]), {});
  std::vector<float> memory(200);
  ASSERT_TRUE(session->bind(TensorId(0), memory.data(), 400).ok());
  ASSERT_TRUE(session->bind(TensorId(1), memory.data() + 100, 400).ok());
  ASSERT_EQ(pthread_setattr_default_np(&huge), 0);
  absl::Status status = session->start();
  ASSERT_EQ(pthread_setattr_default_np(&usual), 0);
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_THAT(message(status),
              HasSubstr("rank 0: no thread for stream 'comm'"));
  EXPECT_TRUE(session->start().ok());
  EXPECT_TRUE(session->beginStep().ok());
  EXPECT_TRUE(session->markReady(TensorId(0)).ok());
  EXPECT_TRUE(session->wait(TensorId(1)).ok());
  EXPECT_TRUE(session->endStep().ok());
  EXPECT_TRUE(session->finish().ok());
}

//===----------------------------------------------------------------------===//
// Sleeping and waking
//===----------------------------------------------------------------------===//

/// Rank 0's program waits for the first of two reductions, and then for nothing
/// until rank 1 has the second: rank 0's stream has to run that by itself. A
/// wake-up that gets lost between both would end in the limit.
TEST(SessionFailureTest, NoWakeUpIsLost) {
  const int steps = isFar() ? 300 : 3000;
  PlanBuilder plan({{"gpu", 2}});
  for (const char *name : {"a", "b"}) {
    uint32_t value = plan.whole(plan.addTensor(name, {4}));
    plan.addOp(Opcode::AllReduce, {value}, {value}, {0});
  }
  std::atomic<int> done{0};
  auto body = [&](RankContext &rank) -> absl::Status {
    for (int step = 0; step < steps; ++step) {
      BAGUA_RETURN_IF_ERROR(rank.session->beginStep());
      BAGUA_RETURN_IF_ERROR(rank.give(0));
      BAGUA_RETURN_IF_ERROR(rank.give(1));
      BAGUA_RETURN_IF_ERROR(rank.wait(0));
      if (rank.rank() == 0)
        while (done.load() <= step && done.load() >= 0)
          std::this_thread::yield();
      absl::Status second = rank.wait(1);
      if (rank.rank() == 1)
        done = second.ok() ? step + 1 : -1;
      BAGUA_RETURN_IF_ERROR(second);
      BAGUA_RETURN_IF_ERROR(rank.session->endStep());
    }
    return rank.session->finish();
  };
  runAll(plan.load(), body);
}

/// How often each thread of this process has gone to sleep, by number.
std::map<pid_t, int64_t> sleepsByThread() {
  std::map<pid_t, int64_t> sleeps;
  for (const auto &task :
       std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream status(task.path() / "status");
    std::string word;
    while (status >> word)
      if (word == "voluntary_ctxt_switches:")
        status >> sleeps[std::stoi(task.path().filename())];
  }
  return sleeps;
}

/// Between steps nobody wakes up, to look whether another rank has failed, say.
TEST(SessionFailureTest, AnIdleSessionSleeps) {
  const std::map<pid_t, int64_t> others = sleepsByThread();
  auto worlds = createInProcessWorlds(1);
  PlanBuilder plan = makeOneGradient(1);
  for (int i = 0; i < 8; ++i) {
    uint32_t result = plan.addResult("r" + std::to_string(i), {100});
    plan.addOp(Opcode::Concat, {plan.whole(0)}, {plan.whole(result)}, {},
               plan.addStream("s" + std::to_string(i)));
  }
  auto session = *Session::create(plan.load(), std::move(worlds[0]), {});
  std::vector<std::vector<float>> memory(9, std::vector<float>(100));
  for (uint32_t i = 0; i < 9; ++i)
    ASSERT_TRUE(session->bind(TensorId(i), memory[i].data(), 400).ok());
  ASSERT_TRUE(session->start().ok());
  for (auto [thread, count] : sleepsByThread())
    if (others.count(thread) == 0)
      awaitSleep(thread);
  std::map<pid_t, int64_t> before = sleepsByThread();
  std::this_thread::sleep_for(milliseconds(400));
  int64_t sleeps = 0, threads = 0;
  for (auto [thread, count] : sleepsByThread())
    if (others.count(thread) == 0 && before.count(thread) > 0) {
      sleeps += count - before[thread];
      ++threads;
    }
  EXPECT_EQ(threads, 8);
  EXPECT_LE(sleeps, 8); // 160, if each looked every 20 ms
}

} // namespace
} // namespace bagua::runtime::test
