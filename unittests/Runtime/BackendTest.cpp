//===- BackendTest.cpp - Which backends a run has -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows are found by name, say which groups they reach, and the host's stand
// behind World::control.
//
//===----------------------------------------------------------------------===//
#include "CommunicatorBackends.h"

#include "bagua/Runtime/Backend.h"

#include "gmock/gmock.h"

namespace bagua::runtime {
namespace {

TEST(BackendTest, ThreadsHaveTheRowInProcess) {
  Worlds worlds = createInProcessWorlds(2);
  ASSERT_NE(worlds[0]->backend("in-process"), nullptr);
  EXPECT_EQ(worlds[0]->backend("in-process")->name(), "in-process");
  EXPECT_TRUE(worlds[0]->backend("in-process")->reaches({0, 1}));
  EXPECT_FALSE(worlds[0]->backend("in-process")->reaches({0, 2}));
  EXPECT_EQ(worlds[0]->backend("gloo"), nullptr);
  EXPECT_EQ(worlds[0]->backend("shared-memory"), nullptr);
  EXPECT_EQ(worlds[0]->backend(""), nullptr);
}

TEST(BackendTest, ProcessesHaveRowsWithinAndBetweenHosts) {
  Worlds worlds = createTwoHostWorlds(4, kLongTime); // ranks 0, 2 and 1, 3
  EXPECT_EQ(worlds[0]->backend("in-process"), nullptr);
  Backend *within = worlds[0]->backend("shared-memory");
  Backend *between = worlds[0]->backend("gloo");
  ASSERT_NE(within, nullptr);
  ASSERT_NE(between, nullptr);
  EXPECT_TRUE(within->reaches({0, 2}));
  EXPECT_FALSE(within->reaches({0, 1}));
  EXPECT_FALSE(between->reaches({0, 2}));
  EXPECT_TRUE(between->reaches({0, 1, 2}));
  EXPECT_TRUE(worlds[0]->control().reaches({0, 2}));
  EXPECT_TRUE(worlds[0]->control().reaches({0, 1, 2, 3}));
  // What one of them doesn't promise, both don't.
  EXPECT_TRUE(within->traits().failsAsOne);
  EXPECT_FALSE(worlds[0]->control().traits().failsAsOne);
  EXPECT_TRUE(worlds[0]->control().traits().sumsInMemberOrder);
}

TEST(BackendTest, AGroupThatIsNotReachedIsAnError) {
  Worlds worlds = createTwoHostWorlds(2, kLongTime);
  absl::Status status =
      worlds[0]
          ->backend("shared-memory")
          ->createCommunicator({{0, 1}, "grads"}, {kLongTime, {}, {}})
          .status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(),
            "communicator 'grads': expected ranks that backend "
            "'shared-memory' reaches from rank 0, got [0, 1]");
  EXPECT_TRUE(worlds[0]->status().ok());
}

// On one host no group goes over connections, so their weaker promises don't
// count.
TEST(BackendTest, ControlPromisesWhatTheRowsThatItUsesPromise) {
  Worlds worlds = createProcessWorlds(2, kLongTime);
  EXPECT_TRUE(worlds[0]->control().traits().failsAsOne);
}

} // namespace
} // namespace bagua::runtime
