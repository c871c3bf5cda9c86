//===- Rivals.h - Plans that a search must not be behind ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random clusters, the presets under many of their options, and random plans
// that mix forms, parts and credits: what somebody who tries things out by hand
// would come to.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_UNITTESTS_VALIDATION_RIVALS_H
#define BAGUA_UNITTESTS_VALIDATION_RIVALS_H

#include "ExportedStep.h"
#include "bagua/Scheduling/Search/PlanSearch.h"

#include <random>
#include <string>
#include <vector>

namespace bagua::test {

/// The same numbers on every machine.
class RivalRandom {
public:
  explicit RivalRandom(unsigned seed) : random(seed) {}

  int64_t below(int64_t limit) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(limit));
  }
  /// Between two numbers over 0, their ratios alike.
  int64_t between(int64_t least, int64_t most);
  template <typename T> T oneOf(const std::vector<T> &list) {
    return list[below(static_cast<int64_t>(list.size()))];
  }

private:
  std::mt19937_64 random;
};

/// 4 to 1,024 ranks on one to three axes, two thirds of them with servers.
ClusterModel randomCluster(RivalRandom &random);
/// What follows a bagua.cluster's name.
std::string textOf(const ClusterModel &cluster);

struct Rival {
  std::string name;
  CommunicationPlan plan;
};

/// Every preset that the cluster has what it takes for, under its options.
std::vector<Rival> presetVariants(const CommunicationProblem &problem);
/// A few forms, by bucket, by runs of buckets or within buckets, with any
/// sizes and credit.
std::vector<Rival> randomPlans(const CommunicationProblem &problem,
                               RivalRandom &random, int count);

/// What a search may take at most, in seconds of the processor.
inline constexpr double kMostSearchS = 10;

/// What a search found on one random cluster, and the best of its rivals.
struct Contest {
  std::string cluster;
  PlanSearchResult found;
  double searchS = 0;
  size_t rivals = 0;
  Rival best;
  double bestNs = 0;

  /// By how much the search is slower; negative where it is faster.
  double behind() const { return found.stepNs / bestNs - 1; }
};
/// The step computes a fifth of what its communication takes at least, up to
/// three times as long, so that neither hides the other whole.
Contest holdContest(ExportedStep &step, unsigned seed);

} // namespace bagua::test

#endif // BAGUA_UNITTESTS_VALIDATION_RIVALS_H
