//===- PlanDamageTest.cpp - Plans with bits that were flipped -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Damage at random is found, or does no harm.
//
//===----------------------------------------------------------------------===//
#include "PlanBuilder.h"
#include "PlanBytes.h"
#include "SessionHarness.h"

#include <gtest/gtest.h>

#include <chrono>
#include <random>

namespace bagua::runtime::test {
namespace {

TEST(PlanDamageTest, EveryFlippedBitIsFound) {
  const std::string good = makeManyOps().bytes();
  std::mt19937_64 random(1);
  for (int i = 0; i < 10000; ++i) {
    std::string bad = good;
    size_t bit = random() % (bad.size() * 8);
    bad[bit / 8] ^= static_cast<char>(1 << bit % 8);
    ASSERT_FALSE(Plan::fromBytes(bad).ok()) << "bit " << bit;
  }
}

TEST(PlanDamageTest, EveryTruncationIsFound) {
  const std::string good = makeManyOps().bytes();
  for (size_t size = 0; size < good.size(); ++size)
    ASSERT_FALSE(Plan::fromBytes(good.substr(0, size)).ok()) << size;
}

/// Runs what was accepted: it may compute nonsense or end in an error, but
/// neither touch memory that isn't its own nor hang.
void runBriefly(const std::shared_ptr<const Plan> &plan) {
  int64_t bytes = 0;
  for (const fb::Arena *arena : *plan->root().arenas())
    bytes += arena->bytes();
  for (const fb::Tensor *tensor : *plan->root().tensors()) {
    int64_t count = 1;
    if (tensor->shape())
      for (int64_t size : *tensor->shape())
        count *= size;
    bytes += count * 8;
  }
  if (plan->topology().ranks() > 8 || bytes > (64 << 20))
    return;
  HarnessOptions options;
  options.timeout = std::chrono::milliseconds(500);
  runRanks(
      plan,
      [&](RankContext &rank) -> absl::Status {
        for (int step = 0; step < 2; ++step) {
          BAGUA_RETURN_IF_ERROR(rank.session->beginStep());
          for (uint32_t i = 0; i < plan->root().tensors()->size(); ++i)
            if (plan->root().tensors()->Get(i)->given_by_program())
              BAGUA_RETURN_IF_ERROR(rank.give(i));
          for (uint32_t i = 0; i < plan->root().tensors()->size(); ++i)
            BAGUA_RETURN_IF_ERROR(rank.wait(i));
          BAGUA_RETURN_IF_ERROR(rank.session->endStep());
        }
        return rank.session->finish();
      },
      options);
}

// Who damages an order of instructions makes races, which load can't know of.
#ifdef __SANITIZE_THREAD__
constexpr bool kFindsRaces = true;
#else
constexpr bool kFindsRaces = false;
#endif

TEST(PlanDamageTest, DamageWithAGoodFingerprintDoesNoHarm) {
  const std::string plans[] = {makeManyOps().bytes(), makeDdpPlan(2).bytes(),
                               makeServerPlan().bytes()};
  std::mt19937_64 random(2);
  int accepted = 0;
  for (int i = 0; i < 6000; ++i) {
    std::string bad = plans[i % 3];
    for (int flips = 1 + i % 2; flips > 0; --flips) {
      size_t bit = random() % (bad.size() * 8);
      bad[bit / 8] ^= static_cast<char>(1 << bit % 8);
    }
    repairFingerprint(bad);
    auto plan = Plan::fromBytes(std::move(bad));
    if (!plan.ok())
      continue;
    ++accepted;
    planToText(**plan);
    planToJson(**plan);
    if (accepted % 8 == 0 && !kFindsRaces)
      runBriefly(*plan);
  }
  // Names, constants and costs may be anything.
  EXPECT_GT(accepted, 100);
}

} // namespace
} // namespace bagua::runtime::test
