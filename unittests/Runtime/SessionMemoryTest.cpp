//===- SessionMemoryTest.cpp - Where a program's tensors are --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bound, given at addresses, in arenas and held there.
//
//===----------------------------------------------------------------------===//
#include "PlanBuilder.h"
#include "SessionHarness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <string>
#include <unistd.h>
#include <vector>

namespace bagua::runtime::test {
namespace {

using fb::Opcode;
using ::testing::Each;
using ::testing::HasSubstr;

TEST(SessionMemoryTest, BindRefusesMistakes) {
  auto plan = makeDdpPlan(1);
  uint32_t bound = plan.addTensor("bound", {10});
  HarnessOptions options;
  options.beforeStart = [&](RankContext &rank) -> absl::Status {
    std::vector<float> memory(20);
    Session &session = *rank.session;
    absl::Status twice = session.bind(TensorId(bound), memory.data(), 40);
    EXPECT_TRUE(absl::IsFailedPrecondition(twice));
    EXPECT_THAT(message(twice),
                HasSubstr("tensor 'bound': it is bound already"));
    absl::Status inArena = session.bind(TensorId(0), memory.data(), 4084);
    EXPECT_THAT(message(inArena), HasSubstr("it lives in an arena"));
    EXPECT_FALSE(session.bind(TensorId(99), memory.data(), 4).ok());
    EXPECT_TRUE(absl::IsNotFound(session.find("nobody").status()));
    EXPECT_EQ(*session.find("bound"), TensorId(bound));
    return absl::OkStatus();
  };
  runAll(
      plan.load(), [](RankContext &rank) { return rank.session->finish(); },
      options);
}

TEST(SessionMemoryTest, BindChecksSizeAndAlignment) {
  PlanBuilder plan = makeOneGradient(1);
  uint32_t buffer = plan.addTensor("b", {100}, fb::Role::Buffer);
  uint32_t b = plan.whole(buffer);
  plan.addOp(Opcode::AllReduce, {b}, {b}, {0});
  auto session = *Session::create(
      plan.load(),
      std::shared_ptr<World>(std::move(createInProcessWorlds(1)[0])), {});
  std::vector<float> memory(200);
  auto *bytes = reinterpret_cast<char *>(memory.data());
  EXPECT_THAT(
      message(session->bind(TensorId(0), bytes, 396)),
      HasSubstr("rank 0: bind of tensor 'g': expected 400 bytes, got 396"));
  EXPECT_THAT(message(session->bind(TensorId(0), bytes + 2, 400)),
              HasSubstr("divisible by 4"));
  EXPECT_THAT(message(session->start()), HasSubstr("rank 0: not bound: 'b'"));
  EXPECT_TRUE(
      absl::IsFailedPrecondition(session->address(TensorId(0), 400).status()));
  EXPECT_TRUE(session->bind(TensorId(0), bytes, 400).ok());
  EXPECT_EQ(*session->address(TensorId(0), 400), bytes);
  EXPECT_THAT(
      message(session->address(TensorId(0), 404).status()),
      HasSubstr("address of tensor 'g': expected 400 bytes, found 404"));
  EXPECT_TRUE(session->bind(TensorId(buffer), bytes + 400, 400).ok());
  EXPECT_TRUE(session->start().ok());
}

TEST(SessionMemoryTest, TensorsInArenasHaveAddresses) {
  runAll(makeDdpPlan(2).load(), [](RankContext &rank) -> absl::Status {
    EXPECT_EQ(rank.data<std::byte>(1) + 517 * 4, rank.data<std::byte>(2));
    EXPECT_EQ(rank.count<float>(0), 1021);
    std::fill_n(rank.data<float>(1), 517, 1.0f + rank.rank());
    std::fill_n(rank.data<float>(2), 259, 3.0f + rank.rank());
    BAGUA_RETURN_IF_ERROR(rank.step({0, 1, 2}));
    EXPECT_EQ(rank.data<float>(1)[516], 1.5f);
    EXPECT_EQ(rank.data<float>(2)[0], 3.5f);
    return rank.session->finish();
  });
}

// Gradients of frameworks are elsewhere in each step, and bound in none.
TEST(SessionMemoryTest, TensorsAreGivenAtAddresses) {
  PlanBuilder plan = makeDdpPlan(2);
  uint32_t bound = plan.addTensor("bound", {8});
  plan.tensor(bound).optional = true;
  uint32_t value = plan.whole(bound);
  plan.op(plan.addOp(Opcode::AllReduce, {value}, {value}, {0})).kind =
      fb::ReduceKind::Mean;
  auto loaded = plan.load();
  auto worlds = backend().createWorlds(2, kLongTime);
  onEachRank(2, [&](int rank) {
    auto session = *Session::create(loaded, std::move(worlds[rank]), {});
    ASSERT_TRUE(session->start().ok());
    for (int step = 0; step < 5; ++step) {
      ASSERT_TRUE(session->beginStep().ok());
      std::vector<std::vector<float>> gradients;
      for (uint32_t i = 0; i < 4; ++i) {
        auto count = session->localBytes(TensorId(i)) / sizeof(float);
        auto &data = gradients.emplace_back(count, float(step + rank + i));
        bool isAbsent = i == bound && step == 3 && rank == 1;
        size_t bytes = count * sizeof(float);
        ASSERT_TRUE((isAbsent
                         ? session->markAbsent(TensorId(i), data.data(), bytes)
                         : session->markReady(TensorId(i), data.data(), bytes))
                        .ok());
      }
      for (uint32_t i = 0; i < 4; ++i) {
        ASSERT_TRUE(session->wait(TensorId(i)).ok());
        float sum = 2.0f * (step + i) + (i == bound && step == 3 ? 0 : 1);
        if (i == bound && step == 3)
          sum = step + i; // of rank 0 alone
        EXPECT_THAT(gradients[i], Each(sum / 2)) << i;
      }
      ASSERT_TRUE(session->endStep().ok());
    }
    ASSERT_TRUE(session->finish().ok());
  });
}

// The program need not know whether the plan has a place for a tensor.
TEST(SessionMemoryTest, BindsOrLocates) {
  auto plan = makeDdpPlan(1);
  uint32_t bound = plan.addTensor("bound", {10});
  auto session = *Session::create(
      plan.load(),
      std::shared_ptr<World>(std::move(createInProcessWorlds(1)[0])), {});
  std::vector<float> memory(10, 5), gradient(517, 7);
  auto own = session->bindOrLocate(TensorId(bound), memory.data(), 40);
  ASSERT_TRUE(own.ok()) << own.status();
  EXPECT_EQ(*own, memory.data());
  auto place = session->bindOrLocate(TensorId(1), gradient.data(), 517 * 4);
  ASSERT_TRUE(place.ok()) << place.status();
  EXPECT_EQ(*place, *session->address(TensorId(1), 517 * 4));
  EXPECT_NE(*place, gradient.data());
  EXPECT_EQ(static_cast<float *>(*place)[516], 7);
  // With nothing to copy.
  EXPECT_EQ(*session->bindOrLocate(TensorId(1), nullptr, 517 * 4), *place);
  for (TensorId tensor : {TensorId(bound), TensorId(1)})
    EXPECT_FALSE(session->bindOrLocate(tensor, memory.data(), 4).ok());
  EXPECT_FALSE(session->bindOrLocate(TensorId(99), memory.data(), 4).ok());
}

// A framework's tensors are freed when nobody has them any more.
TEST(SessionMemoryTest, ArenasStayAsLongAsTheyAreHeld) {
  auto plan = makeDdpPlan(2).load();
  auto worlds = backend().createWorlds(2, kLongTime);
  onEachRank(2, [&](int rank) {
    auto session = *Session::create(plan, std::move(worlds[rank]), {});
    ASSERT_TRUE(session->start().ok());
    ASSERT_TRUE(session->beginStep().ok());
    std::vector<std::shared_ptr<float>> held;
    for (uint32_t i = 0; i < 3; ++i) {
      const size_t bytes = session->localBytes(TensorId(i));
      auto memory = session->hold(TensorId(i), bytes);
      ASSERT_TRUE(memory.ok()) << memory.status();
      EXPECT_EQ(memory->get(), *session->address(TensorId(i), bytes));
      held.push_back(std::static_pointer_cast<float>(*memory));
      std::fill_n(held[i].get(), bytes / sizeof(float), float(rank + i));
      ASSERT_TRUE(session->markReady(TensorId(i)).ok());
    }
    ASSERT_TRUE(session->endStep().ok());
    ASSERT_TRUE(session->finish().ok());
    session.reset();
    held.erase(held.begin());
    for (size_t count : {517, 259}) {
      float *data = held[count == 259].get();
      EXPECT_THAT(std::vector<float>(data, data + count),
                  Each(count == 259 ? 2.5f : 1.5f));
      std::fill_n(data, count, 9.0f);
    }
  });
}

TEST(SessionMemoryTest, HoldRefusesMistakes) {
  PlanBuilder plan = makeDdpPlan(1);
  const TensorId bound{plan.addTensor("bound", {10})};
  auto session = *Session::create(
      plan.load(),
      std::shared_ptr<World>(std::move(createInProcessWorlds(1)[0])), {});
  std::vector<float> memory(10);
  EXPECT_THAT(message(session->hold(bound, 40).status()),
              HasSubstr("tensor 'bound' is not bound"));
  ASSERT_TRUE(session->bind(bound, memory.data(), 40).ok());
  EXPECT_THAT(message(session->hold(bound, 40).status()),
              HasSubstr("hold of tensor 'bound': its memory is the program's "
                        "own"));
  EXPECT_THAT(message(session->hold(TensorId(1), 4).status()),
              HasSubstr("expected 2068 bytes, found 4"));
  EXPECT_FALSE(session->hold(TensorId(99), 4).ok());
}

/// Of this process, now in memory.
int64_t residentBytes() {
  int64_t pages = 0, residentPages = 0;
  std::ifstream("/proc/self/statm") >> pages >> residentPages;
  return residentPages * sysconf(_SC_PAGESIZE);
}

/// An arena's pages are nobody's until they are used: no session fills one with
/// zeros.
TEST(SessionMemoryTest, AnArenaTakesNoMemoryUntilItIsUsed) {
  // Processes of these tests may share less.
  const bool isInProcess = backend().name == "in_process";
  const int64_t arenaBytes = int64_t{1} << (isInProcess ? 32 : 26);
  PlanBuilder plan({{"gpu", 1}});
  plan.addArena("large", arenaBytes);
  uint32_t g = plan.addTensor("g", {100}, fb::Role::Gradient,
                              fb::DataType::Float32, 0, arenaBytes - 400);
  uint32_t value = plan.whole(g);
  plan.use(g, plan.addOp(Opcode::AllReduce, {value}, {value}, {0}));
  const int64_t before = residentBytes();
  runAll(plan.load(), [&](RankContext &rank) -> absl::Status {
    EXPECT_EQ(rank.session->arenaBytes(), arenaBytes);
    EXPECT_EQ(rank.data<float>(g)[99], 0.0f);
    BAGUA_RETURN_IF_ERROR(rank.step({g}));
    EXPECT_LT(residentBytes() - before, int64_t{1} << 25);
    return rank.session->finish();
  });
}

} // namespace
} // namespace bagua::runtime::test
