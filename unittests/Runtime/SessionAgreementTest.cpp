//===- SessionAgreementTest.cpp - What ranks must have alike in a step ----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A rank is made to differ from the others in one fact: every rank gets the
// error, which names the fact and two ranks, and no result is written.
//
//===----------------------------------------------------------------------===//
#include "PlanBuilder.h"
#include "SessionHarness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

#include <array>
#include <atomic>

namespace bagua::runtime::test {
namespace {

using testing::HasSubstr;

std::string meaningOf(uint64_t layout) {
  return absl::StrCat("strides [", layout, "]");
}

/// Steps in which all state the same, the numbers changing from step to step.
TEST(SessionAgreementTest, FactsThatAreAlikeChangeNothing) {
  auto body = [](RankContext &rank) -> absl::Status {
    for (uint64_t step = 0; step < 5; ++step) {
      rank.session->agreeOn("the forward", step);
      for (uint32_t tensor = 0; tensor < 3; ++tensor)
        BAGUA_RETURN_IF_ERROR(rank.session->agreeOn(
            TensorId(tensor), step / 2 + 1, meaningOf(step / 2 + 1)));
      // Gradients come in another order on each rank.
      const uint32_t first = (rank.rank() + step) % 3;
      BAGUA_RETURN_IF_ERROR(
          rank.step({first, (first + 1) % 3, (first + 2) % 3}));
    }
    return rank.session->finish();
  };
  runAll(makeDdpPlan(4).load(), body);
}

/// Of a step: a rank is one forward ahead, as after a backward that it skipped.
TEST(SessionAgreementTest, ARankInAnotherForward) {
  auto body = [](RankContext &rank) -> absl::Status {
    for (uint64_t forward = 1; forward <= 4; ++forward) {
      const bool isAhead = rank.rank() == 1 && forward >= 3;
      rank.session->agreeOn("the forward", forward + isAhead);
      BAGUA_RETURN_IF_ERROR(rank.step({0, 1, 2}));
    }
    return absl::OkStatus();
  };
  expectOnAllRanks(runRanks(makeDdpPlan(3).load(), body),
                   HasSubstr("ranks differ in the forward: 3 on ranks 0, 2; 4 "
                             "on rank 1"));
}

/// Of a tensor in a bucket: nothing of it is written, and it is named.
TEST(SessionAgreementTest, ATensorThatLiesOtherwise) {
  for (uint32_t tensor = 0; tensor < 3; ++tensor) {
    auto body = [&](RankContext &rank) -> absl::Status {
      for (uint32_t each = 0; each < 3; ++each) {
        const uint64_t layout = 1 + (each == tensor && rank.rank() == 2);
        BAGUA_RETURN_IF_ERROR(
            rank.session->agreeOn(TensorId(each), layout, meaningOf(layout)));
      }
      return rank.step({0, 1, 2});
    };
    const char *names[] = {"l3", "l2", "l1"};
    expectOnAllRanks(
        runRanks(makeDdpPlan(4).load(), body),
        HasSubstr(absl::StrCat("ranks differ in tensor '", names[tensor],
                               ".weight.grad': strides [1] on ranks 0, 1, 3; "
                               "strides [2] on rank 2")));
  }
}

/// Facts of a step that is under way stay what they were when it began.
TEST(SessionAgreementTest, FactsOfTheNextStepDoNotReachThisOne) {
  auto body = [](RankContext &rank) -> absl::Status {
    for (uint64_t step = 0; step < 20; ++step) {
      rank.session->agreeOn("the forward", step);
      BAGUA_RETURN_IF_ERROR(rank.session->beginStep());
      rank.session->agreeOn("the forward", 1000 + rank.rank());
      for (uint32_t tensor : {0, 1, 2})
        BAGUA_RETURN_IF_ERROR(rank.give(tensor));
      for (uint32_t tensor : {0, 1, 2})
        BAGUA_RETURN_IF_ERROR(rank.wait(tensor));
      BAGUA_RETURN_IF_ERROR(rank.session->endStep());
    }
    return rank.session->finish();
  };
  runAll(makeDdpPlan(3).load(), body);
}

/// One tensor, reduced over the ranks of a host and then over hosts.
PlanBuilder makeTwoLevels() {
  PlanBuilder plan({{"host", 2}, {"rank", 2}});
  plan.addTensor("g", {100});
  for (uint32_t axis : {1, 0})
    plan.addOp(fb::Opcode::AllReduce, {plan.whole(0)}, {plan.whole(0)}, {axis});
  return plan;
}

/// Nobody passes before the last one has come.
TEST(SessionAgreementTest, BarriersMeetEverybody) {
  std::array<std::atomic<int>, 40> come = {};
  auto body = [&](RankContext &rank) -> absl::Status {
    for (size_t step = 0; step < come.size(); step += 2) {
      for (size_t barrier : {step, step + 1}) {
        rank.session->agreeOn("the barrier", barrier);
        ++come[barrier];
        BAGUA_RETURN_IF_ERROR(rank.session->barrier());
        EXPECT_EQ(come[barrier], 4);
      }
      BAGUA_RETURN_IF_ERROR(rank.step({0}));
    }
    return rank.session->finish();
  };
  runAll(makeTwoLevels().load(), body);
}

/// A rank that has gone on, while others are in the step before.
TEST(SessionAgreementTest, ABarrierWhereOthersAreInAStep) {
  for (uint64_t stated : {0, 1}) {
    auto body = [&](RankContext &rank) -> absl::Status {
      BAGUA_RETURN_IF_ERROR(rank.step({0, 1, 2}));
      const bool isAhead = rank.rank() == 1;
      if (stated)
        rank.session->agreeOn("the forward", 7 + isAhead);
      if (isAhead)
        return rank.session->barrier();
      return rank.step({0, 1, 2});
    };
    expectOnAllRanks(
        runRanks(makeDdpPlan(3).load(), body),
        HasSubstr(stated ? "ranks differ in the forward: 7 on ranks 0, 2; 8 "
                           "on rank 1"
                         : "members' calls differ"));
  }
}

/// Of two levels: ranks of a diagonal have gone on, and each group has both
/// kinds. None waits in a circle.
TEST(SessionAgreementTest, BarriersOnADiagonalWhereOthersAreInAStep) {
  auto body = [](RankContext &rank) -> absl::Status {
    BAGUA_RETURN_IF_ERROR(rank.step({0}));
    const bool isAhead = rank.rank() == 0 || rank.rank() == 3;
    rank.session->agreeOn("the forward", 7 + isAhead);
    return isAhead ? rank.session->barrier() : rank.step({0});
  };
  expectOnAllRanks(runRanks(makeTwoLevels().load(), body),
                   HasSubstr("ranks differ in the forward: "));
}

/// What a program states of tensors a barrier doesn't carry.
TEST(SessionAgreementTest, ABarrierWhereOnlyTensorsAreStated) {
  auto body = [](RankContext &rank) -> absl::Status {
    BAGUA_RETURN_IF_ERROR(rank.session->agreeOn(TensorId(0), 1, meaningOf(1)));
    BAGUA_RETURN_IF_ERROR(rank.step({0}));
    return rank.rank() == 0 ? rank.session->barrier() : rank.step({0});
  };
  expectOnAllRanks(runRanks(makeOneGradient(2).load(), body),
                   HasSubstr("members' calls differ: op is barrier on rank 0"));
}

TEST(SessionAgreementTest, ABarrierWithinAStep) {
  auto body = [](RankContext &rank) -> absl::Status {
    BAGUA_RETURN_IF_ERROR(rank.session->beginStep());
    if (rank.rank() == 0)
      return rank.session->barrier();
    BAGUA_RETURN_IF_ERROR(rank.give(0));
    return rank.wait(0);
  };
  expectOnAllRanks(runRanks(makeOneGradient(2).load(), body),
                   HasSubstr("rank 0: barrier before endStep"));
}

TEST(SessionAgreementTest, ATensorThatThePlanDoesNotHave) {
  auto body = [](RankContext &rank) -> absl::Status {
    EXPECT_THAT(message(rank.session->agreeOn(TensorId(3), 1, "strides [1]")),
                HasSubstr("expected a tensor's number below 3, found 3"));
    BAGUA_RETURN_IF_ERROR(rank.step({0, 1, 2}));
    return rank.session->finish();
  };
  runAll(makeDdpPlan(2).load(), body);
}

} // namespace
} // namespace bagua::runtime::test
