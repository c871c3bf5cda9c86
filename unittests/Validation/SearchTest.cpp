//===- SearchTest.cpp - Is auto ever behind what others find? -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Real steps on random clusters: the search beside the presets' option variants
// and random plans. bench/SearchBench.cpp prints all of it, docs/Performance.md
// has the table.
//
//===----------------------------------------------------------------------===//
#include "Rivals.h"

#include "bagua/Scheduling/Search/StrategyText.h"

#include <gtest/gtest.h>

#include <cstdlib>

using namespace bagua;
using namespace bagua::test;

static void expectAhead(const char *name, const std::vector<unsigned> &seeds,
                        bool isTimed) {
  ExportedStep step(name);
  for (unsigned seed : seeds) {
    Contest contest = holdContest(step, seed);
    std::printf(
        "%s on cluster %u: %+.2f %% behind the best of %zu rivals, %lld "
        "evaluations in %.1f s\n",
        name, seed, 100 * contest.behind(), contest.rivals,
        static_cast<long long>(contest.found.evaluations), contest.searchS);
    EXPECT_LE(contest.behind(), 0.01)
        << name << " on " << contest.cluster << ": "
        << textOf(contest.found.plan, {}) << " behind " << contest.best.name
        << ", " << textOf(contest.best.plan, {});
    if (isTimed) {
      EXPECT_LE(contest.searchS, kMostSearchS)
          << name << " on " << contest.cluster;
    }
  }
}

/// A few of the pairs on which a search of single decisions, with at most 64
/// MiB of credit and one form a bucket, ended 3 to 20 % behind. The full sweep
/// fails on time, too; what always runs does not, for it runs beside other
/// tests and in builds that are slow.
TEST(SearchTest, IsNotBehindItsRivals) {
  if (!std::getenv("BAGUA_FULL_TESTS")) {
    expectAhead("resnet50", {3}, /*isTimed=*/false);
    expectAhead("vgg16", {9, 29, 36}, /*isTimed=*/false);
    return;
  }
  std::vector<unsigned> all(100);
  for (unsigned seed = 0; seed < all.size(); ++seed)
    all[seed] = seed;
  for (const char *name : {"resnet50", "vgg16", "bert_large"})
    expectAhead(name, all, /*isTimed=*/true);
}
