//===- SessionStateTest.cpp - Checkpoints ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a session saves and what it takes back.
//
//===----------------------------------------------------------------------===//
#include "Session/SessionState.h"
#include "PlanBuilder.h"
#include "SessionHarness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <thread>

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

/// Adam corrects its moments by the number of their updates, whatever the
/// loading plan's table of phases says of the iterations before.
TEST(SessionStateTest, CountsUpdatesOfAnotherTable) {
  PlanBuilder byTurns = makeAdamPlan();
  fb::PhaseT odd;
  odd.every = 2;
  odd.offset = 1;
  byTurns.addStep("idle", odd);
  std::vector<float> expected, param, resumed;
  auto keep = [](RankContext &rank, std::vector<float> &to) {
    if (rank.rank() == 0)
      to.assign(rank.data<float>(1), rank.data<float>(1) + 8);
  };
  auto plan = makeAdamPlan().load();
  runAll(plan, [&](RankContext &rank) -> absl::Status {
    BAGUA_RETURN_IF_ERROR(adamSteps(rank, 3));
    keep(rank, expected);
    return absl::OkStatus();
  });
  std::vector<std::string> states(2);
  runAll(byTurns.load(), [&](RankContext &rank) -> absl::Status {
    for (int i = 0; i < 2; ++i) {
      BAGUA_RETURN_IF_ERROR(adamSteps(rank, 1));
      BAGUA_RETURN_IF_ERROR(rank.session->beginStep());
      BAGUA_RETURN_IF_ERROR(rank.session->endStep());
    }
    BAGUA_RETURN_IF_ERROR(rank.session->finish());
    states[rank.rank()] = *rank.session->saveState();
    keep(rank, param);
    return absl::OkStatus();
  });
  EXPECT_EQ(readState(states[0])->tensors.at("v").updates, 2);
  HarnessOptions options;
  options.beforeStart = [&](RankContext &rank) {
    std::copy_n(param.data(), 8, rank.data<float>(1));
    return rank.session->loadState(states[rank.rank()]);
  };
  auto resume = [&](RankContext &rank) -> absl::Status {
    EXPECT_EQ(rank.session->step(), 4);
    BAGUA_RETURN_IF_ERROR(adamSteps(rank, 1));
    keep(rank, resumed);
    EXPECT_EQ(readState(*rank.session->saveState())->tensors.at("m").updates,
              3);
    return absl::OkStatus();
  };
  runAll(plan, resume, options);
  EXPECT_EQ(resumed, expected);
}

/// Without a correction nobody needs the counts.
TEST(SessionStateTest, MomentsInCommonInPartLoad) {
  PlanBuilder byTurns = makeAdamPlan();
  byTurns.op(0).bias_correction = fb::BiasCorrection::None;
  fb::PhaseT odd;
  odd.every = 2;
  odd.offset = 1;
  byTurns.addStep("sgd", odd);
  uint32_t w = byTurns.whole(1), m = byTurns.whole(2);
  byTurns.addOp(Opcode::Sgd, {w, m, byTurns.whole(0)}, {w, m});
  byTurns.op(0).constants = {0.9f};
  byTurns.op(0).has_learning_rate = true;
  auto plan = byTurns.load();
  std::vector<std::string> states(2);
  runAll(plan, [&](RankContext &rank) -> absl::Status {
    BAGUA_RETURN_IF_ERROR(rank.step({0, 1, 2, 3}));
    BAGUA_RETURN_IF_ERROR(rank.step({0, 1, 2}));
    BAGUA_RETURN_IF_ERROR(rank.session->finish());
    states[rank.rank()] = *rank.session->saveState();
    EXPECT_EQ(readState(states[rank.rank()])->tensors.at("m").updates, 2);
    EXPECT_EQ(readState(states[rank.rank()])->tensors.at("v").updates, 1);
    return absl::OkStatus();
  });
  HarnessOptions options;
  options.beforeStart = [&](RankContext &rank) {
    return rank.session->loadState(states[rank.rank()]);
  };
  runAll(
      plan,
      [](RankContext &rank) -> absl::Status {
        BAGUA_RETURN_IF_ERROR(rank.step({0, 1, 2, 3}));
        return rank.session->finish();
      },
      options);
}

