//===- PlanVerifierTest.cpp - Plans that mean nothing ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each error of the verifiers once.
//
//===----------------------------------------------------------------------===//
#include "PlanBuilder.h"

#include "PlanBytes.h"

#include "bagua/Support/UpdateRules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

namespace bagua::runtime::test {
namespace {

using fb::Opcode;
using ::testing::HasSubstr;

TEST(PlanVerifierTest, AcceptsOneOfEverything) {
  EXPECT_NE(makeManyOps().load(), nullptr);
}

/// A tensor of 4x6 scattered along its second dimension over three ranks, the
/// pieces gathered along the first, and what each has sent on.
PlanBuilder makePiecesPlan() {
  PlanBuilder plan({{"node", 2}, {"gpu", 3}});
  plan.addTensor("x", {4, 6});
  plan.addResult("piece", {4, 2});
  plan.addResult("rows", {12, 2});
  plan.addResult("next", {12, 2});
  plan.addOp(Opcode::ReduceScatter, {plan.whole(0)}, {plan.whole(1)}, {1});
  plan.op(0).shape = {4, 6};
  plan.op(0).split_dim = 1;
  plan.addOp(Opcode::AllGather, {plan.whole(1)}, {plan.whole(2)}, {1});
  plan.op(1).shape = {12, 2};
  plan.addOp(Opcode::Permute, {plan.whole(2)}, {plan.whole(3)}, {0, 1});
  plan.op(2).pairs = {0, 5, 5, 0};
  plan.promise(1, {1}, fb::ReduceKind::Sum, 0);
  plan.step().contract[0]->relation = fb::RelationKind::Scattered;
  plan.step().contract[0]->split_dim = 1;
  return plan;
}

/// What is wrong with it once something was changed; empty if nothing.
std::string refusalOfPieces(const std::function<void(PlanBuilder &)> &change) {
  PlanBuilder plan = makePiecesPlan();
  change(plan);
  return loadError(plan.bytes());
}

TEST(PlanVerifierTest, Pieces) {
  using P = PlanBuilder;
  EXPECT_NE(makePiecesPlan().load(), nullptr);
  EXPECT_THAT(refusalOfPieces([](P &p) { p.op(0).split_dim = 0; }),
              HasSubstr("expected dimension 0 divisible by 3, found 4"));
  EXPECT_THAT(refusalOfPieces([](P &p) { p.op(0).split_dim = 2; }),
              HasSubstr("expected a shape of at most 32 dimensions"));
  EXPECT_THAT(refusalOfPieces([](P &p) { p.op(0).shape = {4, 3}; }),
              HasSubstr("expected a shape of 24 elements, found 12"));
  EXPECT_THAT(refusalOfPieces([](P &p) { p.op(1).axes = {0}; }),
              HasSubstr("found 24 and 8 elements in a group of 2"));
  EXPECT_THAT(refusalOfPieces([](P &p) { p.op(0).shape = {}; }),
              HasSubstr("in layout [shard [1]]"));
}

TEST(PlanVerifierTest, Permute) {
  using P = PlanBuilder;
  EXPECT_THAT(refusalOfPieces([](P &p) { p.op(2).pairs = {0, 6}; }),
              HasSubstr("expected places in a group below 6, found 6"));
  EXPECT_THAT(refusalOfPieces([](P &p) { p.op(2).pairs = {0, 1, 2}; }),
              HasSubstr("expected places in pairs, found 3"));
  EXPECT_THAT(refusalOfPieces([](P &p) { p.op(2).pairs = {0, 1, 0, 2}; }),
              HasSubstr("expected places that send once, found 0 twice"));
  EXPECT_THAT(refusalOfPieces([](P &p) { p.op(2).pairs = {0, 1, 2, 1}; }),
              HasSubstr("that get something once, found 1 twice"));
  EXPECT_THAT(refusalOfPieces([](P &p) { p.op(2).inputs = {0}; }),
              HasSubstr("one element type, count and layout"));
  EXPECT_THAT(refusalOfPieces([](P &p) { p.op(2).outputs = p.op(2).inputs; }),
              HasSubstr("an output overlaps an input"));
}

TEST(PlanVerifierTest, RelationsOfPieces) {
  using P = PlanBuilder;
  EXPECT_THAT(
      refusalOfPieces([](P &p) { p.step().contract[0]->split_dim = 0; }),
      HasSubstr("expected dimensions of the tensor, the first divisible"));
  EXPECT_THAT(refusalOfPieces([](P &p) {
                p.step().contract[0]->relation = fb::RelationKind::Gathered;
              }),
              HasSubstr("in the shape that the relation makes"));
  EXPECT_THAT(
      refusalOfPieces([](P &p) { p.step().contract[0]->pairs = {0, 1}; }),
      HasSubstr("expected places in a group below 0, found 0"));
}

/// Products that 64 bits don't hold are not the numbers that are left of them.
TEST(PlanVerifierTest, PiecesBeyond64Bits) {
  PlanBuilder wide({{"gpu", 1 << 20}});
  wide.addArena("pool", int64_t{1} << 46);
  wide.addTensor("whole", {0, 8});
  wide.addOp(Opcode::ReduceScatter, {wide.whole(0)},
             {wide.inArena(0, 0, int64_t{1} << 44)}, {0});
  wide.op(0).shape = {0, 8};
  EXPECT_THAT(loadError(wide.bytes()),
              HasSubstr("found 0 and 17592186044416 elements in a group of "
                        "1048576"));
  PlanBuilder tall({{"gpu", 4}});
  tall.addTensor("piece", {0, int64_t{1} << 62});
  tall.addResult("gathered", {0, 0});
  tall.promise(1, {0}, fb::ReduceKind::Sum, 0);
  tall.step().contract[0]->relation = fb::RelationKind::Gathered;
  tall.step().contract[0]->concat_dim = 1;
  EXPECT_THAT(loadError(tall.bytes()),
              HasSubstr("expected dimension 1 of a size that can be counted on "
                        "4 ranks"));
}

struct BrokenPlan {
  const char *name;
  std::function<void(PlanBuilder &)> breakIt;
  const char *message;
};

class PlanVerifierErrorTest : public testing::TestWithParam<BrokenPlan> {};

TEST_P(PlanVerifierErrorTest, IsRefused) {
  PlanBuilder plan = makeManyOps();
  GetParam().breakIt(plan);
  EXPECT_THAT(loadError(plan.bytes()), HasSubstr(GetParam().message));
}

using P = PlanBuilder;

const BrokenPlan kBrokenStorage[] = {
    {"NoAxisSize", [](P &p) { p.plan.cluster->axes[0]->size = 0; },
     "cluster axis 'node' of size 0"},
    {"HugeAxis", [](P &p) { p.plan.cluster->axes[0]->size = int64_t{1} << 62; },
     "at most 1048576 ranks"},
    {"AxisNamedTwice", [](P &p) { p.plan.cluster->axes[0]->name = "gpu"; },
     "the name 'gpu' is used twice"},
    {"NegativeServers", [](P &p) { p.plan.cluster->dedicated_servers = -1; },
     "dedicated servers, found -1"},
    {"TooManyRanks",
     [](P &p) { p.plan.cluster->dedicated_servers = (int64_t{1} << 20) - 3; },
     "expected 0 to 1048572 dedicated servers, found 1048573"},
    {"ServerAxisOutOfRange", [](P &p) { p.plan.cluster->server_axes = {5}; },
     "expected axes below 2, found 5"},
    {"HugeArena", [](P &p) { p.plan.arenas[0]->bytes = int64_t{1} << 60; },
     "arena 'pool' of 1152921504606846976 bytes"},
    {"NegativeArena", [](P &p) { p.plan.arenas[0]->bytes = -4; },
     "arena 'pool' of -4 bytes"},
    {"StreamNamedTwice", [](P &p) { p.plan.streams[1] = "comm"; },
     "the name 'comm' is used twice"},
    {"TensorNamedTwice", [](P &p) { p.tensor(1).name = "g"; },
     "the name 'g' is used twice"},
    {"TensorWithoutName", [](P &p) { p.tensor(1).name = ""; },
     "expected a name"},
    {"NegativeShape", [](P &p) { p.tensor(0).shape = {-1}; },
     "dimension 0 of size -1"},
    {"ShapeOverflow",
     [](P &p) { p.tensor(0).shape = {1 << 30, 1 << 30, 1 << 30}; },
     "makes the tensor too large"},
    {"TensorBeyondArena", [](P &p) { p.tensor(3).offset = 65200; },
     "expected bytes inside arena 'pool'"},
    {"TensorMisaligned", [](P &p) { p.tensor(3).offset = 2; },
     "not a multiple of the element size 4"},
    {"TensorArenaOutOfRange", [](P &p) { p.tensor(3).arena = 1; },
     "expected an arena below 1, found 1"},
    {"OffsetWithoutArena", [](P &p) { p.tensor(0).offset = 4; },
     "expected an arena and an offset or neither"},
    {"OptionalButNotGiven", [](P &p) { p.tensor(4).optional = true; },
     "optional, but not given"},
    {"UnknownType",
     [](P &p) { p.value(0).type = static_cast<fb::DataType>(9); },
     "element type of at most 6, found 9"},
    {"UnknownRole", [](P &p) { p.tensor(0).role = static_cast<fb::Role>(99); },
     "role of at most 8, found 99"},
    {"ValueNowhere", [](P &p) { p.value(0).tensor = -1; },
     "expected a tensor or an arena"},
    {"ValueTensorOutOfRange", [](P &p) { p.value(0).tensor = 5; },
     "expected a tensor below 5, found 5"},
    {"ValueOfTensorInArena", [](P &p) { p.value(0).tensor = 3; },
     "lives in an arena: expected the arena"},
    {"ValueLargerThanTensor", [](P &p) { p.value(0).count = 49; },
     "expected elements inside tensor 0 of 192 bytes"},
    {"ValueTypeNotTheTensors",
     [](P &p) { p.value(0).type = fb::DataType::Int32; },
     "differs from tensor 0's"},
    {"ValueNegativeOffset", [](P &p) { p.value(0).offset = -4; },
     "expected elements inside tensor 0"},
    {"ValueBeyondArena", [](P &p) { p.value(5).offset = 1 << 16; },
     "expected bytes inside arena"},
    {"ValueNegativeCount", [](P &p) { p.value(5).count = -1; },
     "elements, found -1"},
    {"LayoutAxisTwice",
     [](P &p) { setLayout(p.value(6).layout, {shard({1}), shard({1})}); },
     "axis 1 is in two entries"},
    {"LayoutAxesDescending",
     [](P &p) { setLayout(p.value(6).layout, {shard({1, 0})}); },
     "expected ascending axes"},
    {"LayoutWithoutAxes",
     [](P &p) { setLayout(p.value(6).layout, {shard({})}); },
     "a shard or root entry has axes"},
    {"LayoutOnMissingServers",
     [](P &p) { setLayout(p.value(6).layout, {server()}); },
     "the cluster has 0 servers"},
    {"LayoutTooLong",
     [](P &p) {
       setLayout(p.value(6).layout,
                 {shard({0}), shard({1}), shard({0}), shard({1})});
     },
     "more than the cluster has axes"},
};

const BrokenPlan kBrokenInstructions[] = {
    {"StreamOutOfRange", [](P &p) { p.op(0).stream = 2; },
     "expected a stream below 2, found 2"},
    {"UnknownOpcode", [](P &p) { p.op(0).opcode = static_cast<Opcode>(77); },
     "opcode 77 is unknown"},
    {"InputOutOfRange", [](P &p) { p.op(0).inputs = {99}; },
     "expected inputs below"},
    {"ReadyOutOfRange", [](P &p) { p.op(0).ready = {5}; },
     "expected ready tensors below 5, found 5"},
    {"ReadyNotGiven", [](P &p) { p.op(0).ready = {4}; },
     "waits for tensor 'r', which the program doesn't give"},
    {"AfterItself", [](P &p) { p.op(1).after = {1}; },
     "'after' to name earlier instructions, below 1, found 1"},
    {"AfterOwnStream", [](P &p) { p.op(3).after = {0}; },
     "'after' names instruction 0 of the same stream"},
    {"AfterPreviousOutOfRange", [](P &p) { p.op(1).after_previous = {9}; },
     "'after_previous' to name instructions below 9, found 9"},
    {"NoAxes", [](P &p) { p.op(0).axes = {}; },
     "expected axes to communicate over"},
    {"AxesOnSgd", [](P &p) { p.op(1).axes = {0}; }, "expected no axes"},
    {"AxesDescending", [](P &p) { p.op(0).axes = {1, 0}; },
     "expected ascending axes"},
    {"AllReduceTwoInputs", [](P &p) { p.op(0).inputs = {0, 0}; },
     "expected 1 inputs and 1 outputs, found 2 and 1"},
    {"AllReduceOfOtherType", [](P &p) { p.op(0).outputs = {3}; },
     "expected values of one element type, count and layout"},
    {"MeanOfIntegers",
     [](P &p) {
       p.tensor(0).type = fb::DataType::Int32;
       p.value(0).type = fb::DataType::Int32;
       p.op(0).kind = fb::ReduceKind::Mean;
     },
     "a mean of integers is not defined"},
    {"AllReduceOverShardedAxis",
     [](P &p) { p.op(0).inputs = p.op(0).outputs = {6}; },
     "over which the value is stored in parts"},
    {"ReduceScatterWithoutShard",
     [](P &p) { setLayout(p.value(6).layout, {}); },
     "in layout [shard [1]], found 100 in layout "},
    {"AllGatherOverOtherAxis", [](P &p) { p.op(5).axes = {0}; },
     "in layout [shard [0]]"},
    {"AllToAllShape", [](P &p) { p.op(6).shape = {12, 5}; },
     "expected a shape of 48 elements, found 60"},
    {"AllToAllIndivisible", [](P &p) { p.op(6).shape = {6, 8}; },
     "expected dimension 0 divisible by 4, found 6"},
    {"AllToAllDimension", [](P &p) { p.op(6).split_dim = 2; },
     "expected a shape of at most 32 dimensions"},
    {"AllToAllInPlace", [](P &p) { p.op(6).outputs = {0}; },
     "an output overlaps an input"},
    {"ConcatCounts", [](P &p) { p.value(5).count = 147; },
     "expected element counts that add up to 147, found 148"},
    {"ConcatNothing", [](P &p) { p.op(2).inputs = {}; },
     "expected inputs and one output"},
    {"ConcatOverlap", [](P &p) { p.value(5).offset = 8; },
     "a tensor overlaps the bucket"},
    {"SplitTwice",
     [](P &p) {
       p.op(3).outputs = {0, 0, 0};
       p.value(5).count = 144;
       p.op(2).inputs = {0, 0, 0};
     },
     "two outputs overlap"},
    {"ReduceScatterOverlap", [](P &p) { p.value(6).offset = 4; },
     "an output overlaps an input"},
    {"LinearOfNothing", [](P &p) { p.op(7).inputs = {}; },
     "expected inputs and outputs, found none"},
    {"LinearCoefficients", [](P &p) { p.op(7).constants = {1.0f}; },
     "a coefficient for each"},
    {"LinearNotFinite", [](P &p) { p.op(7).constants = {1.0f, HUGE_VALF}; },
     "expected finite constants"},
    {"SgdWithoutMomentum", [](P &p) { p.op(1).constants = {}; },
     "expected momentum of sgd with 2 states, found 0 constants"},
    {"SgdWithoutRate", [](P &p) { p.op(1).has_learning_rate = false; },
     "expected 4 inputs and 2 outputs"},
    {"CastOfOtherCount", [](P &p) { p.value(7).count = 47; },
     "expected a change of element type alone"},
    {"NegativeCost", [](P &p) { p.op(0).cost_ns = -1; }, "cost of -1 ns"},
    {"CostsWithoutEnd",
     [](P &p) {
       for (uint32_t op : {1, 2})
         p.op(op).cost_ns = (int64_t{1} << 47) + 1;
     },
     "cost of 140737488355329 ns: expected 0 to 281474976710656 ns in all"},
    {"UserMissing", [](P &p) { p.users(0) = {0}; },
     "expected instruction 1, which touches it, among users"},
    {"UserOutOfRange", [](P &p) { p.users(0).push_back(9); },
     "expected users below 9, found 9"},
    {"ContractTensor", [](P &p) { p.step().contract[0]->of = 5; },
     "expected tensors below 5"},
    {"ContractAxes", [](P &p) { p.step().contract[0]->axes = {2}; },
     "expected axes below 2, found 2"},
    {"ContractShapes", [](P &p) { p.step().contract[0]->of = 3; },
     "expected tensors of one element type and count"},
    {"UpdateMissing", [](P &p) { p.step().contract[1]->update = nullptr; },
     "contract 1: expected an update by sgd, adam, lamb, lars"},
    {"UpdateByLinear",
     [](P &p) { p.step().contract[1]->update->opcode = Opcode::Linear; },
     "expected an update by sgd, adam, lamb, lars"},
    {"UpdateConstants",
     [](P &p) { p.step().contract[1]->update->opcode = Opcode::Adam; },
     "expected 3 states (param, first moment and second moment) of adam, "
     "found 2"},
    {"UpdateStates",
     [](P &p) { p.step().contract[1]->update->states.pop_back(); },
     "expected no constants of sgd with 1 state, found 1 constant"},
    {"UpdateOfAnother", [](P &p) { p.step().contract[1]->tensor = 2; },
     "expected states of which the first is the tensor"},
    {"UpdateStateOutOfRange",
     [](P &p) { p.step().contract[1]->update->states[1] = 5; },
     "expected tensors below 5, found 5"},
    {"UpdateCorrection",
     [](P &p) {
       p.step().contract[1]->update->bias_correction = fb::BiasCorrection(7);
     },
     "bias correction"},
    {"UpdateShapes", [](P &p) { p.step().contract[1]->of = 3; },
     "as many elements given whole"},
    {"UpdateRate",
     [](P &p) { p.step().contract[1]->update->learning_rate_tensor = 1; },
     "expected a learning rate that is an input of one floating-point"},
    {"UpdateRateOutOfRange",
     [](P &p) { p.step().contract[1]->update->learning_rate_tensor = 9; },
     "expected a learning rate that is an input of one floating-point"},
    {"UpdateOfAReduction",
     [](P &p) {
       p.step().contract[0]->update = std::move(p.step().contract[1]->update);
     },
     "found an update, which only Updated has"},
    {"PromisedTwice",
     [](P &p) { p.promise(2, {0, 1}, fb::ReduceKind::Sum, 0); },
     "contract 2: tensor 'm' is in the contract already"},
    {"UpdatedTwice", [](P &p) { p.step().contract[1]->update->states[1] = 1; },
     "contract 1: tensor 'w' is in the contract already"},
    {"ProgramGivesResult", [](P &p) { p.step().program[0]->gives = {4}; },
     "not given by the program"},
    {"ProgramWaitsOutOfRange", [](P &p) { p.step().program[0]->waits = {5}; },
     "expected tensors below 5, found 5"},
    {"LateOpGives", [](P &p) { p.step().program[0]->late = true; },
     "program op 0: is late and gives tensors, which are of its own step"},
    {"LateOpTakesAResult", [](P &p) { p.step().program[1]->late = true; },
     "program op 1: is late and waits for tensor 4, which is not given by the "
     "program"},
    {"ProgramCost", [](P &p) { p.step().program[0]->cost_ns = -5; },
     "cost of -5 ns"},
    {"SizeScale", [](P &p) { p.plan.size_scale = 0; },
     "expected a positive size_scale"},
    {"Prediction",
     [](P &p) {
       p.step().prediction = std::make_unique<fb::PredictionT>();
       p.step().prediction->exposed_ns = -1;
     },
     "prediction: expected exposed_ns to be at least 0, found -1"},
};

std::string nameOf(const testing::TestParamInfo<BrokenPlan> &info) {
  return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(Storage, PlanVerifierErrorTest,
                         testing::ValuesIn(kBrokenStorage), nameOf);
INSTANTIATE_TEST_SUITE_P(Instructions, PlanVerifierErrorTest,
                         testing::ValuesIn(kBrokenInstructions), nameOf);

TEST(PlanVerifierTest, ChecksServers) {
  EXPECT_NE(makeServerPlan().load(), nullptr);
  PlanBuilder plan = makeServerPlan();
  setLayout(plan.value(1).layout, {server(2)});
  EXPECT_THAT(loadError(plan.bytes()),
              HasSubstr("layout on server 2, the cluster has 2 servers"));
  plan = makeServerPlan();
  plan.op(0).axes = {0};
  EXPECT_THAT(loadError(plan.bytes()),
              HasSubstr("a value for each coordinate of axis 1"));
  plan = makeServerPlan();
  plan.op(0).outputs = {0};
  EXPECT_THAT(loadError(plan.bytes()),
              HasSubstr("one value on workers and one on servers"));
}

/// Dedicated servers store inputs and what lies on servers, no other tensor: an
/// instruction that would read another one there is refused.
TEST(PlanVerifierTest, ChecksWhatDedicatedServersStore) {
  // A gradient into an input, which servers store and would compute.
  PlanBuilder intoInput = makeServerPlan();
  uint32_t rate = intoInput.addTensor("lr", {10}, fb::Role::Input);
  uint32_t linear = intoInput.addOp(Opcode::Linear, {intoInput.whole(0)},
                                    {intoInput.whole(rate)});
  intoInput.op(linear).constants = {1.0f};
  EXPECT_THAT(
      loadError(intoInput.bytes()),
      HasSubstr("instruction 2 'Linear2': expected operands and results "
                "that dedicated servers store all or not at all"));
  // Without dedicated servers nothing is amiss.
  PlanBuilder alone({{"gpu", 2}});
  alone.addTensor("g", {10});
  alone.addTensor("lr", {10}, fb::Role::Input);
  linear = alone.addOp(Opcode::Linear, {alone.whole(0)}, {alone.whole(1)});
  alone.op(linear).constants = {1.0f};
  EXPECT_NE(alone.load(), nullptr);
  // The other way round, servers have nothing to do.
  PlanBuilder fromInput = makeServerPlan();
  rate = fromInput.addTensor("lr", {10}, fb::Role::Input);
  linear = fromInput.addOp(Opcode::Linear, {fromInput.whole(rate)},
                           {fromInput.whole(0)});
  fromInput.op(linear).constants = {1.0f};
  EXPECT_NE(fromInput.load(), nullptr);
}

/// The rate of an update on dedicated servers is an input, for they have no
/// other; one on co-located servers may be any tensor.
TEST(PlanVerifierTest, ChecksRatesOnServers) {
  auto makePlan = [](fb::Role role, int32_t onServer) {
    PlanBuilder plan({{"node", 2}, {"gpu", 2}});
    plan.plan.cluster->dedicated_servers = 1;
    plan.plan.cluster->has_colocated_servers = true;
    plan.addTensor("w", {10}, fb::Role::Param);
    plan.addTensor("g", {10});
    for (uint32_t tensor : {0, 1})
      setLayout(plan.tensor(tensor).layout, {server(onServer)});
    plan.addTensor("lr", {}, role);
    uint32_t w = plan.whole(0);
    plan.addOp(Opcode::Sgd, {w, plan.whole(1), plan.whole(2)}, {w});
    return plan;
  };
  PlanBuilder colocated = makePlan(fb::Role::Value, -1);
  colocated.plan.cluster->dedicated_servers = 0;
  EXPECT_NE(colocated.load(), nullptr);
  EXPECT_NE(makePlan(fb::Role::Input, -1).load(), nullptr);
  EXPECT_NE(makePlan(fb::Role::Value, 1).load(), nullptr);
  for (int32_t onServer : {-1, 0})
    EXPECT_THAT(loadError(makePlan(fb::Role::Value, onServer).bytes()),
                HasSubstr("expected a learning rate that is an input"));
}

/// To take a tensor back is to wait for all that use it, and for what these
/// wait for.
TEST(PlanVerifierTest, RefusesAProgramThatWaitsForItself) {
  PlanBuilder plan({{"gpu", 2}});
  for (const char *name : {"g", "h"})
    plan.addTensor(name, {10});
  for (uint32_t tensor : {1, 0}) {
    uint32_t value = plan.whole(tensor);
    plan.addOp(Opcode::AllReduce, {value}, {value}, {0});
  }
  plan.addProgramOp("l1", fb::ComputePhase::Backward, 0, {}, {0});
  plan.addProgramOp("l2", fb::ComputePhase::Backward, 0, {0}, {1});
  EXPECT_THAT(loadError(plan.bytes()),
              HasSubstr("program op 1 takes back tensor 'g', which instruction "
                        "1 uses only when the program has run op 1"));
  // A late op takes what the step before gave.
  plan.step().program[1]->waits = {};
  plan.addProgramOp("update", fb::ComputePhase::Update, 0, {0}, {});
  std::rotate(plan.step().program.begin(), plan.step().program.end() - 1,
              plan.step().program.end());
  plan.step().program[0]->late = true;
  EXPECT_NE(plan.load(), nullptr);
  // Behind the next gift it would take that.
  std::swap(plan.step().program[0], plan.step().program[1]);
  EXPECT_THAT(loadError(plan.bytes()),
              HasSubstr("program op 1 is late and takes back tensor 'g' of the "
                        "step before, which op 0 has given anew"));
  plan.step().program.erase(plan.step().program.begin() + 1);
  plan.step().program[1]->waits = {0};
  // On streams of their own neither waits for the other.
  plan.op(0).stream = plan.addStream("other");
  EXPECT_NE(plan.load(), nullptr);
  // What is given later in the step is waited for as the step before left it.
  plan.op(0).stream = 0;
  plan.step().program[0]->gives = {};
  plan.step().program[1]->gives = {0, 1};
  EXPECT_NE(plan.load(), nullptr);
}

/// The bias correction counts the updates of all moments alike.
TEST(PlanVerifierTest, RefusesMomentsInCommonInPart) {
  using Corrections = std::vector<fb::BiasCorrection>;
  const auto none = fb::BiasCorrection::None,
             moments = fb::BiasCorrection::Moments;
  // Adam by m (2) or n (4) and v (3), in a step each.
  auto makePlan = [](const std::vector<uint32_t> &first,
                     const Corrections &corrections) {
    PlanBuilder plan({{"gpu", 2}});
    plan.addTensor("w", {10}, fb::Role::Param);
    plan.addTensor("g", {10});
    for (const char *name : {"m", "v", "n"})
      plan.addTensor(name, {10}, fb::Role::Optimizer);
    for (size_t i = 0; i < first.size(); ++i) {
      fb::PhaseT until;
      until.until = static_cast<int64_t>(i);
      if (i > 0)
        plan.addStep("until " + std::to_string(i), until);
      uint32_t w = plan.whole(0), m = plan.whole(first[i]), v = plan.whole(3);
      plan.addOp(Opcode::Adam, {w, m, v, plan.whole(1)}, {w, m, v});
      plan.op(0).constants = {0.9f, 0.99f, 1e-8f, 0.0f};
      plan.op(0).bias_correction = corrections[i];
      plan.op(0).has_learning_rate = true;
    }
    return plan;
  };
  EXPECT_NE(makePlan({2, 2}, {moments, moments}).load(), nullptr);
  EXPECT_NE(makePlan({2, 4}, {none, none}).load(), nullptr);
  EXPECT_THAT(loadError(makePlan({2, 4}, {moments, moments}).bytes()),
              HasSubstr("'Adam0' of step 'until 1' keeps 'v', 'n', and 'Adam0' "
                        "of step 'test' keeps 'm', 'v': expected updates with "
                        "a bias correction to have the same moments or none "
                        "in common, since it counts their updates"));
  // Whichever comes first.
  const std::pair<std::vector<uint32_t>, Corrections> wrong[] = {
      {{2, 2, 4}, {none, moments, none}},
      {{2, 4, 2}, {none, none, moments}},
      {{4, 2, 2}, {none, none, moments}}};
  for (const auto &[first, corrections] : wrong)
    EXPECT_THAT(loadError(makePlan(first, corrections).bytes()),
                HasSubstr("the same moments or none in common"));
}

/// Keras keeps the learning rate beside the moments.
TEST(PlanVerifierTest, ARateThatIsAStateIsNoMoment) {
  PlanBuilder plan({{"gpu", 2}});
  plan.addTensor("w", {10}, fb::Role::Param);
  plan.addTensor("g", {10}, fb::Role::Gradient);
  for (const char *name : {"m", "v", "n", "o"})
    plan.addTensor(name, {10}, fb::Role::Optimizer);
  plan.addTensor("u", {10}, fb::Role::Param);
  plan.addTensor("rate", {}, fb::Role::Optimizer);
  for (const std::array<uint32_t, 3> &states :
       {std::array<uint32_t, 3>{0, 2, 3}, {6, 4, 5}}) {
    std::vector<uint32_t> places;
    for (uint32_t state : states)
      places.push_back(plan.whole(state));
    std::vector<uint32_t> inputs = places;
    inputs.push_back(plan.whole(1));
    inputs.push_back(plan.whole(7));
    uint32_t op = plan.addOp(Opcode::Adam, inputs, places);
    plan.op(op).constants = {0.9f, 0.99f, 1e-8f, 0.0f};
    plan.op(op).bias_correction = fb::BiasCorrection::Moments;
  }
  EXPECT_NE(plan.load(), nullptr) << loadError(plan.bytes());
}

/// The program reads a state in all of its ops up to the last one, so nothing
/// may write it before that op gives something.
TEST(PlanVerifierTest, RefusesAWriteBesideAReader) {
  PlanBuilder plan({{"gpu", 2}});
  plan.addTensor("g", {10});
  plan.addTensor("h", {10});
  plan.addTensor("w", {10}, fb::Role::Param);
  plan.tensor(2).given_by_program = false;
  uint32_t g = plan.whole(0), h = plan.whole(1), w = plan.whole(2);
  plan.addOp(Opcode::AllReduce, {g}, {g}, {0});
  uint32_t sgd = plan.addOp(Opcode::Sgd, {w, g}, {w});
  plan.op(sgd).has_learning_rate = true;
  plan.addOp(Opcode::AllReduce, {h}, {h}, {0});
  plan.addProgramOp("l1", fb::ComputePhase::Backward, 0, {2}, {0});
  plan.addProgramOp("l2", fb::ComputePhase::Backward, 0, {}, {1});
  EXPECT_NE(plan.load(), nullptr);
  plan.step().program[1]->waits = {2};
  EXPECT_THAT(loadError(plan.bytes()),
              HasSubstr("instruction 1 writes tensor 'w', which program op 1 "
                        "reads: expected it to wait for a tensor that op 1 or "
                        "a later one gives, found that it may run before"));
  // An op of the last iteration has read by then what it reads.
  plan.step().program[1]->late = true;
  plan.step().program[1]->waits = {0};
  plan.step().program[1]->gives = {};
  std::swap(plan.step().program[0], plan.step().program[1]);
  EXPECT_NE(plan.load(), nullptr);
  std::swap(plan.step().program[0], plan.step().program[1]);
  plan.step().program[1]->late = false;
  plan.step().program[1]->waits = {2};
  plan.step().program[1]->gives = {1};
  // To wait for the second gift on another stream will do.
  std::swap(plan.step().instructions[1], plan.step().instructions[2]);
  std::swap(plan.users(0), plan.users(1));
  plan.users(0) = {0, 2};
  plan.users(1) = {1};
  plan.users(2) = {2};
  EXPECT_NE(plan.load(), nullptr);
  // So does nothing that runs at once.
  plan.op(0).ready = plan.op(1).ready = {};
  EXPECT_THAT(loadError(plan.bytes()), HasSubstr("instruction 2 writes"));
}

/// LARS by norms of a param and of a direction: instructions 0 to 3.
PlanBuilder makeNormsPlan() {
  PlanBuilder plan({{"gpu", 2}});
  uint32_t w = plan.addTensor("w", {10}, fb::Role::Param);
  uint32_t m = plan.addTensor("m", {10}, fb::Role::Optimizer);
  uint32_t g = plan.whole(plan.addTensor("g", {10}));
  uint32_t d = plan.whole(plan.addResult("d", {10}));
  PlanBuilder::Numbers norms = {plan.whole(plan.addResult("a", {})),
                                plan.whole(plan.addResult("b", {}))};
  PlanBuilder::Numbers states = {plan.whole(w), plan.whole(m)};
  plan.addOp(Opcode::SquaredNorm, {states[0]}, {norms[0]});
  uint32_t direction =
      plan.addOp(Opcode::Direction, {states[0], states[1], g}, {d});
  plan.addOp(Opcode::SquaredNorm, {d}, {norms[1]});
  uint32_t update = plan.addOp(
      Opcode::Update, {states[0], states[1], g, norms[0], norms[1]}, states);
  for (uint32_t op : {direction, update}) {
    plan.op(op).rule = static_cast<uint8_t>(UpdateRule::Lars);
    plan.op(op).constants = {0.9f, 0, 0.001f, 0};
  }
  plan.op(update).has_learning_rate = true;
  plan.op(update).learning_rate = 0.1f;
  return plan;
}

TEST(PlanVerifierTest, ChecksNorms) {
  EXPECT_NE(makeNormsPlan().load(), nullptr);
  struct {
    void (*damage)(PlanBuilder &plan);
    const char *message;
  } const kCases[] = {
      {[](PlanBuilder &p) { p.op(3).rule = 0; },
       "expected the rule of an update without an opcode of its own, found 0"},
      {[](PlanBuilder &p) { p.op(1).rule = 77; },
       "expected the rule of an update without an opcode of its own, found 77"},
      {[](PlanBuilder &p) { p.op(3).inputs.pop_back(); },
       "expected 5 inputs and 2 outputs, found 4 and 2"},
      {[](PlanBuilder &p) { p.op(3).constants.pop_back(); },
       "expected momentum, decay, trust_coefficient and eps of lars"},
      {[](PlanBuilder &p) { p.op(3).inputs[3] = p.op(3).inputs[2]; },
       "expected squared norms of one float32 element"},
      {[](PlanBuilder &p) { p.op(0).outputs = {p.op(1).outputs[0]}; },
       "expected a norm of one float32 element"},
      {[](PlanBuilder &p) { p.op(1).outputs = {p.op(0).outputs[0]}; },
       "expected values of one element type, count and layout"},
  };
  for (const auto &wrong : kCases) {
    PlanBuilder plan = makeNormsPlan();
    wrong.damage(plan);
    EXPECT_THAT(loadError(plan.bytes()), HasSubstr(wrong.message));
  }
}

TEST(PlanVerifierTest, RefusesShiftOneOfOddGroups) {
  PlanBuilder plan({{"gpu", 3}});
  plan.addTensor("w", {4});
  plan.addResult("p", {4});
  uint32_t op =
      plan.addOp(Opcode::Exchange, {plan.whole(0)}, {plan.whole(1)}, {0});
  plan.op(op).pattern = fb::ExchangePattern::ShiftOne;
  EXPECT_THAT(loadError(plan.bytes()),
              HasSubstr("even size for shift_one, found 3"));
}

} // namespace
} // namespace bagua::runtime::test
