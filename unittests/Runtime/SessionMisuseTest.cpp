//===- SessionMisuseTest.cpp - Calls that no program may make -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each ends the run on all ranks, by a message that names the call and the
// tensor.
//
//===----------------------------------------------------------------------===//
#include "PlanBuilder.h"
#include "SessionHarness.h"

#include "bagua/Runtime/ErrorPlace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace bagua::runtime::test {
namespace {

using fb::Opcode;
using ::testing::HasSubstr;

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
TEST(SessionOwnershipTest, ManyTensorsThatAreNotGiven) {
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
TEST(SessionOwnershipTest, GivenWhileTheRuntimeUsesIt) {
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

} // namespace
} // namespace bagua::runtime::test