/// For programs that keep all state themselves.
TEST(SessionStateTest, BeginsWithALaterStep) {
  PlanBuilder byTurns = makeOneGradient(2);
  fb::PhaseT odd;
  odd.every = 2;
  odd.offset = 1;
  byTurns.addStep("idle", odd);
  HarnessOptions options;
  options.session.firstStep = 7;
  runAll(
      byTurns.load(),
      [](RankContext &rank) -> absl::Status {
        EXPECT_EQ(rank.session->step(), 7);
        EXPECT_FALSE(rank.session->stepUses(TensorId(0)));
        BAGUA_RETURN_IF_ERROR(rank.session->beginStep());
        BAGUA_RETURN_IF_ERROR(rank.session->endStep());
        BAGUA_RETURN_IF_ERROR(rank.step({0}));
        EXPECT_EQ(rank.session->step(), 8);
        return rank.session->finish();
      },
      options);
  auto body = [](RankContext &) { return absl::OkStatus(); };
  expectOnAllRanks(
      runRanks(makeAdamPlan().load(), body, options),
      HasSubstr("first step 7: expected a loaded state, since the runtime "
                "keeps 'm'"));
  options.session.firstStep = -1;
  expectOnAllRanks(runRanks(byTurns.load(), body, options),
                   HasSubstr("expected a first step of 0 to"));
}

TEST(SessionStateTest, RefusesMomentsWithDifferentCounts) {
  PlanBuilder one = makeAdamPlan();
  one.plan.cluster->axes[0]->size = 1;
  auto plan = one.load();
  std::string state;
  runAll(plan, [&](RankContext &rank) -> absl::Status {
    BAGUA_RETURN_IF_ERROR(adamSteps(rank, 3));
    SavedState saved = *readState(*rank.session->saveState());
    saved.tensors["v"].updates = 2;
    state = writeState(saved);
    return absl::OkStatus();
  });
  auto session = *Session::create(plan, std::move(createInProcessWorlds(1)[0]),
                                  SessionOptions());
  EXPECT_THAT(message(session->loadState(state)),
              HasSubstr("expected the moments 'm' and 'v' of one update to "
                        "have had as many updates, found 3 and 2"));
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
              HasSubstr("expected 'g' of f32 [16], found f32 [8]"));
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

//===----------------------------------------------------------------------===//
// Whose state it is
//===----------------------------------------------------------------------===//

/// States of all ranks after some steps.
std::vector<std::string> statesAfter(const std::shared_ptr<const Plan> &plan,
                                     int steps) {
  std::vector<std::string> states(plan->topology().ranks());
  runAll(plan, [&](RankContext &rank) -> absl::Status {
    BAGUA_RETURN_IF_ERROR(adamSteps(rank, steps));
    states[rank.rank()] = *rank.session->saveState();
    return absl::OkStatus();
  });
  return states;
}

/// What loadState says on the only rank of a session that is dropped then.
std::string loadError(const std::shared_ptr<const Plan> &plan,
                      const std::string &state) {
  auto worlds = createInProcessWorlds(1);
  auto session = *Session::create(plan, std::move(worlds[0]), {});
  return message(session->loadState(state));
}

TEST(SessionStateTest, RefusesAnotherRanksState) {
  auto plan = makeAdamPlan().load();
  std::vector<std::string> states = statesAfter(plan, 1);
  HarnessOptions options;
  options.beforeStart = [&](RankContext &rank) {
    EXPECT_THAT(message(rank.session->loadState(states[1 - rank.rank()])),
                HasSubstr(rank.rank() == 0
                              ? "rank 0: expected the state of rank 0 of 2, "
                                "found that of rank 1 of 2"
                              : "found that of rank 0 of 2"));
    return rank.session->loadState(states[rank.rank()]);
  };
  runAll(plan, [](RankContext &rank) { return adamSteps(rank, 1); }, options);
  PlanBuilder alone = makeAdamPlan();
  alone.plan.cluster->axes[0]->size = 1;
  EXPECT_THAT(loadError(alone.load(), states[0]),
              HasSubstr("rank 0 of 1, found that of rank 0 of 2"));
}

