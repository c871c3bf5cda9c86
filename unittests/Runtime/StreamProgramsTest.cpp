//===- StreamProgramsTest.cpp - What each stream waits for ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plans whose instructions have nothing to do on a rank, whose waits others
// have to take over.
//
//===----------------------------------------------------------------------===//
#include "Session/StreamPrograms.h"
#include "PlanBuilder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace bagua::runtime::test {
namespace {

using fb::Opcode;

TEST(StreamProgramsTest, LeavesOutWhatHasNothingToDo) {
  auto plan = makeDdpPlan(4).load();
  StreamPrograms schedule = makeStreamPrograms(
      *plan, 0, {true, false, true, false}, {true, true, true});
  ASSERT_EQ(schedule.streams[0].size(), 2u);
  // What the concat waited for is now the second reduction's to wait for, in
  // the program's order.
  EXPECT_EQ(schedule.streams[0][1].instruction, 2u);
  EXPECT_EQ(schedule.streams[0][1].waits.ready, (std::vector<uint32_t>{1, 2}));
  // And what came after the split comes after the second reduction.
  ASSERT_EQ(schedule.users[2].size(), 1u);
  EXPECT_EQ(schedule.users[2][0].count, 2u);
  EXPECT_EQ(schedule.firstWaiter[1], 1);
}

TEST(StreamProgramsTest, PassesWaitsOnAcrossStreams) {
  PlanBuilder plan({{"gpu", 1}});
  plan.addStream("b");
  plan.addTensor("x", {4});
  uint32_t x = plan.whole(0);
  plan.addOp(Opcode::Linear, {x}, {x});
  plan.op(plan.addOp(Opcode::Concat, {x}, {x}, {}, 1)).after = {0};
  plan.op(plan.addOp(Opcode::Linear, {x}, {x})).after = {1};
  plan.op(plan.addOp(Opcode::Linear, {x}, {x}, {}, 1)).after_previous = {1};
  for (uint32_t op : {0, 2, 3})
    plan.op(op).constants = {1.0f};
  auto loaded = plan.load();
  StreamPrograms schedule =
      makeStreamPrograms(*loaded, 0, {true, false, true, true}, {true});
  ASSERT_EQ(schedule.streams[0].size(), 2u);
  EXPECT_TRUE(schedule.streams[0][1].waits.after.empty()); // its own stream
  const Conditions &waits = schedule.streams[1][0].waits;
  ASSERT_EQ(waits.after.size(), 1u);
  EXPECT_EQ(waits.after[0].stream, 0u);
  EXPECT_EQ(waits.after[0].count, 1u);
  ASSERT_EQ(waits.afterPrevious.size(), 1u);
  EXPECT_EQ(waits.afterPrevious[0].count, 1u);
  EXPECT_EQ(waits.readyPrevious, std::vector<uint32_t>{0});
}

/// A collective carries what was given before it, whichever instruction waits
/// for that, and each tensor once on a stream; a rank that takes no part in the
/// first one carries the same with the second.
TEST(StreamProgramsTest, CollectivesCarryWhatWasGivenBefore) {
  PlanBuilder builder = makeDdpPlan(4);
  builder.op(1).stream = builder.addStream("copies");
  builder.op(1).after = {0};
  builder.op(2).after = {1};
  auto plan = builder.load();
  StreamPrograms all = makeStreamPrograms(*plan, 0, {true, true, true, true},
                                          {true, true, true});
  ASSERT_EQ(all.streams[0].size(), 3u);
  EXPECT_EQ(all.streams[0][0].carries, std::vector<uint32_t>{0});
  EXPECT_THAT(all.streams[0][1].carries, testing::UnorderedElementsAre(1, 2));
  EXPECT_TRUE(all.streams[0][2].carries.empty()); // a split
  StreamPrograms some = makeStreamPrograms(*plan, 0, {false, false, true, true},
                                           {true, true, true});
  EXPECT_THAT(some.streams[0][0].carries,
              testing::UnorderedElementsAre(0, 1, 2));
}

/// One stream waits for a long list, hands it on through instructions that have
/// nothing to do, and the others wait for those. Every list that passes on is
/// walked once a stream; copying them would take gigabytes.
TEST(StreamProgramsTest, LongListsPassOnInLinearTime) {
  constexpr uint32_t kTensors = 20000, kInstructions = 20000;
  PlanBuilder plan({{"gpu", 1}});
  plan.addStream("b");
  for (uint32_t i = 0; i < kTensors; ++i) {
    plan.addTensor("t" + std::to_string(i), {1});
  }
  uint32_t x = plan.whole(0);
  for (uint32_t i = 0; i < kInstructions; ++i) {
    uint32_t op = plan.addOp(Opcode::After, {}, {}, {}, i % 2);
    plan.op(op).ready = {i % kTensors};
    if (i > 0)
      plan.op(op).after = {i - 1};
  }
  for (uint32_t stream : {0, 1}) {
    uint32_t op = plan.addOp(Opcode::Linear, {x}, {x}, {}, stream);
    plan.op(op).constants = {1.0f};
    if (stream == 1)
      plan.op(op).after_previous = {kInstructions - 1};
  }
  auto loaded = plan.load();
  std::vector<bool> hasWork(kInstructions + 2, false);
  hasWork[kInstructions] = hasWork[kInstructions + 1] = true;
  StreamPrograms schedule = makeStreamPrograms(
      *loaded, 0, hasWork, std::vector<bool>(kTensors, true));
  for (uint32_t stream : {0, 1}) {
    ASSERT_EQ(schedule.streams[stream].size(), 1u);
    // The last list is stream 1's, and comes after stream 0's last one.
    EXPECT_EQ(schedule.streams[stream][0].waits.ready.size(),
              kTensors - 1 + stream);
  }
  EXPECT_EQ(schedule.streams[1][0].waits.readyPrevious.size(), kTensors);
}

/// Once a stream has waited for a tensor, later instructions need not.
TEST(StreamProgramsTest, AStreamWaitsForATensorOnce) {
  PlanBuilder plan({{"gpu", 1}});
  plan.addStream("b");
  plan.addTensor("x", {4});
  plan.addTensor("y", {4});
  plan.addOp(Opcode::After, {}, {});
  plan.op(0).ready = {0, 1};
  uint32_t y = plan.whole(1);
  for (uint32_t stream : {1, 1, 0}) {
    uint32_t op = plan.addOp(Opcode::Linear, {y}, {y}, {}, stream);
    plan.op(op).constants = {1.0f};
    plan.op(op).ready = {};
    if (stream == 1)
      plan.op(op).after = {0};
  }
  auto loaded = plan.load();
  StreamPrograms schedule =
      makeStreamPrograms(*loaded, 0, {false, true, true, true}, {true, true});
  EXPECT_EQ(schedule.streams[1][0].waits.ready, (std::vector<uint32_t>{0, 1}));
  EXPECT_TRUE(schedule.streams[1][1].waits.ready.empty());
  EXPECT_EQ(schedule.streams[0][0].waits.ready, (std::vector<uint32_t>{0, 1}));
}

} // namespace
} // namespace bagua::runtime::test
