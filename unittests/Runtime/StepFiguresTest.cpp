//===- StepFiguresTest.cpp - What steps took ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Beside what the test's own clock says before and after each call.
//
//===----------------------------------------------------------------------===//
#include "PlanBuilder.h"
#include "SessionHarness.h"

#include "bagua/Runtime/Waits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>

namespace bagua::runtime::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using ::testing::HasSubstr;
using Clock = std::chrono::steady_clock;

TEST(StepFiguresTest, EachStepHasItsBytes) {
  runAll(makeDdpPlan(4).load(), [](RankContext &rank) -> absl::Status {
    for (int step = 0; step < 5; ++step)
      BAGUA_RETURN_IF_ERROR(rank.step({0, 1, 2}));
    BAGUA_RETURN_IF_ERROR(rank.session->finish());
    int64_t sum = 0;
    for (int back = 0; back < 5; ++back) {
      auto figures = rank.session->stepFigures(back);
      BAGUA_RETURN_IF_ERROR(figures.status());
      EXPECT_EQ(figures->step, 4 - back);
      EXPECT_EQ(figures->bytesSent,
                2 * 3 * 4084 / 4 + 2 * 3 * (517 + 259) * 4 / 4);
      sum += figures->bytesSent;
    }
    EXPECT_EQ(sum, rank.session->bytesSent());
    return absl::OkStatus();
  });
}

TEST(StepFiguresTest, TheLastOnesAreKept) {
  runAll(makeOneGradient(1).load(), [](RankContext &rank) -> absl::Status {
    auto last = [&] { return rank.session->stepFigures(); };
    EXPECT_TRUE(absl::IsOutOfRange(last().status()));
    for (int step = 0; step < 3; ++step)
      BAGUA_RETURN_IF_ERROR(rank.step({0}));
    // Of step 1 nobody has looked whether it is done.
    BAGUA_RETURN_IF_ERROR(last().status());
    EXPECT_EQ(last()->step, 0);
    EXPECT_THAT(message(rank.session->stepFigures(1).status()),
                HasSubstr("expected a number of steps back from 0 and below 1, "
                          "found 1"));
    BAGUA_RETURN_IF_ERROR(rank.session->finish());
    EXPECT_EQ(last()->step, 2);
    for (int step = 3; step < 200; ++step)
      BAGUA_RETURN_IF_ERROR(rank.step({0}));
    BAGUA_RETURN_IF_ERROR(rank.session->finish());
    EXPECT_EQ(last()->step, 199);
    auto oldest = rank.session->stepFigures(63);
    BAGUA_RETURN_IF_ERROR(oldest.status());
    EXPECT_EQ(oldest->step, 136);
    EXPECT_TRUE(absl::IsOutOfRange(rank.session->stepFigures(64).status()));
    EXPECT_TRUE(absl::IsOutOfRange(rank.session->stepFigures(-1).status()));
    return absl::OkStatus();
  });
}

/// Rank 1 gives when rank 0 waits, and some time later.
TEST(StepFiguresTest, WhatIsWaitedForIsExposed) {
  constexpr auto kLate = milliseconds(20);
  if (isFar())
    GTEST_SKIP() << "the program's queue waits, and not its thread";
  runAll(makeOneGradient(2).load(), [&](RankContext &rank) -> absl::Status {
    const Clock::time_point before = Clock::now();
    BAGUA_RETURN_IF_ERROR(rank.session->beginStep());
    const Clock::time_point begun = Clock::now();
    if (rank.rank() == 1) {
      while (describeWaits().find("it waits for tensor 'g'") ==
             std::string::npos)
        std::this_thread::yield();
      std::this_thread::sleep_for(kLate);
    }
    BAGUA_RETURN_IF_ERROR(rank.give(0));
    const Clock::time_point given = Clock::now();
    BAGUA_RETURN_IF_ERROR(rank.wait(0));
    const Clock::time_point taken = Clock::now();
    BAGUA_RETURN_IF_ERROR(rank.session->endStep());
    const Clock::time_point ended = Clock::now();
    BAGUA_RETURN_IF_ERROR(rank.session->finish());
    const Clock::time_point finished = Clock::now();
    auto figures = rank.session->stepFigures();
    BAGUA_RETURN_IF_ERROR(figures.status());
    EXPECT_GE(figures->duration, ended - begun);
    EXPECT_LE(figures->duration, finished - before);
    EXPECT_LE(figures->exposed,
              (begun - before) + (taken - given) + (finished - ended));
    EXPECT_LE(figures->exposed, figures->duration);
    if (rank.rank() == 0) {
      EXPECT_GE(figures->exposed, nanoseconds(kLate));
    }
    return absl::OkStatus();
  });
}

} // namespace
} // namespace bagua::runtime::test
