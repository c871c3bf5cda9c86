//===- SessionTest.cpp - The program's view of a plan ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ownership, steps and costs.
//
//===----------------------------------------------------------------------===//
#include "AllocationCount.h"
#include "AwaitSleep.h"
#include "OtherWorld.h"
#include "PlanBuilder.h"
#include "SessionHarness.h"

#include "bagua/Runtime/Device.h"

#include "bagua/Runtime/ErrorPlace.h"
#include "bagua/Support/TraceWriter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <unistd.h>

namespace bagua::runtime::test {
namespace {

using fb::Opcode;
using ::testing::AllOf;
using ::testing::HasSubstr;

//===----------------------------------------------------------------------===//
// Connecting
//===----------------------------------------------------------------------===//

TEST(SessionTest, ReducesAGradient) {
  runAll(makeOneGradient(4).load(), [](RankContext &rank) -> absl::Status {
    for (int step = 0; step < 5; ++step) {
      std::fill_n(rank.data<float>(0), 100, float(rank.rank() + step));
      BAGUA_RETURN_IF_ERROR(rank.step({0}));
      for (int i = 0; i < 100; ++i)
        EXPECT_EQ(rank.data<float>(0)[i], 6.0f + 4 * step);
    }
    EXPECT_EQ(rank.session->step(), 4);
    return rank.session->finish();
  });
}

TEST(SessionTest, TellsWhichTensorsOneInstructionWaitsFor) {
  auto plan = makeDdpPlan(2).load();
  auto worlds = createInProcessWorlds(2);
  onEachRank(2, [&](int rank) {
    auto session = *Session::create(plan, std::move(worlds[rank]), {});
    EXPECT_EQ(session->firstWaiter(TensorId(0)), -1) << "before start()";
    ASSERT_TRUE(session->start().ok());
    EXPECT_EQ(session->firstWaiter(TensorId(0)), 0);
    EXPECT_EQ(session->firstWaiter(TensorId(1)), 1);
    EXPECT_EQ(session->firstWaiter(TensorId(2)), 1);
    EXPECT_EQ(session->firstWaiter(TensorId(3)), -1) << "there is none";
    EXPECT_TRUE(session->finish().ok());
  });
}

TEST(SessionTest, RefusesAWorldOfAnotherSize) {
  auto worlds = createInProcessWorlds(2);
  auto session =
      Session::create(makeOneGradient(4).load(), std::move(worlds[0]), {});
  EXPECT_TRUE(absl::IsFailedPrecondition(session.status()));
  EXPECT_THAT(message(session.status()),
              HasSubstr("the plan is for 4 ranks, the world has 2; a plan for "
                        "this number is made from the same step by "
                        "bagua-translate --import-... --cluster=rank=2"));
}

TEST(SessionTest, RefusesHostsThatThePlanDoesNotFit) {
  PlanBuilder builder({{"node", 2}, {"gpu", 2}});
  builder.addTensor("g", {8});
  auto plan = builder.load();
  Worlds worlds = createWorldsOn({"a", "a", "a", "b"}, kLongTime);
  std::vector<absl::Status> statuses(4);
  onEachRank(4, [&](int rank) {
    statuses[rank] =
        Session::create(plan, std::move(worlds[rank]), {}).status();
  });
  expectOnAllRanks(statuses,
                   HasSubstr("axis 'node' (size 2) does not fit the hosts "
                             "that ranks are on: it joins ranks 0, 2 on hosts "
                             "0, 0, and ranks 1, 3 on hosts 0, 1"));
}

TEST(SessionTest, RefusesABackendThatTheRunHasNot) {
  std::shared_ptr<World> world = std::move(createInProcessWorlds(1)[0]);
  SessionOptions options;
  options.backend = "nccl";
  absl::Status status =
      Session::create(makeOneGradient(1).load(), world, options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(
      status.message(),
      "rank 0: expected a backend of this run (in-process), found 'nccl'");
  EXPECT_EQ(world->status(), status); // others would wait for this rank
}

/// The host's communicators, without promises.
class QuietBackend final : public BorrowedBackend {
public:
  using BorrowedBackend::BorrowedBackend;
  absl::string_view name() const override { return "quiet"; }
  BackendTraits traits() const override { return {}; }
};

TEST(SessionTest, RefusesFactsThatNobodyCompares) {
  std::unique_ptr<World> host = std::move(createInProcessWorlds(1)[0]);
  auto quiet = std::make_unique<QuietBackend>(host->control());
  auto world = std::make_shared<OtherWorld>(std::move(host), std::move(quiet),
                                            OtherWorld::Use::Beside);
  SessionOptions options;
  options.backend = "quiet";
  auto session = Session::create(makeOneGradient(1).load(), world, options);
  ASSERT_TRUE(session.ok()) << session.status();
  std::vector<float> data(100);
  ASSERT_TRUE((*session)->bind(TensorId(0), data.data(), 400).ok());
  ASSERT_TRUE((*session)->start().ok());
  (*session)->agreeOn("the model", 7);
  absl::Status status = (*session)->beginStep();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(message(status),
              HasSubstr("rank 0: the program states facts that all ranks must "
                        "state alike, and backend 'quiet' does not find calls "
                        "that differ"));
}

/// The host, without kernels.
class BareDevice final : public Device {
public:
  absl::Status checkAddress(const void *data, size_t bytes) const override {
    return cpuDevice().checkAddress(data, bytes);
  }
  absl::StatusOr<std::unique_ptr<Queue>>
  createQueue(std::function<void(const absl::Status &)> onError) override {
    return cpuDevice().createQueue(std::move(onError));
  }
  const KernelTable &kernels() const override { return none; }

private:
  KernelTable none;
};

class BareBackend final : public BorrowedBackend {
public:
  using BorrowedBackend::BorrowedBackend;
  absl::string_view name() const override { return "bare"; }
  Device &device() const override { return bare; }

private:
  mutable BareDevice bare;
};

TEST(SessionTest, RefusesAnInstructionWithoutAKernel) {
  std::unique_ptr<World> host = std::move(createInProcessWorlds(1)[0]);
  auto bare = std::make_unique<BareBackend>(host->control());
  auto world = std::make_shared<OtherWorld>(std::move(host), std::move(bare),
                                            OtherWorld::Use::Beside);
  PlanBuilder plan({{"gpu", 1}});
  plan.addTensor("x", {10});
  plan.op(plan.addOp(fb::Opcode::Linear, {plan.whole(0)}, {plan.whole(0)}))
      .constants = {2.0f};
  SessionOptions options;
  options.backend = "bare";
  auto session = Session::create(plan.load(), world, options);
  ASSERT_TRUE(session.ok()) << session.status();
  std::vector<float> data(10);
  ASSERT_TRUE((*session)->bind(TensorId(0), data.data(), 40).ok());
  absl::Status status = (*session)->start();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(message(status), "rank 0: the device of backend 'bare' has no "
                             "kernel for 'Linear0' (Linear)");
}

TEST(SessionTest, RefusesDifferentPlans) {
  auto worlds = createInProcessWorlds(2);
  std::shared_ptr<const Plan> plans[] = {makeOneGradient(2, 100).load(),
                                         makeOneGradient(2, 101).load()};
  std::vector<absl::Status> statuses(2);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 2; ++rank)
    threads.emplace_back([&, rank] {
      statuses[rank] =
          Session::create(plans[rank], std::move(worlds[rank]), {}).status();
    });
  for (std::thread &thread : threads)
    thread.join();
  expectOnAllRanks(statuses, HasSubstr("rank 1 holds a plan of fingerprint"));
}

// A program with two models, such as a GAN, trains both on one world; the steps
// of both may be under way at once.
TEST(SessionTest, TwoSessionsShareAWorld) {
  std::vector<std::shared_ptr<World>> worlds;
  for (auto &world : backend().createWorlds(3, kLongTime))
    worlds.push_back(std::move(world));
  auto plan = makeOneGradient(3).load();
  // One that goes before its first step ends the others.
  std::vector<std::unique_ptr<Session>> kept(3);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 3; ++rank)
    threads.emplace_back([&, rank] {
      std::vector<float> first(100), second(100);
      {
        auto one = *Session::create(plan, worlds[rank], {});
        auto other = *Session::create(plan, worlds[rank], {});
        ASSERT_TRUE(one->bind(TensorId(0), first.data(), 400).ok());
        ASSERT_TRUE(other->bind(TensorId(0), second.data(), 400).ok());
        ASSERT_TRUE(one->start().ok());
        ASSERT_TRUE(other->start().ok());
        for (int step = 0; step < 5; ++step) {
          std::fill_n(first.data(), 100, float(rank + step));
          std::fill_n(second.data(), 100, float(10 * rank));
          ASSERT_TRUE(one->beginStep().ok());
          ASSERT_TRUE(other->beginStep().ok());
          ASSERT_TRUE(one->markReady(TensorId(0)).ok());
          ASSERT_TRUE(other->markReady(TensorId(0)).ok());
          ASSERT_TRUE(other->wait(TensorId(0)).ok());
          ASSERT_TRUE(one->wait(TensorId(0)).ok());
          EXPECT_EQ(first[99], 3.0f + 3 * step);
          EXPECT_EQ(second[99], 30.0f);
          ASSERT_TRUE(one->endStep().ok());
          ASSERT_TRUE(other->endStep().ok());
        }
        ASSERT_TRUE(one->finish().ok());
        ASSERT_TRUE(other->finish().ok());
      }
      // The world outlives them.
      auto next = Session::create(plan, worlds[rank], {});
      ASSERT_TRUE(next.ok()) << next.status();
      kept[rank] = *std::move(next);
    });
  for (std::thread &thread : threads)
    thread.join();
}

//===----------------------------------------------------------------------===//
// Ownership
//===----------------------------------------------------------------------===//

/// Each is a mistake of rank 1 in its second step.
struct Misuse {
  const char *name;
  absl::Status (*commit)(RankContext &);
  const char *message;
};

class SessionMisuseTest : public testing::TestWithParam<Misuse> {};

TEST_P(SessionMisuseTest, EndsTheRunOnAllRanks) {
  PlanBuilder plan = makeOneGradient(3);
  plan.addResult("r", {4});
  plan.addTensor("w", {4}, fb::Role::Param);
  auto body = [](RankContext &rank) -> absl::Status {
    BAGUA_RETURN_IF_ERROR(rank.step({0}));
    if (rank.rank() == 1) {
      absl::Status status = GetParam().commit(rank);
      EXPECT_FALSE(status.ok());
      // Later calls return it too.
      EXPECT_EQ(message(rank.wait(0)), message(status));
      EXPECT_EQ(message(rank.session->finish()), message(status));
      return status;
    }
    // It may have come to the second step, but to no other.
    for (int step = 0; step < 3; ++step)
      BAGUA_RETURN_IF_ERROR(rank.step({0}));
    return rank.session->finish();
  };
  std::vector<absl::Status> statuses = runRanks(plan.load(), body);
  expectOnAllRanks(statuses, HasSubstr(GetParam().message));
  for (const absl::Status &status : statuses) {
    ASSERT_TRUE(errorPlaceOf(status));
    EXPECT_EQ(errorPlaceOf(status)->rank, 1);
  }
}

const Misuse kMisuses[] = {
    {"GivenTwice",
     [](RankContext &rank) -> absl::Status {
       BAGUA_RETURN_IF_ERROR(rank.session->beginStep());
       BAGUA_RETURN_IF_ERROR(rank.give(0));
       return rank.give(0);
     },
     "rank 1: markReady of tensor 'g' for the second time in this step, in "
     "step 1"},
    {"GivenOutsideOfAStep", [](RankContext &rank) { return rank.give(0); },
     "rank 1: markReady of tensor 'g' outside of a step"},
    {"GivenWithoutTakingItBack",
     [](RankContext &rank) -> absl::Status {
       BAGUA_RETURN_IF_ERROR(rank.session->beginStep());
       BAGUA_RETURN_IF_ERROR(rank.give(0));
       BAGUA_RETURN_IF_ERROR(rank.session->endStep());
       BAGUA_RETURN_IF_ERROR(rank.session->beginStep());
       return rank.give(0);
     },
     "rank 1: markReady of tensor 'g', which was given in step 1 and not taken "
     "back: expected a wait() before, in step 2"},
    {"GivenThoughNotTheirs",
     [](RankContext &rank) -> absl::Status {
       BAGUA_RETURN_IF_ERROR(rank.session->beginStep());
       return rank.give(1);
     },
     "tensor 'r', which the program does not give in this plan"},
    {"NotGiven",
     [](RankContext &rank) -> absl::Status {
       BAGUA_RETURN_IF_ERROR(rank.session->beginStep());
       return rank.session->endStep();
     },
     "rank 1: step 1 ended without tensor 'g', which instruction 0 "
     "'AllReduce0' (AllReduce) on stream 'comm'"},
    {"AbsentThoughNotOptional",
     [](RankContext &rank) -> absl::Status {
       BAGUA_RETURN_IF_ERROR(rank.session->beginStep());
       return rank.session->markAbsent(TensorId(0));
     },
     "which is not optional"},
    {"GivenInAnotherSize",
     [](RankContext &rank) -> absl::Status {
       BAGUA_RETURN_IF_ERROR(rank.session->beginStep());
       return rank.session->markReady(TensorId(0), rank.address(0), 396);
     },
     "rank 1: markReady of tensor 'g': expected 400 bytes, got 396"},
    {"GivenAtNoAddress",
     [](RankContext &rank) -> absl::Status {
       BAGUA_RETURN_IF_ERROR(rank.session->beginStep());
       return rank.session->markReady(TensorId(0), nullptr, 400);
     },
     "rank 1: markReady of tensor 'g': the address is null"},
    {"StateGivenAtAnAddress",
     [](RankContext &rank) -> absl::Status {
       BAGUA_RETURN_IF_ERROR(rank.session->beginStep());
       return rank.session->markReady(TensorId(2), rank.address(2), 16);
     },
     "rank 1: markReady of tensor 'w': a state can't be given with an "
     "address: expected it to be bound once, before start"},
    {"TwoStepsAtOnce",
     [](RankContext &rank) -> absl::Status {
       BAGUA_RETURN_IF_ERROR(rank.session->beginStep());
       return rank.session->beginStep();
     },
     "rank 1: beginStep before endStep"},
    {"EndWithoutBegin",
     [](RankContext &rank) { return rank.session->endStep(); },
     "rank 1: endStep before beginStep"},
    {"FinishInAStep",
     [](RankContext &rank) -> absl::Status {
       BAGUA_RETURN_IF_ERROR(rank.session->beginStep());
       return rank.session->finish();
     },
     "rank 1: finish before endStep"},
    {"NoSuchTensor",
     [](RankContext &rank) {
       EXPECT_EQ(rank.session->localBytes(TensorId(17)), 0);
       return rank.wait(17);
     },
     "expected a tensor's number below 3, found 17"},
};

INSTANTIATE_TEST_SUITE_P(All, SessionMisuseTest, testing::ValuesIn(kMisuses),
                         [](const testing::TestParamInfo<Misuse> &info) {
                           return info.param.name;
                         });

/// A list that is cut says so.
TEST(SessionTest, ManyTensorsThatAreNotGiven) {
  PlanBuilder plan({{"gpu", 1}});
  std::vector<uint32_t> inputs;
  for (int i = 0; i < 6; ++i)
    inputs.push_back(plan.whole(plan.addTensor("g" + std::to_string(i), {4})));
  uint32_t op = plan.addOp(Opcode::Linear, inputs, {inputs[0]});
  plan.op(op).constants = std::vector<float>(6, 1.0f);
  auto body = [](RankContext &rank) -> absl::Status {
    BAGUA_RETURN_IF_ERROR(rank.session->beginStep());
    return rank.session->endStep();
  };
  std::vector<absl::Status> statuses = runRanks(plan.load(), body);
  EXPECT_THAT(message(statuses[0]), HasSubstr("'g2', 'g3' and 2 more"));
  EXPECT_THAT(message(statuses[0]), HasSubstr("; and without tensor 'g3'"));
  EXPECT_THAT(message(statuses[0]), testing::EndsWith("; and without 2 more"));
}

/// Rank 1 comes afterwards, so that the runtime has to be at it still.
TEST(SessionTest, GivenWhileTheRuntimeUsesIt) {
  std::atomic<bool> isOver{false};
  auto body = [&](RankContext &rank) -> absl::Status {
    BAGUA_RETURN_IF_ERROR(rank.session->beginStep());
    while (rank.rank() == 1 && !isOver)
      std::this_thread::yield();
    BAGUA_RETURN_IF_ERROR(rank.give(0));
    BAGUA_RETURN_IF_ERROR(rank.session->endStep());
    BAGUA_RETURN_IF_ERROR(rank.session->beginStep());
    if (rank.rank() == 1)
      return rank.wait(0);
    absl::Status status = rank.give(0);
    isOver = true;
    return status;
  };
  std::vector<absl::Status> statuses =
      runRanks(makeOneGradient(2).load(), body);
  EXPECT_THAT(message(statuses[0]),
              HasSubstr("rank 0: markReady of tensor 'g', which was given in "
                        "step 0 and not taken back: expected a wait() before, "
                        "in step 1"));
}

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
