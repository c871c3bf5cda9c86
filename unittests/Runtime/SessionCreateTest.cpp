//===- SessionCreateTest.cpp - What a session asks of its world -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sizes, hosts, backends and kernels that do not fit the plan; different plans;
// and several sessions on one world.
//
//===----------------------------------------------------------------------===//
#include "OtherWorld.h"
#include "PlanBuilder.h"
#include "SessionHarness.h"

#include "bagua/Runtime/Device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

namespace bagua::runtime::test {
namespace {

using ::testing::HasSubstr;

TEST(SessionCreateTest, ReducesAGradient) {
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

TEST(SessionCreateTest, TellsWhichTensorsOneInstructionWaitsFor) {
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

TEST(SessionCreateTest, RefusesAWorldOfAnotherSize) {
  auto worlds = createInProcessWorlds(2);
  auto session =
      Session::create(makeOneGradient(4).load(), std::move(worlds[0]), {});
  EXPECT_TRUE(absl::IsFailedPrecondition(session.status()));
  EXPECT_THAT(message(session.status()),
              HasSubstr("the plan is for 4 ranks, the world has 2; a plan for "
                        "this number is made from the same step by "
                        "bagua-translate --import-... --cluster=rank=2"));
}

TEST(SessionCreateTest, RefusesHostsThatThePlanDoesNotFit) {
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

TEST(SessionCreateTest, RefusesABackendThatTheRunHasNot) {
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

TEST(SessionCreateTest, RefusesFactsThatNobodyCompares) {
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

TEST(SessionCreateTest, RefusesAnInstructionWithoutAKernel) {
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

TEST(SessionCreateTest, RefusesDifferentPlans) {
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
TEST(SessionCreateTest, TwoSessionsShareAWorld) {
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

} // namespace
} // namespace bagua::runtime::test
