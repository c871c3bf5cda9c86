//===- PlanPhasesTest.cpp - Plans of several steps ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which step runs when, by a walk over iterations as IR.md describes rows; and
// runs of a session whose states are computed again by hand.
//
//===----------------------------------------------------------------------===//
#include "Plan/PhaseTable.h"
#include "PlanBuilder.h"
#include "Session/StepSequence.h"
#include "SessionHarness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace bagua::runtime::test {
namespace {

using fb::Opcode;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int kCount = 8;

fb::PhaseT until(int64_t iteration) {
  fb::PhaseT phase;
  phase.until = iteration;
  return phase;
}

fb::PhaseT before(int64_t iteration) {
  fb::PhaseT phase;
  phase.at = iteration;
  return phase;
}

fb::PhaseT every(int64_t count, int64_t offset) {
  fb::PhaseT phase;
  phase.every = count;
  phase.offset = offset;
  return phase;
}

/// sgd of tensors w, m by g with a momentum, in a step of its own.
void addSgd(PlanBuilder &plan, float momentum, uint32_t stream) {
  uint32_t g = plan.whole(0);
  uint32_t w = plan.whole(1), m = plan.whole(2);
  uint32_t reduce = plan.addOp(Opcode::AllReduce, {g}, {g}, {0});
  plan.op(reduce).kind = fb::ReduceKind::Mean;
  uint32_t sgd = plan.addOp(Opcode::Sgd, {w, m, g}, {w, m}, {}, stream);
  if (stream > 0)
    plan.op(sgd).after = {reduce};
  plan.op(sgd).after_previous = {sgd};
  plan.op(sgd).constants = {momentum};
  plan.op(sgd).has_learning_rate = true;
  plan.op(sgd).learning_rate = 0.125f;
}

/// Momentum sgd, by one stream and a momentum of 0.5 before iteration 3, and by
/// two and 0.25 from there on; the momentum is halved before iteration 3.
PlanBuilder makePhases() {
  PlanBuilder plan({{"gpu", 2}});
  plan.addStream("update");
  plan.addTensor("g", {kCount});
  plan.addTensor("w", {kCount}, fb::Role::Param);
  plan.addTensor("m", {kCount}, fb::Role::Optimizer);
  for (uint32_t state : {1, 2})
    plan.tensor(state).given_by_program = false;
  addSgd(plan, 0.25f, 1); // the last row's
  plan.addStep("warmup", until(3));
  addSgd(plan, 0.5f, 0);
  plan.addStep("halve", before(3));
  uint32_t m = plan.whole(2);
  plan.op(plan.addOp(Opcode::Linear, {m}, {m})).constants = {0.5f};
  std::swap(plan.plan.phases[0], plan.plan.phases[1]); // `at` rows come first
  return plan;
}

/// What the states are after `iterations` on two ranks, elementwise.
std::array<std::vector<float>, 2> expectStates(int64_t iterations) {
  std::array<std::vector<float>, 2> states;
  states.fill(std::vector<float>(kCount, 1));
  for (int64_t i = 0; i < iterations; ++i)
    for (int j = 0; j < kCount; ++j) {
      float &w = states[0][j], &m = states[1][j];
      float mean = (float((i + j) % 5) + float((i + j + 1) % 5)) / 2;
      if (i == 3)
        m *= 0.5f;
      m = (i < 3 ? 0.5f : 0.25f) * m + mean;
      w = w - 0.125f * m;
    }
  return states;
}

absl::Status runIterations(RankContext &rank, int count) {
  for (int i = 0; i < count; ++i) {
    const int64_t step = rank.session->step() + (i > 0);
    BAGUA_RETURN_IF_ERROR(rank.session->beginStep());
    for (int j = 0; j < kCount; ++j)
      rank.data<float>(0)[j] =
          float((rank.session->step() + j + rank.rank()) % 5);
    EXPECT_EQ(rank.session->step(), step);
    BAGUA_RETURN_IF_ERROR(rank.session->markReady(TensorId(0)));
    BAGUA_RETURN_IF_ERROR(rank.session->wait(TensorId(0)));
    BAGUA_RETURN_IF_ERROR(rank.session->endStep());
  }
  return rank.session->finish();
}

void expectThat(RankContext &rank, int64_t iterations) {
  const auto states = expectStates(iterations);
  for (uint32_t state : {0, 1})
    for (int j = 0; j < kCount; ++j)
      EXPECT_EQ(rank.data<float>(1 + state)[j], states[state][j])
          << "state " << state << ", element " << j << " after " << iterations;
}

absl::Status fillOnes(RankContext &rank) {
  for (uint32_t state : {1, 2})
    std::fill_n(rank.data<float>(state), kCount, 1.0f);
  return absl::OkStatus();
}

TEST(PlanPhasesTest, FindsTheStepOfAnIteration) {
  PlanBuilder plan({{"gpu", 1}});
  plan.addStep("first", before(0));
  plan.addStep("warmup", until(4));
  plan.addStep("average", every(3, 1));
  plan.addStep("again", before(6));
  auto &phases = plan.plan.phases;
  std::rotate(phases.begin() + 1, phases.end() - 2, phases.end() - 1);
  auto loaded = plan.load();
  ASSERT_NE(loaded, nullptr);
  const fb::Plan &root = loaded->root();
  std::vector<uint32_t> steps;
  for (int64_t i = 0; i < 12; ++i)
    steps.push_back(stepOf(root, i));
  EXPECT_THAT(steps, ElementsAre(2, 2, 2, 2, 3, 0, 0, 3, 0, 0, 3, 0));
  EXPECT_THAT(iterationsWithStepsBefore(root), ElementsAre(0, 6));
  EXPECT_THAT(stepsBefore(root, 0), ElementsAre(1));
  EXPECT_THAT(stepsBefore(root, 6), ElementsAre(4));
  EXPECT_THAT(stepsBefore(root, 1), IsEmpty());
  EXPECT_FALSE(runsInIterations(root, 1));
  EXPECT_TRUE(runsInIterations(root, 3));
}

/// Against a count of one iteration after another. Tables of up to four rows,
/// whose `until` and `every` often meet.
TEST(PlanPhasesTest, CountsTheIterationsOfEachStep) {
  std::mt19937 random(7);
  auto below = [&](int64_t count) { return int64_t(random() % count); };
  for (int table = 0; table < 200; ++table) {
    PlanBuilder plan({{"gpu", 1}});
    for (int64_t row = below(5); row > 0; --row) {
      const int64_t count = 1 + below(6);
      plan.addStep(std::to_string(row), below(2) ? until(1 + below(20))
                                                 : every(count, below(count)));
    }
    auto loaded = plan.load();
    ASSERT_NE(loaded, nullptr);
    std::vector<int64_t> counts(loaded->root().steps()->size());
    for (int64_t i = 0; i < 80; ++i) {
      EXPECT_EQ(iterationsByStep(loaded->root(), i), counts) << table;
      ++counts[stepOf(loaded->root(), i)];
    }
  }
}

/// One after another, these would take hours.
TEST(PlanPhasesTest, CountsIterationsOfLongRuns) {
  PlanBuilder plan({{"gpu", 1}});
  plan.addStep("warmup", until(1000));
  plan.addStep("third", every(3, 0));
  const int64_t trillion = 1'000'000'000'000;
  EXPECT_THAT(iterationsByStep(plan.load()->root(), trillion),
              ElementsAre(666'666'666'000, 1000, 333'333'333'000));
  plan.addStep("rare", every(trillion * 1000, 5));
  EXPECT_THAT(iterationsByStep(plan.load()->root(), 6),
              ElementsAre(0, 6, 0, 0));
  // Of 1000003 x 1000033 iterations both rows have one in common.
  PlanBuilder rows({{"gpu", 1}});
  rows.addStep("one", every(1000003, 7));
  rows.addStep("other", every(1000033, 7));
  const int64_t period = int64_t{1000003} * 1000033;
  EXPECT_THAT(iterationsByStep(rows.load()->root(), period),
              ElementsAre(period - 1000033 - 1000002, 1000033, 1000002));
}

TEST(PlanPhasesTest, RefusesTablesThatNobodyMeans) {
  struct {
    void (*damage)(PlanBuilder &plan);
    const char *message;
  } const kCases[] = {
      {[](PlanBuilder &p) { p.plan.phases.clear(); },
       "expected a last row of phases that matches always, found none"},
      {[](PlanBuilder &p) { p.plan.phases[1]->step = 9; },
       "phase 1: expected a step below 3, found 9"},
      {[](PlanBuilder &p) { p.plan.phases[1]->every = 2; },
       "phase 1: expected at most one of at, until and every"},
      {[](PlanBuilder &p) { p.plan.phases[1]->until = 0; },
       "phase 1: expected numbers of iterations, found at -1, until 0"},
      {[](PlanBuilder &p) { p.plan.phases[2]->until = 7; },
       "phase 2: expected a last row that matches always"},
      {[](PlanBuilder &p) { p.plan.phases[1]->until = -1; },
       "phase 1: matches always, so no row behind it ever runs"},
      {[](PlanBuilder &p) { std::swap(p.plan.phases[0], p.plan.phases[1]); },
       "phase 1: expected rows of 'at' before all others"},
      {[](PlanBuilder &p) { p.plan.phases[1]->step = 0; },
       "step 'warmup': expected a row of phases that runs it, found none"},
      {[](PlanBuilder &p) { p.plan.steps[1]->name = "halve"; },
       "step 2: the name 'halve' is used twice"},
      {[](PlanBuilder &p) { p.op(0).ready = {0}; },
       "waits for the program, which takes no part in a step that runs before "
       "an iteration"},
      {[](PlanBuilder &p) {
         uint32_t w = p.whole(1), g = p.whole(0);
         uint32_t sgd = p.addOp(Opcode::Sgd, {w, g}, {w});
         p.op(sgd).has_learning_rate = true;
         p.op(sgd).ready = {};
       },
       "updates a param in a step that runs before an iteration"},
      {[](PlanBuilder &p) {
         p.addProgramOp("all", fb::ComputePhase::Backward, 1, {}, {});
       },
       "expected no program in a step that runs before an iteration"},
      {[](PlanBuilder &p) {
         std::swap(p.plan.steps[0]->uses[0], p.plan.steps[0]->uses[1]);
       },
       "expected uses of ascending tensors below 3, found 0 behind 1"},
      {[](PlanBuilder &p) {
         // The program may have 'other' while 'halve' runs.
         uint32_t arena = p.addArena("a", 1024);
         p.addTensor("other", {4}, fb::Role::Gradient, fb::DataType::Float32,
                     static_cast<int32_t>(arena), 128);
         uint32_t m = p.whole(2), copy = p.inArena(arena, 64, kCount);
         p.plan.values[copy]->offset = 140 - 4 * kCount;
         p.op(p.addOp(Opcode::Linear, {m}, {copy})).constants = {0.5f};
       },
       "tensor 'other': expected no instruction to touch its bytes, since the "
       "step does not use it, found one"},
  };
  EXPECT_NE(makePhases().load(), nullptr);
  for (const auto &wrong : kCases) {
    PlanBuilder plan = makePhases();
    wrong.damage(plan);
    auto loaded = Plan::fromBytes(plan.bytes());
    ASSERT_FALSE(loaded.ok()) << wrong.message;
    EXPECT_THAT(std::string(loaded.status().message()),
                HasSubstr(wrong.message));
  }
}

/// Streams that have work in one step and none in another, and a step that runs
/// before an iteration.
TEST(PlanPhasesTest, RunsEachStepInItsIterations) {
  HarnessOptions options;
  options.beforeStart = fillOnes;
  for (int count : {1, 3, 4, 5, 9})
    runAll(
        makePhases().load(),
        [&](RankContext &rank) -> absl::Status {
          BAGUA_RETURN_IF_ERROR(runIterations(rank, count));
          expectThat(rank, count);
          return absl::OkStatus();
        },
        options);
}

/// Gradients g and h, each of a step of its own, by turns; g's is slow.
PlanBuilder makeTurns() {
  PlanBuilder plan({{"gpu", 2}});
  for (const char *name : {"g", "h"})
    plan.addTensor(name, {kCount});
  plan.addTensor("w", {kCount}, fb::Role::Param);
  plan.addTensor("lr", {}, fb::Role::Input);
  plan.addResult("copy", {kCount});
  plan.tensor(2).given_by_program = false;
  uint32_t g = plan.whole(0), h = plan.whole(1), w = plan.whole(2);
  uint32_t rate = plan.whole(3), copy = plan.whole(4);
  plan.addOp(Opcode::AllReduce, {h}, {h}, {0});
  plan.addStep("g", every(2, 0));
  plan.addOp(Opcode::AllReduce, {g}, {g}, {0});
  plan.addOp(Opcode::Linear, {g}, {copy});
  plan.op(1).constants = {2.0f};
  plan.addOp(Opcode::Sgd, {w, g, rate}, {w});
  return plan;
}

/// The program would take what it gave for the mean. An input is no such
/// tensor: it comes back as it was.
TEST(PlanPhasesTest, RefusesAGradientOfAnotherStep) {
  auto body = [](RankContext &rank) -> absl::Status {
    EXPECT_TRUE(rank.session->stepUses(TensorId(0)));
    for (uint32_t own : {0, 1}) {
      BAGUA_RETURN_IF_ERROR(rank.session->beginStep());
      EXPECT_TRUE(rank.session->stepUses(TensorId(own)));
      EXPECT_FALSE(rank.session->stepUses(TensorId(1 - own)));
      EXPECT_EQ(rank.session->stepUses(TensorId(3)), own == 0);
      BAGUA_RETURN_IF_ERROR(rank.give(3));
      BAGUA_RETURN_IF_ERROR(rank.give(own));
      BAGUA_RETURN_IF_ERROR(rank.wait(3));
      BAGUA_RETURN_IF_ERROR(rank.wait(own));
      BAGUA_RETURN_IF_ERROR(rank.session->endStep());
      EXPECT_FALSE(rank.session->stepUses(TensorId(own)));
      EXPECT_TRUE(rank.session->stepUses(TensorId(1 - own)));
    }
    BAGUA_RETURN_IF_ERROR(rank.session->beginStep());
    return rank.give(1);
  };
  expectOnAllRanks(
      runRanks(makeTurns().load(), body),
      HasSubstr("markReady of tensor 'h', which step 'g' does not use, though "
                "other steps of the plan do: expected to be given only where "
                "stepUses() says so, in step 2"));
}

/// A signal that no instruction touches belongs to the steps that wait for it.
TEST(PlanPhasesTest, RefusesASignalOfAnotherStep) {
  PlanBuilder plan({{"gpu", 2}});
  plan.addTensor("seen", {kCount}, fb::Role::Value);
  plan.addTensor("g", {kCount});
  uint32_t g = plan.whole(1);
  plan.addOp(Opcode::AllReduce, {g}, {g}, {0});
  plan.op(0).ready.push_back(0);
  fb::PhaseT odd;
  odd.every = 2;
  odd.offset = 1;
  plan.addStep("second", odd);
  plan.addOp(Opcode::AllReduce, {g}, {g}, {0});
  expectOnAllRanks(
      runRanks(plan.load(),
               [](RankContext &rank) -> absl::Status {
                 BAGUA_RETURN_IF_ERROR(rank.step({0, 1}));
                 EXPECT_FALSE(rank.session->stepUses(TensorId(0)));
                 BAGUA_RETURN_IF_ERROR(rank.session->beginStep());
                 return rank.give(0);
               }),
      testing::AllOf(
          HasSubstr("markReady of tensor 'seen', which step 'second' does "
                    "not use"),
          HasSubstr("in step 1")));
}

/// A step may wait for a tensor that it does not touch, as a sign that the
/// program has read something.
TEST(PlanPhasesTest, TakesASignalThatAnotherStepReduces) {
  PlanBuilder plan({{"gpu", 2}});
  plan.addTensor("seen", {kCount}, fb::Role::Value);
  plan.addTensor("g", {kCount});
  uint32_t seen = plan.whole(0), g = plan.whole(1);
  plan.addOp(Opcode::AllReduce, {seen}, {seen}, {0});
  plan.addStep("first", until(1));
  plan.addOp(Opcode::AllReduce, {g}, {g}, {0});
  plan.op(0).ready.push_back(0);
  runAll(plan.load(), [](RankContext &rank) -> absl::Status {
    EXPECT_TRUE(rank.session->stepUses(TensorId(0)));
    BAGUA_RETURN_IF_ERROR(rank.step({0, 1}));
    EXPECT_FALSE(rank.session->stepUses(TensorId(1)));
    std::fill_n(rank.data<float>(0), kCount, 3.0f);
    BAGUA_RETURN_IF_ERROR(rank.step({0}));
    EXPECT_EQ(rank.data<float>(0)[0], 6.0f);
    return rank.session->finish();
  });
}

/// The first step is not done before rank 1 gives its gradient, late in the
/// second one.
TEST(PlanPhasesTest, WaitsForTheStepBeforeTheLast) {
  std::atomic<bool> mayGive{false};
  runAll(makeTurns().load(), [&](RankContext &rank) -> absl::Status {
    Session &session = *rank.session;
    const bool isSlow = rank.rank() == 1;
    std::fill_n(rank.data<float>(0), kCount, 1.0f + float(rank.rank()));
    BAGUA_RETURN_IF_ERROR(session.beginStep());
    BAGUA_RETURN_IF_ERROR(rank.give(3));
    while (isSlow && !mayGive)
      std::this_thread::yield();
    BAGUA_RETURN_IF_ERROR(rank.give(0));
    BAGUA_RETURN_IF_ERROR(session.endStep());
    BAGUA_RETURN_IF_ERROR(session.beginStep());
    EXPECT_TRUE(isSlow || !session.isReady(TensorId(2)));
    EXPECT_TRUE(isSlow || !session.isReady(TensorId(4)));
    BAGUA_RETURN_IF_ERROR(rank.give(1));
    BAGUA_RETURN_IF_ERROR(session.endStep());
    EXPECT_TRUE(isSlow || !session.isReady(TensorId(2)));
    EXPECT_TRUE(isSlow || !session.isReady(TensorId(4)));
    mayGive = mayGive || !isSlow;
    BAGUA_RETURN_IF_ERROR(rank.wait(4));
    BAGUA_RETURN_IF_ERROR(rank.wait(2));
    EXPECT_TRUE(session.isReady(TensorId(2)));
    EXPECT_EQ(rank.data<float>(4)[1], 6.0f); // twice the sum
    for (uint32_t given : {0, 1, 3})
      BAGUA_RETURN_IF_ERROR(rank.wait(given));
    return session.finish();
  });
}

/// The program sets params before the first iteration, and may forget that a
/// step changes them before it reads them.
TEST(PlanPhasesTest, AsksForAWaitBehindAStepBeforeTheFirst) {
  PlanBuilder plan = makePhases();
  plan.plan.phases[0]->at = 0;
  for (auto &step : plan.plan.steps)
    if (step->name != "halve") {
      step->program.push_back(std::make_unique<fb::ProgramOpT>());
      step->program.back()->name = "forward";
      step->program.back()->waits = {2};
      step->program.back()->gives = {0};
    }
  HarnessOptions options;
  options.beforeStart = fillOnes;
  for (bool waits : {false, true}) {
    auto body = [&](RankContext &rank) -> absl::Status {
      BAGUA_RETURN_IF_ERROR(rank.session->beginStep());
      if (waits)
        BAGUA_RETURN_IF_ERROR(rank.wait(2));
      BAGUA_RETURN_IF_ERROR(rank.give(0));
      BAGUA_RETURN_IF_ERROR(rank.wait(0));
      BAGUA_RETURN_IF_ERROR(rank.session->endStep());
      return rank.session->finish();
    };
    if (waits)
      runAll(plan.load(), body, options);
    else
      expectOnAllRanks(runRanks(plan.load(), body, options),
                       HasSubstr("step 0 ended without a wait for 'm'"));
  }
}

/// Before, at and behind the iteration that another step runs before.
TEST(PlanPhasesTest, ResumesInTheMiddle) {
  auto plan = makePhases().load();
  for (int first : {2, 3, 4}) {
    std::vector<std::string> states(2);
    HarnessOptions options;
    options.beforeStart = fillOnes;
    runAll(
        plan,
        [&](RankContext &rank) -> absl::Status {
          BAGUA_RETURN_IF_ERROR(runIterations(rank, first));
          states[rank.rank()] = *rank.session->saveState();
          return absl::OkStatus();
        },
        options);
    options.beforeStart = [&](RankContext &rank) {
      return rank.session->loadState(states[rank.rank()]);
    };
    runAll(
        plan,
        [&](RankContext &rank) -> absl::Status {
          EXPECT_EQ(rank.session->step(), first);
          BAGUA_RETURN_IF_ERROR(runIterations(rank, 7 - first));
          expectThat(rank, 7);
          return absl::OkStatus();
        },
        options);
  }
}

/// Positions against a list of all instructions of a run, for streams that are
/// empty in some steps.
TEST(PlanPhasesTest, PositionsAreThoseOfAList) {
  StreamPrograms a, b;
  for (StreamPrograms *programs : {&a, &b}) {
    programs->streams.resize(3);
    programs->lead.resize(3);
  }
  b.step = 1;
  a.streams[0].resize(2);
  a.streams[1].resize(1);
  b.streams[0].resize(3);
  b.streams[2].resize(1);
  StepSequence sequence;
  sequence.start({a, b});
  std::array<std::vector<Position>, 3> all;
  for (int64_t step = 0; step < 9; ++step) {
    const uint32_t program = step % 3 == 1;
    sequence.open(step, program);
    for (uint32_t stream = 0; stream < 3; ++stream) {
      const auto length = (program ? b : a).streams[stream].size();
      EXPECT_EQ(sequence.beginOf(stream, step), all[stream].size());
      for (uint32_t slot = 0; slot < length; ++slot)
        all[stream].push_back({step, slot});
      EXPECT_FALSE(sequence.isOpen(stream, all[stream].size()));
      for (size_t i = 0; i < all[stream].size(); ++i)
        if (all[stream][i].step >= step - 1) {
          const Position found = sequence.positionOf(stream, i);
          EXPECT_EQ(found.step, all[stream][i].step);
          EXPECT_EQ(found.slot, all[stream][i].slot);
          EXPECT_TRUE(sequence.isOpen(stream, i));
        }
    }
    EXPECT_EQ(sequence.isChange(step), step > 0 && step % 3 != 0);
    EXPECT_EQ(sequence.isForgotten(step - 2), true);
    EXPECT_EQ(sequence.isForgotten(step - 1), false);
  }
}

} // namespace
} // namespace bagua::runtime::test
