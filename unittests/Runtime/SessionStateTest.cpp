//===- SessionStateTest.cpp - Checkpoints ---------------------------------===//
//
// What a session saves and what it takes back.
//
//===----------------------------------------------------------------------===//
#include "PlanBuilder.h"
#include "SessionHarness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace bagua::runtime::test {
namespace {

using fb::Opcode;
using ::testing::HasSubstr;

/// Adam on one tensor: its count and moments are state.
PlanBuilder makeAdamPlan(const char *moment = "m") {
  PlanBuilder plan({{"gpu", 2}});
  plan.addArena("state", 64);
  plan.addTensor("g", {8});
  plan.addTensor("w", {8}, fb::Role::Param);
  plan.addTensor(moment, {8}, fb::Role::Optimizer);
  plan.addTensor("v", {8}, fb::Role::Optimizer, fb::DataType::Float32, 0, 0);
  uint32_t v = plan.whole(3);
  uint32_t adam =
      plan.addOp(Opcode::Adam, {plan.whole(1), plan.whole(2), v, plan.whole(0)},
                 {plan.whole(1), plan.whole(2), v});
  plan.use(3, adam);
  plan.op(adam).constants = {0.9f, 0.99f, 1e-8f, 0.0f};
  plan.op(adam).bias_correction = fb::BiasCorrection::Moments;
  plan.op(adam).has_learning_rate = true;
  plan.op(adam).learning_rate = 0.1f;
  return plan;
}

absl::Status adamSteps(RankContext &rank, int steps) {
  for (int i = 0; i < steps; ++i) {
    for (int j = 0; j < 8; ++j)
      rank.data<float>(0)[j] = float((j + rank.rank()) % 5) - 2.5f;
    BAGUA_RETURN_IF_ERROR(rank.step({0, 1, 2, 3}));
  }
  return rank.session->finish();
}

/// Three steps, a checkpoint, one more step; and from the checkpoint the one
/// step alone.
TEST(SessionStateTest, AResumedRunGoesOnAlike) {
  auto plan = makeAdamPlan().load();
  std::vector<std::vector<float>> params(2), expected(2), resumed(2);
  std::vector<std::string> states(2);
  auto keepParam = [](RankContext &rank, std::vector<std::vector<float>> &to) {
    to[rank.rank()].assign(rank.data<float>(1), rank.data<float>(1) + 8);
  };
  runAll(plan, [&](RankContext &rank) -> absl::Status {
    BAGUA_RETURN_IF_ERROR(adamSteps(rank, 3));
    states[rank.rank()] = *rank.session->saveState();
    keepParam(rank, params); // the program bound it and saves it itself
    BAGUA_RETURN_IF_ERROR(adamSteps(rank, 1));
    keepParam(rank, expected);
    return absl::OkStatus();
  });
  HarnessOptions options;
  options.beforeStart = [&](RankContext &rank) {
    std::copy_n(params[rank.rank()].data(), 8, rank.data<float>(1));
    return rank.session->loadState(states[rank.rank()]);
  };
  auto resume = [&](RankContext &rank) -> absl::Status {
    EXPECT_EQ(rank.session->step(), 3);
    BAGUA_RETURN_IF_ERROR(adamSteps(rank, 1));
    keepParam(rank, resumed);
    return absl::OkStatus();
  };
  runAll(plan, resume, options);
  EXPECT_EQ(resumed, expected);
  EXPECT_NE(resumed, params);
}

TEST(SessionStateTest, RefusesWhatDoesNotFit) {
  std::string state;
  PlanBuilder one = makeAdamPlan();
  one.plan.cluster->axes[0]->size = 1;
  runAll(one.load(), [&](RankContext &rank) -> absl::Status {
    absl::Status early = rank.session->saveState().status();
    EXPECT_THAT(message(early), HasSubstr("saveState before finish"));
    BAGUA_RETURN_IF_ERROR(adamSteps(rank, 1));
    EXPECT_THAT(message(rank.session->loadState("")),
                HasSubstr("loadState after start"));
    state = *rank.session->saveState();
    return absl::OkStatus();
  });
  auto loadInto = [&](PlanBuilder plan, std::string bytes) {
    plan.plan.cluster->axes[0]->size = 1;
    auto worlds = createInProcessWorlds(1);
    auto session = *Session::create(plan.load(), std::move(worlds[0]), {});
    return message(session->loadState(bytes));
  };
  EXPECT_EQ(loadInto(makeAdamPlan(), state), "");
  EXPECT_THAT(loadInto(makeAdamPlan("n"), state),
              HasSubstr("the plan has no state named 'm'"));
  PlanBuilder larger = makeAdamPlan();
  for (uint32_t i = 0; i < 4; ++i) {
    larger.tensor(i).shape = {16};
  }
  for (auto &value : larger.plan.values)
    value->count = 16;
  EXPECT_THAT(loadInto(std::move(larger), state),
              HasSubstr("expected 64 bytes, found 32"));
  PlanBuilder more = makeAdamPlan();
  uint32_t extra = more.addTensor("extra", {8}, fb::Role::Residual);
  uint32_t value = more.whole(extra);
  uint32_t op = more.addOp(Opcode::Linear, {value}, {value});
  more.op(op).constants = {1.0f};
  EXPECT_THAT(loadInto(std::move(more), state),
              HasSubstr("there is no state of tensor 'extra'"));
  for (size_t size : {size_t{0}, size_t{10}, state.size() - 1})
    EXPECT_NE(loadInto(makeAdamPlan(), state.substr(0, size)), "");
  state[state.size() / 2] ^= 4;
  EXPECT_THAT(loadInto(makeAdamPlan(), state), HasSubstr("damaged"));
}

} // namespace
} // namespace bagua::runtime::test