/// Ranks would count steps from different numbers, and some begin with zeros.
TEST(SessionStateTest, AllRanksLoadOneStepsState) {
  auto plan = makeAdamPlan().load();
  std::vector<std::string> early = statesAfter(plan, 1);
  std::vector<std::string> late = statesAfter(plan, 3);
  struct Case {
    std::string states[2];
    const char *message;
  };
  // Of as many steps, but of a run of its own.
  std::vector<std::string> other = statesAfter(plan, 3);
  for (const Case &c :
       {Case{{"", late[1]},
             "none on rank 0; that of step 3 of session \\w{16} on rank 1"},
        Case{{early[0], late[1]},
             "that of step 1 of session \\w{16} on rank 0; "
             "that of step 3 of session \\w{16} on rank 1"},
        Case{{late[0], other[1]},
             "that of step 3 of session \\w{16} on rank [01]; "
             "that of step 3 of session \\w{16} on rank [01]"}}) {
    HarnessOptions options;
    options.beforeStart = [&](RankContext &rank) {
      const std::string &state = c.states[rank.rank()];
      return state.empty() ? absl::OkStatus() : rank.session->loadState(state);
    };
    expectOnAllRanks(
        runRanks(
            plan, [](RankContext &rank) { return adamSteps(rank, 1); },
            options),
        testing::ContainsRegex(
            std::string("ranks have loaded different states: ") + c.message));
  }
}

/// Where the program updates, nothing but the gradients tells models apart.
TEST(SessionStateTest, RefusesAnotherModelsState) {
  auto save = [](PlanBuilder plan) {
    std::string state;
    runAll(plan.load(), [&](RankContext &rank) -> absl::Status {
      BAGUA_RETURN_IF_ERROR(rank.session->finish());
      state = *rank.session->saveState();
      return absl::OkStatus();
    });
    return state;
  };
  std::string state = save(makeOneGradient(1, 100));
  EXPECT_EQ(loadError(makeOneGradient(1, 100).load(), state), "");
  EXPECT_THAT(
      loadError(makeOneGradient(1, 101).load(), state),
      HasSubstr("of another model: expected 'g' of f32 [101], found f32 "
                "[100]"));
  EXPECT_THAT(
      loadError(makeDdpPlan(1).load(), state),
      HasSubstr("of another model: expected gradients of 'ddp' by 'ddp', "
                "found those of 'test'"));
}

/// A state of so many steps that the next ones could not be counted.
TEST(SessionStateTest, RefusesStepsWithoutEnd) {
  PlanBuilder alone = makeAdamPlan();
  alone.plan.cluster->axes[0]->size = 1;
  auto plan = alone.load();
  SavedState state = *readState(statesAfter(plan, 1)[0]);
  EXPECT_EQ(state.steps, 1);
  EXPECT_EQ(loadError(plan, writeState(state)), "");
  for (int64_t steps : {INT64_MAX, int64_t{-1}}) {
    state.steps = steps;
    EXPECT_THAT(loadError(plan, writeState(state)),
                HasSubstr("found " + std::to_string(steps)));
  }
}

/// Rank 1 dies when rank 0 has ended its second step: what rank 0 has then is a
/// checkpoint, though finish() tells it of the error.
TEST(SessionStateTest, SavesAfterAPeerHasDied) {
  auto plan = makeOneGradient(2).load();
  std::atomic<bool> hasEnded{false};
  std::string state;
  runRanks(plan, [&](RankContext &rank) -> absl::Status {
    BAGUA_RETURN_IF_ERROR(rank.step({0}));
    BAGUA_RETURN_IF_ERROR(rank.step({0}));
    if (rank.rank() == 1) {
      while (!hasEnded)
        std::this_thread::yield();
      return absl::InternalError("out of memory"); // and its session goes
    }
    hasEnded = true;
    absl::Status failure = absl::OkStatus();
    while (failure.ok())
      failure = rank.session->finish();
    EXPECT_THAT(message(failure), HasSubstr("rank 1: its session was"));
    auto saved = rank.session->saveState();
    EXPECT_TRUE(saved.ok()) << saved.status();
    state = saved.ok() ? *saved : "";
    return failure;
  });
  ASSERT_TRUE(readState(state).ok());
  EXPECT_EQ(readState(state)->steps, 2);
}

