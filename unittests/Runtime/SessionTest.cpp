//===- SessionTest.cpp - The program's view of a plan ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ownership, steps and costs.
//
//===----------------------------------------------------------------------===//
#include "AllocationCount.h"
#include "AwaitSleep.h"
#include "PlanBuilder.h"
#include "SessionHarness.h"

#include "bagua/Support/TraceWriter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <unistd.h>

namespace bagua::runtime::test {
namespace {

using fb::Opcode;
using ::testing::AllOf;
using ::testing::HasSubstr;

//===----------------------------------------------------------------------===//
// Ownership
//===----------------------------------------------------------------------===//

TEST(SessionTest, WaitMayComeInTheNextStep) {
  runAll(makeOneGradient(2).load(), [](RankContext &rank) -> absl::Status {
    for (int step = 0; step < 20; ++step) {
      BAGUA_RETURN_IF_ERROR(rank.session->beginStep());
      BAGUA_RETURN_IF_ERROR(rank.wait(0));
      float found = rank.data<float>(0)[99];
      EXPECT_EQ(found, step == 0 ? 0.0f : 1.0f + 2 * (step - 1));
      std::fill_n(rank.data<float>(0), 100, float(rank.rank() + step));
      BAGUA_RETURN_IF_ERROR(rank.give(0));
      BAGUA_RETURN_IF_ERROR(rank.session->endStep());
    }
    return rank.session->finish();
  });
}

TEST(SessionTest, SaysWhetherATensorIsReady) {
  std::atomic<int> given{0};
  runAll(makeOneGradient(2).load(), [&](RankContext &rank) -> absl::Status {
    Session &session = *rank.session;
    EXPECT_TRUE(session.isReady(TensorId(0))); // the program's
    BAGUA_RETURN_IF_ERROR(session.beginStep());
    if (rank.rank() == 1)
      while (given == 0)
        std::this_thread::yield();
    BAGUA_RETURN_IF_ERROR(rank.give(0));
    // Rank 1 has not given its own.
    EXPECT_TRUE(rank.rank() == 1 || !session.isReady(TensorId(0)));
    ++given;
    while (!session.isReady(TensorId(0)))
      std::this_thread::yield();
    BAGUA_RETURN_IF_ERROR(rank.wait(0));
    BAGUA_RETURN_IF_ERROR(session.endStep());
    return session.finish();
  });
}

// Streams tell of what is done; a tensor that several of them use, once.
TEST(SessionTest, TellsWhenATensorIsDone) {
  PlanBuilder plan = makeDdpPlan(2);
  uint32_t other = plan.addStream("other");
  uint32_t first = plan.whole(0);
  uint32_t copy = plan.whole(plan.addResult("copy", {1021}));
  uint32_t linear = plan.addOp(Opcode::Linear, {first}, {copy}, {}, other);
  plan.op(linear).constants = {1.0f};
  plan.op(linear).after = {0};
  plan.use(0, linear, /*waits=*/false);
  constexpr int kSteps = 200;
  runAll(plan.load(), [](RankContext &rank) -> absl::Status {
    std::atomic<int> calls{0};
    for (int step = 0; step < kSteps; ++step) {
      BAGUA_RETURN_IF_ERROR(rank.session->beginStep());
      for (uint32_t tensor : {0, 1, 2}) {
        BAGUA_RETURN_IF_ERROR(rank.give(tensor));
        rank.session->onDone(TensorId(tensor), [&](absl::Status told) {
          EXPECT_TRUE(told.ok()) << told;
          ++calls;
        });
      }
      // Half the time the program's thread runs instructions, too.
      for (uint32_t tensor : {0, 1, 2})
        if (step % 2)
          BAGUA_RETURN_IF_ERROR(rank.wait(tensor));
      while (calls < 3 * (step + 1))
        std::this_thread::yield();
      for (uint32_t tensor : {0, 1, 2})
        BAGUA_RETURN_IF_ERROR(rank.wait(tensor));
      BAGUA_RETURN_IF_ERROR(rank.session->endStep());
    }
    BAGUA_RETURN_IF_ERROR(rank.session->finish());
    EXPECT_EQ(calls, 3 * kSteps);
    // Of what the program owns at once.
    rank.session->onDone(TensorId(0), [&](const absl::Status &) { ++calls; });
    EXPECT_EQ(calls, 3 * kSteps + 1);
    return absl::OkStatus();
  });
}

// Whoever ends the run, and whenever: callbacks are called once.
TEST(SessionTest, TellsOfAnError) {
  for (int round = 0; round < 50; ++round) {
    std::atomic<int> told{0};
    std::atomic<bool> hasStarted{false};
    runRanks(makeDdpPlan(2).load(), [&](RankContext &rank) -> absl::Status {
      if (rank.rank() == 0)
        hasStarted = true;
      while (!hasStarted)
        std::this_thread::yield();
      absl::Status status = rank.session->beginStep();
      if (rank.rank() == 1) {
        if (status.ok() && round % 2)
          status = rank.give(0);
        rank.session->abort(absl::CancelledError("enough"));
        return status;
      }
      // Each may fail already.
      for (uint32_t tensor : {0, 1})
        if (status.ok())
          status = rank.give(tensor);
      rank.session->onDone(TensorId(1), [&](const absl::Status &why) {
        EXPECT_EQ(told++, 0);
        EXPECT_THAT(message(why), HasSubstr("enough"));
      });
      while (told == 0)
        std::this_thread::yield();
      return absl::OkStatus();
    });
    EXPECT_EQ(told, 1);
  }
}

TEST(SessionTest, AbsentTensorsAreZeros) {
  PlanBuilder plan = makeOneGradient(2);
  plan.tensor(0).optional = true;
  runAll(plan.load(), [](RankContext &rank) -> absl::Status {
    std::fill_n(rank.data<float>(0), 100, 5.0f);
    BAGUA_RETURN_IF_ERROR(rank.session->beginStep());
    BAGUA_RETURN_IF_ERROR(rank.rank() == 0
                              ? rank.session->markAbsent(TensorId(0))
                              : rank.give(0));
    BAGUA_RETURN_IF_ERROR(rank.wait(0));
    EXPECT_EQ(rank.data<float>(0)[7], 5.0f);
    BAGUA_RETURN_IF_ERROR(rank.session->endStep());
    return rank.session->finish();
  });
}

/// A param that only the runtime updates: wait gives it as the step before left
/// it, and after endStep as this step left it.
TEST(SessionTest, StateThatIsNotGiven) {
  PlanBuilder plan({{"gpu", 1}});
  plan.addTensor("g", {1});
  plan.addTensor("w", {1}, fb::Role::Param);
  plan.tensor(1).given_by_program = false;
  uint32_t g = plan.whole(0), w = plan.whole(1);
  uint32_t sgd = plan.addOp(Opcode::Sgd, {w, g}, {w});
  plan.op(sgd).has_learning_rate = true;
  plan.op(sgd).learning_rate = 1.0f;
  runAll(plan.load(), [](RankContext &rank) -> absl::Status {
    *rank.data<float>(0) = -1.0f;
    *rank.data<float>(1) = 0.0f;
    for (int step = 0; step < 5; ++step) {
      BAGUA_RETURN_IF_ERROR(rank.session->beginStep());
      BAGUA_RETURN_IF_ERROR(rank.wait(1));
      EXPECT_EQ(*rank.data<float>(1), float(step));
      BAGUA_RETURN_IF_ERROR(rank.wait(0));
      BAGUA_RETURN_IF_ERROR(rank.give(0));
      BAGUA_RETURN_IF_ERROR(rank.session->endStep());
    }
    BAGUA_RETURN_IF_ERROR(rank.wait(1));
    EXPECT_EQ(*rank.data<float>(1), 5.0f);
    BAGUA_RETURN_IF_ERROR(rank.wait(0));
    return rank.session->finish();
  });
}

/// After finish() everything is the program's again.
TEST(SessionTest, FinishTakesEverythingBack) {
  runAll(makeOneGradient(2).load(), [](RankContext &rank) -> absl::Status {
    for (int step = 0; step < 3; ++step) {
      BAGUA_RETURN_IF_ERROR(rank.session->beginStep());
      BAGUA_RETURN_IF_ERROR(rank.give(0));
      BAGUA_RETURN_IF_ERROR(rank.session->endStep());
      BAGUA_RETURN_IF_ERROR(rank.session->finish());
    }
    return absl::OkStatus();
  });
}

//===----------------------------------------------------------------------===//
// Who updates
//===----------------------------------------------------------------------===//

/// g is reduced and updates w, which the program reads in the next forward.
///   tensors 0 g, 1 w (in an arena if `isInArena`)
PlanBuilder makeUpdating(int64_t ranks, bool isInArena = false) {
  PlanBuilder plan({{"gpu", ranks}});
  plan.addArena("params", 64);
  plan.addTensor("g", {4});
  plan.addTensor("w", {4}, fb::Role::Param, fb::DataType::Float32,
                 isInArena ? 0 : -1, 0);
  plan.tensor(1).given_by_program = false;
  uint32_t g = plan.whole(0), w = plan.whole(1);
  plan.addOp(Opcode::AllReduce, {g}, {g}, {0});
  uint32_t sgd = plan.addOp(Opcode::Sgd, {w, g}, {w});
  plan.op(sgd).has_learning_rate = true;
  plan.op(sgd).learning_rate = 1.0f;
  plan.use(1, sgd);
  plan.addProgramOp("forward", fb::ComputePhase::Forward, 0, {1}, {});
  plan.addProgramOp("backward", fb::ComputePhase::Backward, 0, {}, {0});
  return plan;
}

/// A program that updates what the plan's instructions update would do it
/// twice: it has to ask.
TEST(SessionTest, AProgramAsksWhoUpdates) {
  auto worlds = createInProcessWorlds(1);
  auto session =
      *Session::create(makeUpdating(1).load(), std::move(worlds[0]), {});
  std::vector<float> memory(8);
  ASSERT_TRUE(session->bind(TensorId(0), memory.data(), 16).ok());
  absl::Status status = session->start();
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_THAT(message(status),
              AllOf(HasSubstr("rank 0: the runtime updates 'w'"),
                    HasSubstr("programUpdates()"),
                    HasSubstr("updates=program")));
  EXPECT_TRUE(session->programUpdates("g"));
  EXPECT_TRUE(session->programUpdates("a param that no plan names"));
  EXPECT_FALSE(session->programUpdates("w"));
  EXPECT_THAT(message(session->start()), HasSubstr("not bound: 'w'"));
  ASSERT_TRUE(session->bind(TensorId(1), memory.data() + 4, 16).ok());
  EXPECT_TRUE(session->start().ok());
}

/// Nobody else writes the first values of a param in an arena.
TEST(SessionTest, AParamInAnArenaIsWrittenByTheProgram) {
  auto worlds = createInProcessWorlds(1);
  auto session =
      *Session::create(makeUpdating(1, true).load(), std::move(worlds[0]), {});
  std::vector<float> memory(4);
  ASSERT_TRUE(session->bind(TensorId(0), memory.data(), 16).ok());
  EXPECT_FALSE(session->programUpdates("w"));
  EXPECT_THAT(message(session->start()),
              HasSubstr("rank 0: the program has not set the first values of "
                        "'w', which lie in an arena"));
  EXPECT_FALSE(session->address(TensorId(1), 12).ok());
  EXPECT_FALSE(session->start().ok());
  EXPECT_TRUE(session->address(TensorId(1), 16).ok());
  EXPECT_TRUE(session->start().ok());
}

/// What the program reads it waits for in each step, or it may read what the
/// step before is still changing. After finish() it need not.
TEST(SessionTest, AParamThatIsReadIsWaitedFor) {
  auto stepOf = [](RankContext &rank, bool waits) -> absl::Status {
    BAGUA_RETURN_IF_ERROR(rank.session->beginStep());
    if (waits)
      BAGUA_RETURN_IF_ERROR(rank.wait(1));
    BAGUA_RETURN_IF_ERROR(rank.wait(0));
    BAGUA_RETURN_IF_ERROR(rank.give(0));
    return rank.session->endStep();
  };
  std::vector<absl::Status> statuses =
      runRanks(makeUpdating(2).load(), [&](RankContext &rank) -> absl::Status {
        BAGUA_RETURN_IF_ERROR(stepOf(rank, false));
        BAGUA_RETURN_IF_ERROR(rank.session->finish());
        for (bool waits : {false, true, true})
          BAGUA_RETURN_IF_ERROR(stepOf(rank, waits));
        EXPECT_EQ(rank.session->step(), 3);
        BAGUA_RETURN_IF_ERROR(stepOf(rank, rank.rank() == 0));
        BAGUA_RETURN_IF_ERROR(stepOf(rank, true));
        return rank.session->finish();
      });
  expectOnAllRanks(statuses,
                   HasSubstr("rank 1: step 4 ended without a wait for 'w', "
                             "which the program reads"));
}

//===----------------------------------------------------------------------===//
// Two steps in flight
//===----------------------------------------------------------------------===//

/// Step k+1 begins while step k's communication can't have ended: rank 1 is
/// late. Step k+2 has to wait for it.
TEST(SessionTest, TwoStepsAreInFlight) {
  PlanBuilder plan({{"gpu", 2}});
  for (const char *name : {"a", "b", "c"}) {
    uint32_t tensor = plan.addTensor(name, {10});
    uint32_t value = plan.whole(tensor);
    plan.addOp(Opcode::AllReduce, {value}, {value}, {0});
  }
  std::atomic<int> begun{0};
  std::atomic<pid_t> first{0};
  runAll(plan.load(), [&](RankContext &rank) -> absl::Status {
    if (rank.rank() == 0)
      first = gettid();
    auto giveAll = [&]() -> absl::Status {
      for (uint32_t tensor : {0, 1, 2}) {
        BAGUA_RETURN_IF_ERROR(rank.wait(tensor));
        BAGUA_RETURN_IF_ERROR(rank.give(tensor));
      }
      return rank.session->endStep();
    };
    if (rank.rank() == 1) {
      while (begun.load() < 2)
        std::this_thread::yield();
      awaitSleep(first);
      EXPECT_EQ(begun.load(), 2);
    }
    for (int step = 0; step < 4; ++step) {
      BAGUA_RETURN_IF_ERROR(rank.session->beginStep());
      if (rank.rank() == 0)
        ++begun;
      BAGUA_RETURN_IF_ERROR(giveAll());
    }
    for (uint32_t tensor : {0, 1, 2})
      BAGUA_RETURN_IF_ERROR(rank.wait(tensor));
    return rank.session->finish();
  });
}

//===----------------------------------------------------------------------===//
// Costs
//===----------------------------------------------------------------------===//

/// Every kind of operation, as the plan's tests have them.
PlanBuilder makeBusyPlan(int64_t ranks) {
  PlanBuilder plan = makeDdpPlan(ranks);
  plan.step().program.clear();
  uint32_t update = plan.addStream("update");
  uint32_t w = plan.addTensor("w", {1021}, fb::Role::Param);
  uint32_t m = plan.addTensor("m", {1021}, fb::Role::Optimizer);
  uint32_t v = plan.addTensor("v", {1021}, fb::Role::Optimizer);
  uint32_t g = plan.whole(0);
  uint32_t adam =
      plan.addOp(Opcode::Adam, {plan.whole(w), plan.whole(m), plan.whole(v), g},
                 {plan.whole(w), plan.whole(m), plan.whole(v)}, {}, update);
  plan.op(adam).constants = {0.9f, 0.999f, 1e-8f, 0.01f};
  plan.op(adam).bias_correction = fb::BiasCorrection::Moments;
  plan.op(adam).has_learning_rate = true;
  plan.op(adam).learning_rate = 0.01f;
  plan.op(adam).after = {0};
  plan.use(0, adam, /*waits=*/false);
  uint32_t arena = plan.addArena("scratch", 1 << 16);
  uint32_t part =
      plan.inArena(arena, 0, 1021, fb::DataType::Float32, {shard({0})});
  uint32_t left = plan.inArena(arena, 16384, 1021);
  uint32_t right = plan.inArena(arena, 32768, 1021);
  uint32_t exchange = plan.addOp(Opcode::Exchange, {g}, {left, right}, {0});
  uint32_t scatter = plan.addOp(Opcode::ReduceScatter, {left}, {part}, {0});
  plan.addOp(Opcode::AllGather, {part}, {right}, {0});
  plan.use(0, exchange, /*waits=*/false);
  plan.op(scatter).kind = fb::ReduceKind::Max;
  return plan;
}

/// In the best of several rounds: processes say now and then that they live.
TEST(SessionTest, AllocatesNothingAfterTheFirstStep) {
  std::atomic<int> arrivals{0};
  int64_t before = 0, fewest = INT64_MAX;
  constexpr int kRanks = 2;
  constexpr int kRounds = 5;
  auto meet = [&](int &goal) {
    goal += kRanks;
    ++arrivals;
    while (arrivals.load() < goal)
      std::this_thread::yield();
  };
  runAll(makeBusyPlan(kRanks).load(), [&](RankContext &rank) -> absl::Status {
    const std::vector<uint32_t> tensors = {0, 1, 2, 3, 4, 5};
    for (int step = 0; step < 2; ++step)
      BAGUA_RETURN_IF_ERROR(rank.step(tensors));
    BAGUA_RETURN_IF_ERROR(rank.session->finish());
    int goal = 0;
    for (int round = 0; round < kRounds; ++round) {
      meet(goal);
      if (rank.rank() == 0)
        before = allocationCountOfAllThreads();
      meet(goal);
      for (int step = 0; step < 10; ++step)
        BAGUA_RETURN_IF_ERROR(rank.step(tensors));
      BAGUA_RETURN_IF_ERROR(rank.session->finish());
      meet(goal);
      if (rank.rank() == 0)
        fewest = std::min(fewest, allocationCountOfAllThreads() - before);
      meet(goal);
    }
    return absl::OkStatus();
  });
  if (!backend().allocates && !movesTensors() && !isFar()) {
    EXPECT_EQ(fewest, 0);
  }
}

TEST(SessionTest, CountsBytesByFormula) {
  runAll(makeDdpPlan(4).load(), [](RankContext &rank) -> absl::Status {
    BAGUA_RETURN_IF_ERROR(rank.step({0, 1, 2}));
    BAGUA_RETURN_IF_ERROR(rank.session->finish());
    EXPECT_EQ(rank.session->bytesSent(),
              2 * 3 * 4084 / 4 + 2 * 3 * (517 + 259) * 4 / 4);
    return absl::OkStatus();
  });
}

/// Blocks that are not together in the tensors are packed and unpacked: memory
/// of the runtime's as arenas are.
TEST(SessionTest, CountsTheScratchOfAllToAll) {
  PlanBuilder plan({{"gpu", 2}});
  plan.addArena("pool", 1000);
  plan.addTensor("x", {6, 4});
  plan.addResult("y", {6, 4});
  uint32_t op =
      plan.addOp(Opcode::AllToAll, {plan.whole(0)}, {plan.whole(1)}, {0});
  plan.op(op).shape = {6, 4};
  plan.op(op).split_dim = plan.op(op).concat_dim = 1;
  runAll(plan.load(), [](RankContext &rank) -> absl::Status {
    EXPECT_EQ(rank.session->arenaBytes(), 1000 + 2 * 96);
    return rank.session->finish();
  });
}

TEST(SessionTest, RecordsATrace) {
  TraceWriter trace;
  HarnessOptions options;
  options.session.trace = &trace;
  runAll(
      makeDdpPlan(2).load(),
      [](RankContext &rank) -> absl::Status {
        BAGUA_RETURN_IF_ERROR(rank.step({0, 1, 2}));
        return rank.session->finish();
      },
      options);
  std::string json = trace.toJson();
  EXPECT_THAT(json,
              HasSubstr("\"name\":\"AllReduce2\",\"ph\":\"X\",\"pid\":1"));
  EXPECT_THAT(json, HasSubstr("wait 'l1.weight.grad'"));
  EXPECT_THAT(json, HasSubstr("{\"name\":\"comm\"}"));
  // Two reductions, three gifts and three waits on each rank.
  EXPECT_EQ(trace.size(), 16u);
}

} // namespace
} // namespace bagua::runtime::test
