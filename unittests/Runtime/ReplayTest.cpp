//===- ReplayTest.cpp - That --check finds what is wrong ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A check that can't fail proves nothing: plans are spoiled one way each, and
// what comes out must be a failed check that names the tensor, whatever the
// runtime thinks of the plan.
//
//===----------------------------------------------------------------------===//
#include "bagua/Replay/Replay.h"
#include "CheckValues.h"
#include "Checker.h"
#include "CommunicatorBackends.h"
#include "Gifts.h"
#include "PlanBuilder.h"
#include "Reference.h"
#include "bagua/Replay/RunReport.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <numeric>

namespace bagua::replay {
namespace {

using runtime::test::makeDdpPlan;
using runtime::test::PlanBuilder;
using ::testing::HasSubstr;
namespace fb = runtime::fb;

ReplayOptions checkOptions() {
  ReplayOptions options;
  options.check = true;
  options.steps = 2;
  options.timeScale = 0;
  options.timeout = runtime::kLongTime;
  return options;
}

//===----------------------------------------------------------------------===//
// Good plans
//===----------------------------------------------------------------------===//

TEST(ReplayTest, ChecksAGoodPlanOnAnyNumberOfRanks) {
  for (int64_t ranks : {1, 2, 3, 4, 8}) {
    auto result = replayPlan(makeDdpPlan(ranks).load(), checkOptions());
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_TRUE(result->check->passed) << result->check->failures[0];
    EXPECT_EQ(result->check->tensors, 3);
    EXPECT_EQ(result->check->maxError, 0);
    EXPECT_EQ(result->stepNs.size(), 2u);
  }
}

TEST(ReplayTest, ChecksEveryType) {
  for (int type = 0; type < kDataTypeCount; ++type) {
    auto plan = makeDdpPlan(4, 1, static_cast<fb::DataType>(type)).load();
    auto result = replayPlan(plan, checkOptions());
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_TRUE(result->check->passed) << result->check->failures[0];
  }
}

/// Zeros stand for what a rank leaves out, for every type and kind.
TEST(ReplayTest, ChecksAbsentTensors) {
  for (int type = 0; type < kDataTypeCount; ++type)
    for (auto kind : {fb::ReduceKind::Sum, fb::ReduceKind::Min}) {
      PlanBuilder plan = makeDdpPlan(4, 1, static_cast<fb::DataType>(type));
      for (uint32_t op : {0, 2})
        plan.op(op).kind = kind;
      for (auto &relation : plan.step().contract)
        relation->reduce = kind;
      int64_t absent = 0;
      for (uint32_t tensor : {0, 1}) {
        plan.tensor(tensor).optional = true;
        for (int64_t rank = 0; rank < 4; ++rank)
          for (int64_t step = 0; step < kCheckedSteps; ++step)
            absent += isAbsent(*plan.load(), tensor, rank, step);
      }
      EXPECT_GT(absent, 4);
      EXPECT_LT(absent, 20);
      auto result = replayPlan(plan.load(), checkOptions());
      ASSERT_TRUE(result.ok()) << result.status();
      EXPECT_TRUE(result->check->passed) << result->check->failures[0];
    }
}

TEST(ReplayTest, ChecksEveryKind) {
  for (auto kind :
       {fb::ReduceKind::Sum, fb::ReduceKind::Min, fb::ReduceKind::Max}) {
    PlanBuilder plan = makeDdpPlan(3);
    for (uint32_t op : {0, 2})
      plan.op(op).kind = kind;
    for (auto &relation : plan.step().contract)
      relation->reduce = kind;
    auto result = replayPlan(plan.load(), checkOptions());
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_TRUE(result->check->passed) << result->check->failures[0];
  }
}

TEST(ReplayTest, RunsWithoutAProgram) {
  PlanBuilder plan = makeDdpPlan(4);
  plan.step().program.clear();
  auto result = replayPlan(plan.load(), checkOptions());
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(result->check->passed);
}

/// The program of P3 or DeAR: what it gives it takes back in the next step.
TEST(ReplayTest, WaitsOfTheNextStep) {
  PlanBuilder plan = makeDdpPlan(4);
  plan.step().program.clear();
  plan.addProgramOp("forward", fb::ComputePhase::Forward, 0, {2, 1, 0}, {});
  plan.addProgramOp("backward", fb::ComputePhase::Backward, 0, {}, {0, 1, 2});
  auto result = replayPlan(plan.load(), checkOptions());
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(result->check->passed) << result->check->failures[0];
}

PlanBuilder makeAllToAllPlan() {
  PlanBuilder plan({{"node", 2}, {"gpu", 3}});
  plan.addTensor("x", {6, 4, 9});
  plan.addResult("y", {2, 12, 9});
  uint32_t op =
      plan.addOp(fb::Opcode::AllToAll, {plan.whole(0)}, {plan.whole(1)}, {1});
  plan.op(op).shape = {6, 4, 9};
  plan.op(op).concat_dim = 1;
  plan.promise(1, {1}, fb::ReduceKind::Sum, 0);
  plan.step().contract[0]->relation = fb::RelationKind::AllToAll;
  plan.step().contract[0]->concat_dim = 1;
  return plan;
}

TEST(ReplayTest, ChecksAllToAll) {
  auto result = replayPlan(makeAllToAllPlan().load(), checkOptions());
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(result->check->passed) << result->check->failures[0];
  EXPECT_EQ(result->check->tensors, 1); // the operand need not come back

  PlanBuilder wrong = makeAllToAllPlan();
  wrong.op(0).concat_dim = 2;
  result = replayPlan(wrong.load(), checkOptions());
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_FALSE(result->check->passed);
}

/// What `promised` says of a plan whose instruction does `done`: both are the
/// kind of relation, the dimension, and for permute the places.
struct Moved {
  fb::RelationKind relation;
  uint32_t dimension = 0;
  std::vector<uint32_t> pairs;
};

bool passes(const Moved &done, const Moved &promised) {
  using Kind = fb::RelationKind;
  bool isScattered = done.relation == Kind::Scattered;
  bool isGathered = done.relation == Kind::Gathered;
  PlanBuilder plan({{"node", 2}, {"gpu", 3}});
  // Cubes, so that the shape does not tell which dimension it was.
  int64_t given = isGathered ? 4 : 12;
  std::vector<int64_t> shape(3, given), whole(3, given);
  (isGathered ? whole : shape)[done.dimension] = isScattered ? 4 : 12;
  plan.addTensor("x", std::vector<int64_t>(3, given));
  plan.addResult("y", isGathered ? whole : shape);
  fb::Opcode opcode = isScattered  ? fb::Opcode::ReduceScatter
                      : isGathered ? fb::Opcode::AllGather
                                   : fb::Opcode::Permute;
  uint32_t op = plan.addOp(opcode, {plan.whole(0)}, {plan.whole(1)}, {1});
  if (done.relation != Kind::Permuted)
    plan.op(op).shape = whole;
  plan.op(op).split_dim = plan.op(op).concat_dim = done.dimension;
  plan.op(op).pairs = done.pairs;
  plan.promise(1, {1}, fb::ReduceKind::Sum, 0);
  fb::RelationT &relation = *plan.step().contract[0];
  relation.relation = promised.relation;
  relation.split_dim = isScattered ? promised.dimension : 0;
  relation.concat_dim = isGathered ? promised.dimension : 0;
  relation.pairs = promised.pairs;
  auto result = replayPlan(plan.load(), checkOptions());
  EXPECT_TRUE(result.ok()) << result.status();
  return result.ok() && result->check->passed;
}

TEST(ReplayTest, ChecksPieces) {
  using Kind = fb::RelationKind;
  for (Kind kind : {Kind::Scattered, Kind::Gathered})
    for (uint32_t dimension : {0, 1, 2})
      EXPECT_TRUE(passes({kind, dimension, {}}, {kind, dimension, {}}));
}

TEST(ReplayTest, ChecksPermute) {
  using Kind = fb::RelationKind;
  Moved chain = {Kind::Permuted, 0, {0, 1, 1, 2}};
  EXPECT_TRUE(passes(chain, chain));
  EXPECT_TRUE(passes({Kind::Permuted, 0, {}}, {Kind::Permuted, 0, {}}));
  EXPECT_FALSE(passes(chain, {Kind::Permuted, 0, {1, 0, 2, 1}}));
  EXPECT_FALSE(passes(chain, {Kind::Permuted, 0, {0, 1, 1, 2, 2, 0}}));
  EXPECT_FALSE(passes(chain, {Kind::Permuted, 0, {0, 1}}));
}

/// reduce_scatter: each rank is promised its part.
TEST(ReplayTest, ChecksParts) {
  PlanBuilder plan({{"gpu", 4}});
  plan.addTensor("g", {101});
  plan.addResult("part", {101});
  runtime::test::setLayout(plan.tensor(1).layout, {runtime::test::shard({0})});
  plan.addOp(fb::Opcode::ReduceScatter, {plan.whole(0)}, {plan.whole(1)}, {0});
  plan.promise(1, {0}, fb::ReduceKind::Sum, 0);
  auto result = replayPlan(plan.load(), checkOptions());
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(result->check->passed) << result->check->failures[0];
}

/// One tensor, reduced over the gpus of a node and then over nodes.
PlanBuilder makeTwoLevels(fb::DataType type, fb::ReduceKind kind) {
  PlanBuilder plan({{"node", 3}, {"gpu", 2}});
  plan.addTensor("g", {1000}, fb::Role::Gradient, type);
  for (uint32_t axis : {1, 0}) {
    uint32_t op = plan.addOp(fb::Opcode::AllReduce, {plan.whole(0)},
                             {plan.whole(0)}, {axis});
    plan.op(op).kind = kind;
  }
  plan.promise(0, {0, 1}, kind);
  return plan;
}

// A hierarchy adds in another order: the same value up to rounding, and to the
// bit where nothing rounds.
TEST(ReplayTest, ChecksHierarchiesUpToRounding) {
  for (int type = 0; type < kDataTypeCount; ++type)
    for (auto kind : {fb::ReduceKind::Sum, fb::ReduceKind::Mean,
                      fb::ReduceKind::Min, fb::ReduceKind::Max}) {
      bool isFloat = type < 4;
      if (!isFloat && kind == fb::ReduceKind::Mean)
        continue;
      auto plan = makeTwoLevels(static_cast<fb::DataType>(type), kind).load();
      auto result = replayPlan(plan, checkOptions());
      ASSERT_TRUE(result.ok()) << result.status();
      EXPECT_TRUE(result->check->passed) << result->check->failures[0];
      bool rounds = isFloat && (kind == fb::ReduceKind::Sum ||
                                kind == fb::ReduceKind::Mean);
      EXPECT_EQ(result->check->tolerance > 0, rounds);
      EXPECT_EQ(result->check->maxError > 0, rounds);
      EXPECT_LE(result->check->maxError, result->check->tolerance);
    }
}

// What rounding explains is far from what a lost level, or a wrong kind, does.
TEST(ReplayTest, RoundingExplainsNoLostLevel) {
  for (uint32_t spoiled : {0, 1})
    for (int type = 0; type < 4; ++type) {
      PlanBuilder lost =
          makeTwoLevels(static_cast<fb::DataType>(type), fb::ReduceKind::Mean);
      lost.op(spoiled).opcode = fb::Opcode::After;
      lost.op(spoiled).axes = {};
      lost.op(spoiled).inputs = lost.op(spoiled).outputs = {};
      auto result = replayPlan(lost.load(), checkOptions());
      ASSERT_TRUE(result.ok()) << result.status();
      EXPECT_FALSE(result->check->passed)
          << "level " << spoiled << " of type " << type;
      PlanBuilder other =
          makeTwoLevels(static_cast<fb::DataType>(type), fb::ReduceKind::Mean);
      other.op(spoiled).kind = fb::ReduceKind::Sum;
      result = replayPlan(other.load(), checkOptions());
      ASSERT_TRUE(result.ok()) << result.status();
      EXPECT_FALSE(result->check->passed);
    }
}

//===----------------------------------------------------------------------===//
// Spoiled plans
//===----------------------------------------------------------------------===//

struct Spoiled {
  const char *name;
  std::function<void(PlanBuilder &)> spoil;
  const char *message;
};

class SpoiledPlanTest : public testing::TestWithParam<Spoiled> {};

/// On two axes, so that there is a wrong one; both gradients of the bucket have
/// equal sizes, so that they can be exchanged.
PlanBuilder makeSpoilable() {
  PlanBuilder plan({{"node", 2}, {"gpu", 2}});
  plan.addArena("grads", 4096);
  auto f32 = fb::DataType::Float32;
  plan.addTensor("a", {100}, fb::Role::Gradient, f32, 0, 0);
  plan.addTensor("b", {100}, fb::Role::Gradient, f32, 0, 400);
  plan.addTensor("c", {50});
  uint32_t a = plan.whole(0), b = plan.whole(1), c = plan.whole(2);
  uint32_t bucket = plan.inArena(0, 1024, 200);
  uint32_t concat = plan.addOp(fb::Opcode::Concat, {a, b}, {bucket});
  uint32_t reduce =
      plan.addOp(fb::Opcode::AllReduce, {bucket}, {bucket}, {0, 1});
  uint32_t split = plan.addOp(fb::Opcode::Split, {bucket}, {a, b});
  uint32_t last = plan.addOp(fb::Opcode::AllReduce, {c}, {c}, {0, 1});
  for (uint32_t tensor : {0, 1}) {
    plan.use(tensor, concat);
    plan.use(tensor, split, false);
  }
  for (uint32_t tensor : {0, 1, 2})
    plan.promise(tensor, {0, 1}, fb::ReduceKind::Mean);
  for (uint32_t op : {reduce, last})
    plan.op(op).kind = fb::ReduceKind::Mean;
  return plan;
}

TEST(SpoiledPlanTest, UnspoiledItPasses) {
  auto result = replayPlan(makeSpoilable().load(), checkOptions());
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(result->check->passed) << result->check->failures[0];
}

TEST_P(SpoiledPlanTest, FailsTheCheck) {
  PlanBuilder plan = makeSpoilable();
  GetParam().spoil(plan);
  auto loaded = plan.load();
  ASSERT_NE(loaded, nullptr);
  auto result = replayPlan(loaded, checkOptions());
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_FALSE(result->check->passed);
  ASSERT_FALSE(result->check->failures.empty());
  EXPECT_THAT(result->check->failures,
              testing::Contains(HasSubstr(GetParam().message)));
  EXPECT_THAT(reportText(*loaded, checkOptions(), *result),
              HasSubstr("FAILED"));
  EXPECT_THAT(reportJson(*loaded, checkOptions(), *result),
              HasSubstr("\"passed\": false"));
}

void removeOp(PlanBuilder &plan, uint32_t number) {
  auto after = std::make_unique<fb::InstructionT>();
  after->name = "nothing";
  after->opcode = fb::Opcode::After;
  after->ready = plan.op(number).ready;
  plan.step().instructions[number] = std::move(after);
}

const Spoiled kSpoiled[] = {
    {"ReductionMissing", [](PlanBuilder &p) { removeOp(p, 3); },
     "tensor 'c' on rank 0 in step 0"},
    {"BucketNotReduced", [](PlanBuilder &p) { removeOp(p, 1); },
     "tensor 'a' on rank 0"},
    {"SplitMissing", [](PlanBuilder &p) { removeOp(p, 2); },
     "tensor 'b' on rank 0"},
    {"WrongAxis", [](PlanBuilder &p) { p.op(3).axes = {1}; },
     "tensor 'c' on rank 0"},
    {"OtherWrongAxis", [](PlanBuilder &p) { p.op(3).axes = {0}; },
     "tensor 'c' on rank 0"},
    {"WrongKind", [](PlanBuilder &p) { p.op(3).kind = fb::ReduceKind::Sum; },
     "tensor 'c' on rank 0"},
    {"TwoOffsetsExchanged",
     [](PlanBuilder &p) { std::swap(p.op(2).outputs[0], p.op(2).outputs[1]); },
     "tensor 'a' on rank 0"},
    {"OffsetMoved",
     [](PlanBuilder &p) {
       auto moved = std::make_unique<fb::ValueT>(*p.plan.values[0]);
       moved->offset = 4;
       p.plan.values.push_back(std::move(moved));
       p.op(0).inputs[0] = p.plan.values.size() - 1;
     },
     "tensor 'a' on rank 0"},
    {"ShortBucket",
     [](PlanBuilder &p) {
       auto shorter = std::make_unique<fb::ValueT>(*p.plan.values[3]);
       shorter->count = 199;
       p.plan.values.push_back(std::move(shorter));
       uint32_t number = p.plan.values.size() - 1;
       p.op(1).inputs = p.op(1).outputs = {number};
     },
     "element 99"},
    {"ReducedTwice",
     [](PlanBuilder &p) {
       p.op(0).opcode = fb::Opcode::After;
       p.op(0).inputs = p.op(0).outputs = {};
       p.op(2).opcode = fb::Opcode::AllReduce;
       p.op(2).axes = {0, 1};
       p.op(2).inputs = p.op(2).outputs = {0};
     },
     "tensor 'a' on rank 0"},
    {"NeverWaitedFor",
     [](PlanBuilder &p) {
       p.addProgramOp("all", fb::ComputePhase::Backward, 0, {}, {0, 1, 2});
       p.addProgramOp("update", fb::ComputePhase::Update, 0, {0, 1}, {});
     },
     "tensor 'c' on rank 0 was given back in 0 of 3 steps"},
    {"ForgottenByThePlan",
     [](PlanBuilder &p) {
       p.addTensor("d", {10});
       p.promise(3, {0, 1}, fb::ReduceKind::Mean);
     },
     "tensor 'd' on rank 0"},
    {"ChangedWithoutBeingPromised",
     [](PlanBuilder &p) { p.step().contract.pop_back(); },
     "tensor 'c' on rank 0"},
};

INSTANTIATE_TEST_SUITE_P(All, SpoiledPlanTest, testing::ValuesIn(kSpoiled),
                         [](const testing::TestParamInfo<Spoiled> &info) {
                           return info.param.name;
                         });

//===----------------------------------------------------------------------===//
// Updates of the runtime's
//===----------------------------------------------------------------------===//

/// A gradient is reduced in place and updates the states, whose rate the
/// program gives. The program reads the param in the next step and takes
/// nothing else back.
///   tensors 0 g, 1 rate, 2 w and the other states; instruction 1 is the update
PlanBuilder makeUpdatePlan(fb::Opcode opcode, std::vector<float> constants,
                           fb::DataType type = fb::DataType::Float32) {
  PlanBuilder plan({{"gpu", 3}});
  plan.addTensor("g", {1000}, fb::Role::Gradient, type);
  plan.addTensor("rate", {}, fb::Role::Input);
  size_t count = opcode == fb::Opcode::Adam ? 3 : 1 + constants.size();
  std::vector<uint32_t> states, values;
  for (size_t i = 0; i < count; ++i) {
    states.push_back(plan.addResult(i == 0   ? "w"
                                    : i == 1 ? "m"
                                             : "v",
                                    {1000}, type));
    plan.tensor(states.back()).role =
        i == 0 ? fb::Role::Param : fb::Role::Optimizer;
    values.push_back(plan.whole(states.back()));
  }
  uint32_t g = plan.whole(0), rate = plan.whole(1);
  plan.op(plan.addOp(fb::Opcode::AllReduce, {g}, {g}, {0})).kind =
      fb::ReduceKind::Mean;
  std::vector<uint32_t> inputs = values;
  inputs.push_back(g);
  inputs.push_back(rate);
  uint32_t op = plan.addOp(opcode, inputs, values);
  plan.op(op).constants = std::move(constants);
  plan.op(op).after_previous = {op};
  plan.promise(0, {0}, fb::ReduceKind::Mean);
  plan.promiseUpdate(states, 0, {0}, op);
  plan.addProgramOp("all", fb::ComputePhase::Backward, 0, {2}, {0});
  return plan;
}

const std::vector<float> kAdam = {0.9f, 0.99f, 1e-8f, 0.01f};

TEST(ReplayTest, ChecksUpdates) {
  for (auto type : {fb::DataType::Float32, fb::DataType::Float16,
                    fb::DataType::BFloat16, fb::DataType::Float64}) {
    std::vector<PlanBuilder> plans;
    plans.push_back(makeUpdatePlan(fb::Opcode::Sgd, {}, type));
    plans.push_back(makeUpdatePlan(fb::Opcode::Sgd, {0.9f}, type));
    for (auto correction :
         {fb::BiasCorrection::None, fb::BiasCorrection::Moments,
          fb::BiasCorrection::StepSize}) {
      plans.push_back(makeUpdatePlan(fb::Opcode::Adam, kAdam, type));
      plans.back().op(1).bias_correction = correction;
      plans.back().step().contract[1]->update->bias_correction = correction;
    }
    for (PlanBuilder &plan : plans) {
      auto result = replayPlan(plan.load(), checkOptions());
      ASSERT_TRUE(result.ok()) << result.status();
      EXPECT_TRUE(result->check->passed) << result->check->failures[0];
      EXPECT_EQ(result->check->maxError, 0);
    }
  }
}

/// Given all at once: states are looked at after the last step.
TEST(ReplayTest, ChecksUpdatesWithoutAProgram) {
  PlanBuilder plan = makeUpdatePlan(fb::Opcode::Adam, kAdam);
  plan.step().program.clear();
  auto result = replayPlan(plan.load(), checkOptions());
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(result->check->passed) << result->check->failures[0];
}

/// A gradient that is cast for the update alone is not narrowed on the wire.
TEST(ReplayTest, ChecksUpdatesOfAnotherType) {
  auto makePlan = [](fb::DataType given, fb::DataType states) {
    PlanBuilder plan = makeUpdatePlan(fb::Opcode::Adam, kAdam, states);
    plan.tensor(0).type = given;
    uint32_t g = plan.op(0).inputs[0];
    plan.value(g).type = given;
    uint32_t cast = plan.inArena(plan.addArena("cast", 8192), 0, 1000, states);
    auto update = std::move(plan.step().instructions[1]);
    plan.step().instructions.pop_back();
    plan.addOp(fb::Opcode::Cast, {g}, {cast});
    update->inputs[3] = cast;
    update->after_previous = {2};
    plan.step().instructions.push_back(std::move(update));
    for (uint32_t state : {2, 3, 4})
      plan.users(state) = {2};
    plan.users(0) = {0, 1};
    plan.users(1) = {2};
    return plan;
  };
  for (auto [given, states] :
       {std::pair{fb::DataType::Float32, fb::DataType::BFloat16},
        std::pair{fb::DataType::BFloat16, fb::DataType::Float32},
        std::pair{fb::DataType::Float64, fb::DataType::Float32}}) {
    PlanBuilder plan = makePlan(given, states);
    auto result = replayPlan(plan.load(), checkOptions());
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_TRUE(result->check->passed) << result->check->failures[0];
    EXPECT_EQ(result->check->tolerance, 0);
    plan.op(2).constants[3] = 0.02f;
    result = replayPlan(plan.load(), checkOptions());
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_FALSE(result->check->passed);
  }
}

/// Each departs from the contract.
TEST(ReplayTest, FindsWrongUpdates) {
  struct Case {
    const char *expected;
    std::function<void(PlanBuilder &)> spoil;
  };
  for (const Case &spoiled :
       std::vector<Case>{{"tensor 'w' on rank 0",
                          [](PlanBuilder &p) { p.op(1).constants[3] = 0; }},
                         {"tensor 'm' on rank 0",
                          [](PlanBuilder &p) { p.op(1).constants[0] = 0.8f; }},
                         {"tensor 'v' on rank 0",
                          [](PlanBuilder &p) { p.op(1).constants[1] = 0.98f; }},
                         {"tensor 'w' on rank 0",
                          [](PlanBuilder &p) {
                            p.op(1).bias_correction =
                                fb::BiasCorrection::Moments;
                          }},
                         {"tensor 'w' on rank 0",
                          [](PlanBuilder &p) {
                            p.op(1).has_learning_rate = true;
                            p.op(1).inputs.pop_back();
                          }},
                         // The own gradient instead of the mean.
                         {"tensor 'w' on rank 0",
                          [](PlanBuilder &p) {
                            p.op(0).opcode = fb::Opcode::After;
                            p.op(0).axes = {};
                          }},
                         // Nobody updates.
                         {"tensor 'w' on rank 0", [](PlanBuilder &p) {
                            p.op(1).opcode = fb::Opcode::After;
                            p.op(1).outputs.resize(1);
                            p.op(1).constants = {};
                            p.op(1).bias_correction = fb::BiasCorrection::None;
                          }}}) {
    PlanBuilder plan = makeUpdatePlan(fb::Opcode::Adam, kAdam);
    spoiled.spoil(plan);
    auto result = replayPlan(plan.load(), checkOptions());
    ASSERT_TRUE(result.ok()) << result.status();
    ASSERT_FALSE(result->check->passed);
    bool isNamed = false;
    for (const std::string &failure : result->check->failures)
      isNamed |= failure.find(spoiled.expected) != std::string::npos;
    EXPECT_TRUE(isNamed) << spoiled.expected << " not in "
                         << result->check->failures[0];
  }
}

/// Rounding is explained where gradients are narrowed, a lost reduction not.
TEST(ReplayTest, BoundsUpdatesByNarrowerGradients) {
  PlanBuilder plan = makeUpdatePlan(fb::Opcode::Adam, kAdam);
  uint32_t half = plan.inArena(plan.addArena("wire", 4096), 0, 1000,
                               fb::DataType::BFloat16);
  // Cast, all_reduce, cast; the update is last.
  auto update = std::move(plan.step().instructions[1]);
  plan.step().instructions.pop_back();
  plan.op(0).opcode = fb::Opcode::Cast;
  plan.op(0).axes = {};
  plan.op(0).kind = fb::ReduceKind::Sum;
  plan.op(0).outputs = {half};
  uint32_t reduce = plan.addOp(fb::Opcode::AllReduce, {half}, {half}, {0});
  plan.op(reduce).kind = fb::ReduceKind::Mean;
  plan.addOp(fb::Opcode::Cast, {half}, plan.op(0).inputs);
  update->after_previous = {3};
  plan.step().instructions.push_back(std::move(update));
  for (auto &use : plan.step().uses)
    for (uint32_t &user : use->instructions)
      user = user == 1 ? 3 : user;
  auto result = replayPlan(plan.load(), checkOptions());
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(result->check->passed) << result->check->failures[0];
  EXPECT_GT(result->check->maxError, 0);

  // With a beta2 of 0 a step may be of any size: nothing is claimed.
  plan.op(3).constants[1] = 0;
  plan.step().contract[1]->update->constants[1] = 0;
  result = replayPlan(plan.load(), checkOptions());
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_FALSE(result->check->passed);
  EXPECT_THAT(result->check->failures,
              testing::Contains(
                  "state 'w' on rank 0: rounding explains any value of it, so "
                  "it can't be checked"));

  plan.op(reduce).opcode = fb::Opcode::After;
  plan.op(reduce).axes = {};
  plan.op(reduce).kind = fb::ReduceKind::Sum;
  result = replayPlan(plan.load(), checkOptions());
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_FALSE(result->check->passed);
}

/// A plan in which one rank of a group ends up with other bits: ranks 2 and 3
/// of a broadcast from a root that was never filled on the second node.
TEST(ReplayTest, ComparesRanksWithEachOther) {
  PlanBuilder plan({{"node", 2}, {"gpu", 2}});
  plan.addTensor("g", {64});
  uint32_t g = plan.whole(0);
  uint32_t reduce = plan.addOp(fb::Opcode::AllReduce, {g}, {g}, {1});
  plan.op(reduce).kind = fb::ReduceKind::Mean;
  plan.promise(0, {0, 1}, fb::ReduceKind::Mean);
  auto result = replayPlan(plan.load(), checkOptions());
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(
      result->check->failures,
      testing::Contains(HasSubstr("rank 2 has other bits than rank 0")));
}

/// A check that has looked at nothing has not passed.
TEST(ReplayTest, NothingToCheckIsNoGoodCheck) {
  PlanBuilder plan({{"gpu", 2}});
  auto result = replayPlan(plan.load(), checkOptions());
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_FALSE(result->check->passed);
  EXPECT_THAT(reportText(*plan.load(), checkOptions(), *result),
              HasSubstr("FAILED: 0 tensors"));
  EXPECT_THAT(result->check->failures,
              testing::ElementsAre(HasSubstr("nothing was checked")));
}

/// A dedicated server has a rate to fill, and no gradient.
TEST(ReplayTest, KnowsWhatDedicatedServersStore) {
  PlanBuilder plan({{"gpu", 2}});
  plan.plan.cluster->dedicated_servers = 1;
  plan.addTensor("g", {10});
  plan.addTensor("rate", {}, fb::Role::Input);
  auto loaded = plan.load();
  for (int64_t rank : {0, 1, 2}) {
    EXPECT_EQ(localElements(*loaded, 0, rank), rank < 2 ? 10 : 0);
    EXPECT_EQ(localElements(*loaded, 1, rank), 1);
  }
}

TEST(ReplayTest, NamesTheRankThatThrows) {
  ReplayOptions options = checkOptions();
  options.throwOnRank = 2;
  auto result = replayPlan(makeDdpPlan(4).load(), options);
  EXPECT_EQ(result.status().message(), "rank 2 threw: asked to throw");
}

/// An arena that nobody touches takes no memory, one that is checked does.
TEST(ReplayTest, ChecksNoMoreThanTheMachineHas) {
  PlanBuilder plan = makeDdpPlan(2);
  plan.plan.arenas[0]->bytes = int64_t{1} << 44;
  EXPECT_THAT(
      std::string(replayPlan(plan.load(), checkOptions()).status().message()),
      AllOf(HasSubstr("no memory for arena '"),
            HasSubstr("' of 17592186044416 bytes: the machine has ")));
}

/// So much that no busy machine makes up for it: 2.6 times as long in the mean,
/// and each step is the slowest rank's.
TEST(ReplayTest, JitterChangesWhatComputeTakes) {
  ReplayOptions options;
  options.steps = 20;
  options.timeScale = 5;
  options.jitter = 5;
  auto result = replayPlan(makeDdpPlan(4).load(), options);
  ASSERT_TRUE(result.ok()) << result.status();
  const double computeNs = options.timeScale * 700000;
  EXPECT_GT(std::accumulate(result->stepNs.begin(), result->stepNs.end(), 0.0),
            2 * computeNs * static_cast<double>(options.steps));
}

/// The program leaves out a tensor that an instruction needs.
TEST(ReplayTest, ReportsATensorThatIsNeverGiven) {
  PlanBuilder plan = makeDdpPlan(3);
  plan.step().program[1]->gives.clear();
  plan.step().program[3]->waits.clear();
  auto result = replayPlan(plan.load(), checkOptions());
  EXPECT_THAT(std::string(result.status().message()),
              HasSubstr("step 0 ended without tensor 'l2.weight.grad', which "
                        "instruction 1 'Concat1'"));
}

//===----------------------------------------------------------------------===//
// The values themselves
//===----------------------------------------------------------------------===//

TEST(CheckValuesTest, DependOnEverything) {
  uint64_t key = valueKey("t", 0, 0);
  EXPECT_NE(key, valueKey("u", 0, 0));
  EXPECT_NE(key, valueKey("t", 1, 0));
  EXPECT_NE(key, valueKey("t", 0, 1));
  std::vector<uint32_t> values(1 << 16);
  generateValues(DataType::Float32, key, 0, values.size(),
                 reinterpret_cast<std::byte *>(values.data()));
  std::sort(values.begin(), values.end());
  auto distinct = std::unique(values.begin(), values.end()) - values.begin();
  EXPECT_GT(distinct, 65000);
}

TEST(CheckValuesTest, ArePiecewiseTheSame) {
  for (int type = 0; type < kDataTypeCount; ++type) {
    auto element = static_cast<DataType>(type);
    int64_t bytes = dataTypeBytes(element);
    std::vector<std::byte> whole(10000 * bytes), piece(3000 * bytes);
    generateValues(element, 5, 0, 10000, whole.data());
    generateValues(element, 5, 3333, 3000, piece.data());
    EXPECT_EQ(
        std::memcmp(whole.data() + 3333 * bytes, piece.data(), piece.size()),
        0);
  }
}

/// The two oracles agree: this one of the tool, and the one of the
/// communicators' tests.
TEST(CheckValuesTest, ReduceAsTheReferenceDoes) {
  std::vector<uint64_t> keys = {1, 2, 3, 4, 5, 6, 7};
  for (int t = 0; t < kDataTypeCount; ++t)
    for (int k = 0; k < kReduceKindCount; ++k) {
      auto type = static_cast<DataType>(t);
      auto kind = static_cast<ReduceKind>(k);
      if (kind == ReduceKind::Mean && runtime::isInteger(type))
        continue;
      std::vector<runtime::Bytes> terms;
      for (uint64_t key : keys) {
        terms.emplace_back(5000 * dataTypeBytes(type));
        generateValues(type, key, 0, 5000, terms.back().data());
      }
      runtime::Bytes found(terms[0].size());
      expectReduced(type, kind, keys, 0, 5000, found.data());
      EXPECT_EQ(found, runtime::referenceReduce(type, kind, terms))
          << dataTypeName(type) << " " << reduceKindName(kind);
    }
}

TEST(CheckValuesTest, DigestSeesEveryBit) {
  std::vector<std::byte> bytes(101, std::byte{7});
  uint64_t before = digest(bytes.data(), bytes.size());
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    bytes[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    ASSERT_NE(digest(bytes.data(), bytes.size()), before);
    bytes[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
  }
}

} // namespace
} // namespace bagua::replay