/// In the middle of a step there is no state to save.
TEST(SessionStateTest, SavesNothingHalfDone) {
  std::atomic<bool> hasGiven{false};
  runRanks(makeOneGradient(2).load(), [&](RankContext &rank) -> absl::Status {
    BAGUA_RETURN_IF_ERROR(rank.step({0}));
    if (rank.rank() == 1) {
      while (!hasGiven)
        std::this_thread::yield();
      return absl::InternalError("out of memory");
    }
    BAGUA_RETURN_IF_ERROR(rank.session->beginStep());
    BAGUA_RETURN_IF_ERROR(rank.give(0));
    hasGiven = true;
    absl::Status failure = rank.wait(0);
    EXPECT_FALSE(failure.ok());
    EXPECT_EQ(rank.session->endStep(), failure);
    EXPECT_EQ(rank.session->saveState().status(), failure);
    return failure;
  });
}

//===----------------------------------------------------------------------===//
// From one strategy to another
//===----------------------------------------------------------------------===//

enum class Kept { Bound, InArena, InParts };

/// w and m are updated by the runtime, as `kept` says; tensors 0 g, 1 w, 2 m.
PlanBuilder makeMomentumPlan(Kept kept) {
  PlanBuilder plan({{"gpu", 2}});
  plan.step().strategy = "some";
  int32_t arena = kept == Kept::InArena ? 0 : -1;
  plan.addArena("pool", 1024);
  plan.addTensor("g", {9});
  auto f32 = fb::DataType::Float32;
  plan.addTensor("w", {9}, fb::Role::Param, f32, arena, 0);
  plan.addTensor("m", {9}, fb::Role::Optimizer, f32, arena, arena < 0 ? 0 : 64);
  for (uint32_t state : {1, 2})
    plan.tensor(state).given_by_program = false;
  uint32_t w = plan.whole(1), g = plan.whole(0);
  if (kept == Kept::InParts) {
    setLayout(plan.tensor(2).layout, {shard({0})});
    uint32_t part = plan.inArena(0, 128, 9, f32, {shard({0})});
    uint32_t gradient = plan.inArena(0, 256, 9, f32, {shard({0})});
    plan.addOp(Opcode::ReduceScatter, {g}, {gradient}, {0});
    plan.addOp(Opcode::Slice, {w}, {part});
    uint32_t m = plan.whole(2);
    uint32_t sgd = plan.addOp(Opcode::Sgd, {part, m, gradient}, {part, m});
    plan.op(sgd).constants = {0.5f};
    plan.op(sgd).has_learning_rate = true;
    plan.op(sgd).learning_rate = 1.0f;
    plan.addOp(Opcode::AllGather, {part}, {w}, {0});
    return plan;
  }
  uint32_t m = plan.whole(2);
  plan.addOp(Opcode::AllReduce, {g}, {g}, {0});
  uint32_t sgd = plan.addOp(Opcode::Sgd, {w, m, g}, {w, m});
  plan.op(sgd).constants = {0.5f};
  plan.op(sgd).has_learning_rate = true;
  plan.op(sgd).learning_rate = 1.0f;
  for (uint32_t state : {1, 2})
    plan.use(state, sgd);
  return plan;
}

/// Steps whose gradients are other numbers in each; fills `params` at the end.
absl::Status momentumSteps(RankContext &rank, int steps,
                           std::vector<float> &params) {
  for (int i = 0; i < steps; ++i) {
    BAGUA_RETURN_IF_ERROR(rank.session->beginStep());
    BAGUA_RETURN_IF_ERROR(rank.wait(0));
    for (int j = 0; j < 9; ++j)
      rank.data<float>(0)[j] =
          static_cast<float>(rank.rank() + j + rank.session->step());
    BAGUA_RETURN_IF_ERROR(rank.give(0));
    BAGUA_RETURN_IF_ERROR(rank.session->endStep());
  }
  BAGUA_RETURN_IF_ERROR(rank.session->finish());
  params.assign(rank.data<float>(1), rank.data<float>(1) + 9);
  return absl::OkStatus();
}

