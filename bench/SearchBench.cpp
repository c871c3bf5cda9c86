//===- SearchBench.cpp - Is auto ever behind what others find? ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `auto` on random clusters and real steps, beside the presets' option variants
// and random plans. Prints a line for each pair and a row of a table for each
// step; the last line says how far behind `auto` is at most and how long it
// took. Fails where one of these is more than what is wanted.
//
//   bagua-bench-search [CLUSTERS [FIRST [STEP]]]
//
//===----------------------------------------------------------------------===//
#include "Rivals.h"

#include "bagua/Scheduling/Search/StrategyText.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

using namespace bagua;
using namespace bagua::test;

static constexpr const char *kSteps[] = {"resnet50", "vgg16", "bert_large"};

namespace {
/// Of one step.
struct Summary {
  int behind = 0;
  std::vector<double> gains, seconds;
};
} // namespace

static void print(const char *step, unsigned seed, const Contest &contest) {
  std::printf("%s %u: %+.2f %% behind %s (%.3f ms, %lld collectives, %lld "
              "evaluations, %.1f s, %zu rivals)\n  %s\n  auto %s\n  rival %s\n",
              step, seed, 100 * contest.behind(), contest.best.name.c_str(),
              contest.found.stepNs * 1e-6,
              static_cast<long long>(contest.found.collectives),
              static_cast<long long>(contest.found.evaluations),
              contest.searchS, contest.rivals, contest.cluster.c_str(),
              bagua::textOf(contest.found.plan, {}).c_str(),
              bagua::textOf(contest.best.plan, {}).c_str());
  std::fflush(stdout);
}

static void printRow(const char *step, Summary &summary) {
  std::sort(summary.gains.begin(), summary.gains.end());
  std::sort(summary.seconds.begin(), summary.seconds.end());
  size_t count = summary.gains.size();
  std::printf("| %s | %zu | %d | %.1f / %.1f / %.1f %% | %.1f / %.1f / %.1f s "
              "|\n",
              step, count, summary.behind, 100 * summary.gains.front(),
              100 * summary.gains[count / 2], 100 * summary.gains.back(),
              summary.seconds.front(), summary.seconds[count / 2],
              summary.seconds.back());
}

int main(int argc, char **argv) {
  int clusters = argc > 1 ? std::atoi(argv[1]) : 100;
  int first = argc > 2 ? std::atoi(argv[2]) : 0;
  double furthest = 0, longest = 0;
  for (const char *name : kSteps) {
    if (argc > 3 && std::string(argv[3]) != name)
      continue;
    ExportedStep step(name);
    Summary summary;
    for (int seed = first; seed < first + clusters; ++seed) {
      Contest contest = holdContest(step, static_cast<unsigned>(seed));
      print(name, static_cast<unsigned>(seed), contest);
      summary.behind += contest.behind() > 0.01;
      summary.gains.push_back(-contest.behind());
      summary.seconds.push_back(contest.searchS);
    }
    if (summary.gains.empty())
      continue;
    printRow(name, summary);
    furthest = std::max(furthest, -summary.gains.front());
    longest = std::max(longest, summary.seconds.back());
  }
  std::printf("auto is at most %.2f %% behind and took at most %.1f s\n",
              100 * furthest, longest);
  return furthest > 0.01 || longest > kMostSearchS;
}