/// Saved under one strategy, gone on with under another: as if there had been
/// just one. What was kept in parts can't be put together by a rank alone.
TEST(SessionStateTest, LoadsIntoAnotherStrategysPlan) {
  for (Kept from : {Kept::Bound, Kept::InArena})
    for (Kept to : {Kept::Bound, Kept::InArena, Kept::InParts}) {
      auto saving = makeMomentumPlan(from).load();
      auto loading = makeMomentumPlan(to).load();
      std::vector<std::vector<float>> expected(2), found(2);
      std::vector<std::string> states(2);
      runAll(saving, [&](RankContext &rank) -> absl::Status {
        BAGUA_RETURN_IF_ERROR(momentumSteps(rank, 2, expected[rank.rank()]));
        states[rank.rank()] = *rank.session->saveState();
        return momentumSteps(rank, 2, expected[rank.rank()]);
      });
      HarnessOptions options;
      options.beforeStart = [&](RankContext &rank) {
        return rank.session->loadState(states[rank.rank()]);
      };
      runAll(
          loading,
          [&](RankContext &rank) {
            return momentumSteps(rank, 2, found[rank.rank()]);
          },
          options);
      EXPECT_EQ(found, expected);
    }
  std::vector<std::string> states(2);
  runAll(makeMomentumPlan(Kept::InParts).load(),
         [&](RankContext &rank) -> absl::Status {
           std::vector<float> params;
           BAGUA_RETURN_IF_ERROR(momentumSteps(rank, 1, params));
           states[rank.rank()] = *rank.session->saveState();
           return absl::OkStatus();
         });
  HarnessOptions options;
  options.beforeStart = [&](RankContext &rank) {
    return rank.session->loadState(states[rank.rank()]);
  };
  expectOnAllRanks(
      runRanks(
          makeMomentumPlan(Kept::Bound).load(),
          [](RankContext &) { return absl::OkStatus(); }, options),
      HasSubstr("state of tensor 'm': expected f32 [9] of 36 bytes, found f32 "
                "[9] [shard [0]] of"));
  // Nor does it fit a cluster that cuts it otherwise, as large as the part is.
  for (std::string &bytes : states) {
    SavedState state = *readState(bytes);
    EXPECT_EQ(state.cluster, "[2], 0 servers");
    state.cluster = "[1, 2], 0 servers";
    bytes = writeState(state);
  }
  expectOnAllRanks(
      runRanks(
          makeMomentumPlan(Kept::InParts).load(),
          [](RankContext &) { return absl::OkStatus(); }, options),
      testing::AnyOf(
          HasSubstr("state of tensor 'm', of which each rank keeps a part: "
                    "expected that of ranks [2], 0 servers, found that of "
                    "ranks [1, 2], 0 servers"),
          HasSubstr("its session was destroyed")));
}

/// Where one plan leaves the updates to the program and the other does not, the
/// error says which option makes a plan that fits.
TEST(SessionStateTest, NamesTheOptionWhereUpdatesAreOfAnotherKind) {
  auto programs = makeOneGradient(2, 9).load();
  auto runtimes = makeMomentumPlan(Kept::Bound).load();
  auto save = [](const std::shared_ptr<const Plan> &plan) {
    std::vector<std::string> states(2);
    runAll(plan, [&](RankContext &rank) -> absl::Status {
      BAGUA_RETURN_IF_ERROR(rank.session->finish());
      states[rank.rank()] = *rank.session->saveState();
      return absl::OkStatus();
    });
    return states;
  };
  auto load = [](const std::shared_ptr<const Plan> &plan,
                 std::vector<std::string> states) {
    HarnessOptions options;
    options.beforeStart = [&](RankContext &rank) {
      return rank.session->loadState(states[rank.rank()]);
    };
    return runRanks(
        plan, [](RankContext &) { return absl::OkStatus(); }, options);
  };
  expectOnAllRanks(
      load(runtimes, save(programs)),
      testing::AnyOf(testing::AllOf(HasSubstr("no state of tensor"),
                                    HasSubstr("updates=program")),
                     HasSubstr("its session was destroyed")));
  expectOnAllRanks(load(programs, save(runtimes)),
                   testing::AnyOf(testing::AllOf(HasSubstr("no state named"),
                                                 HasSubstr("updates=runtime")),
                                  HasSubstr("its session was destroyed")));
}

} // namespace
} // namespace bagua::runtime::test
