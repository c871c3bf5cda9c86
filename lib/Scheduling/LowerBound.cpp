//===- LowerBound.cpp - What no lossless schedule can beat ----------------===//
//
// Cuts of the cluster as linear functions of the bytes of each kind of
// gradient, then the cycle through the parameters.
//
//===----------------------------------------------------------------------===//
#include "bagua/Scheduling/LowerBound.h"

#include <algorithm>
#include <limits>
#include <numeric>

using namespace bagua;

std::optional<std::string> BoundProblem::check() const {
  if (std::optional<std::string> wrong = cluster.check())
    return wrong;
  auto ops = static_cast<int32_t>(computeNs.size());
  for (int32_t op = 0; op < ops; ++op)
    if (computeNs[op] < 0)
      return "op " + std::to_string(op) + ": expected a duration, found " +
             std::to_string(computeNs[op]);
  for (size_t i = 0; i < gradients.size(); ++i) {
    const BoundGradient &gradient = gradients[i];
    std::string name = "gradient " + std::to_string(i) + ": ";
    if (gradient.bytes < 0 || gradient.updateNs < 0)
      return name + "expected bytes and a duration of at least 0";
    if (gradient.over & ~cluster.allAxes())
      return name + "expected axes of the cluster";
    if (gradient.readyAfter < 0 || gradient.readyAfter >= ops ||
        gradient.neededBy < -1 || gradient.neededBy >= ops)
      return name + "expected ops between 0 and " + std::to_string(ops - 1) +
             ", found " + std::to_string(gradient.readyAfter) + " and " +
             std::to_string(gradient.neededBy);
  }
  return std::nullopt;
}

namespace {
/// A cut: time per byte of a gradient that is reduced over some axes.
struct Cut {
  int innermost;
  /// By AxisSet.
  std::vector<double> nsPerByte;
};
} // namespace

/// The cuts between ranks that differ on the axes up to one. `overs` are the
/// sets of axes that gradients are reduced over.
static std::vector<Cut> cutsOf(const ClusterModel &cluster,
                               const std::vector<AxisSet> &overs) {
  std::vector<Cut> cuts;
  for (int level = 0; level < cluster.axisCount(); ++level) {
    // Between two such ranks a message may take a link of any axis so far.
    double ranks = 1, all = 0, one = 0;
    for (int axis = level + 1; axis < cluster.axisCount(); ++axis)
      ranks *= static_cast<double>(cluster.axes[axis].size);
    for (int axis = 0; axis <= level; ++axis) {
      const AxisModel &model = cluster.axes[axis];
      auto sharers = static_cast<double>(model.sharers);
      auto rate = static_cast<double>(model.bytesPerS);
      all += static_cast<double>(cluster.workers()) / sharers * rate;
      one += std::max(1.0, ranks / sharers) * rate;
    }
    all += static_cast<double>(cluster.dedicatedServers *
                               cluster.axes[0].bytesPerS);
    Cut total{level, {}}, each{level, {}};
    for (AxisSet over : overs) {
      AxisSet outer = over & ((AxisSet(2) << level) - 1);
      auto groups = static_cast<double>(cluster.groupSize(outer));
      total.nsPerByte.push_back(2 * (groups - 1) / all * 1e9);
      each.nsPerByte.push_back(groups > 1 ? 1e9 / one : 0);
    }
    cuts.push_back(total);
    cuts.push_back(each);
  }
  return cuts;
}

/// A message along each axis at least; where servers may sum, one to a server.
static double latencyOf(const ClusterModel &cluster, AxisSet over) {
  if (cluster.groupSize(over) == 1)
    return 0;
  int64_t most = 0, least = INT64_MAX;
  for (int axis = 0; axis < cluster.axisCount(); ++axis)
    if ((over >> axis & 1) && cluster.axes[axis].size > 1) {
      most = std::max(most, cluster.axes[axis].latencyNs);
      least = std::min(least, cluster.axes[axis].latencyNs);
    }
  if (cluster.servers() > 0)
    for (const AxisModel &axis : cluster.axes)
      least = std::min(least, axis.latencyNs);
  return static_cast<double>(cluster.servers() > 0 ? least : most);
}

namespace {
/// The traffic of some gradients over each cut.
class Traffic {
public:
  explicit Traffic(const BoundProblem &problem);

  void clear() { std::fill(ns.begin(), ns.end(), 0.0); }
  void add(size_t gradient);
  /// Of the fullest cut; its innermost axis.
  double largestNs() const { return *std::max_element(ns.begin(), ns.end()); }
  int32_t levelOfLargest() const;

private:
  const BoundProblem &problem;
  /// By gradient: the number of its group of axes.
  std::vector<size_t> overOf;
  std::vector<Cut> cuts;
  std::vector<double> ns;
};

/// What a cycle through the parameters takes at least.
struct CycleBound {
  double ns = 0;
  /// The gradient that is needed last; -1 for none.
  int32_t gradient = -1;
};
} // namespace

Traffic::Traffic(const BoundProblem &of) : problem(of) {
  std::vector<AxisSet> overs;
  for (const BoundGradient &gradient : problem.gradients) {
    auto found = std::find(overs.begin(), overs.end(), gradient.over);
    overOf.push_back(static_cast<size_t>(found - overs.begin()));
    if (found == overs.end())
      overs.push_back(gradient.over);
  }
  cuts = cutsOf(problem.cluster, overs);
  ns.assign(cuts.size(), 0);
}

void Traffic::add(size_t gradient) {
  for (size_t cut = 0; cut < cuts.size(); ++cut)
    ns[cut] += static_cast<double>(problem.gradients[gradient].bytes) *
               cuts[cut].nsPerByte[overOf[gradient]];
}

int32_t Traffic::levelOfLargest() const {
  double largest = 0;
  int32_t level = -1;
  for (size_t cut = 0; cut < cuts.size(); ++cut)
    if (ns[cut] > largest) {
      largest = ns[cut];
      level = cuts[cut].innermost;
    }
  return level;
}

/// Gradients by readiness, the last first.
static std::vector<size_t> byReadiness(const BoundProblem &problem) {
  std::vector<size_t> order(problem.gradients.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return problem.gradients[a].readyAfter > problem.gradients[b].readyAfter;
  });
  return order;
}

/// Ops that use params, in their order.
static std::vector<int32_t> usersOf(const BoundProblem &problem) {
  std::vector<int32_t> users;
  for (const BoundGradient &gradient : problem.gradients)
    if (gradient.neededBy >= 0)
      users.push_back(gradient.neededBy);
  std::sort(users.begin(), users.end());
  users.erase(std::unique(users.begin(), users.end()), users.end());
  return users;
}

/// From an op's use of params to its next one: the compute up to a gradient's
/// readiness, then all gradients that are ready no sooner and needed no later.
static CycleBound boundCycles(const BoundProblem &problem, Traffic &traffic) {
  const auto &gradients = problem.gradients;
  // Updates may be sharded, or done by servers.
  auto updaters = static_cast<double>(problem.cluster.workers() +
                                      problem.cluster.servers());
  // The start of each op, and the end of the last.
  std::vector<double> start(problem.computeNs.size() + 1, 0);
  for (size_t op = 0; op < problem.computeNs.size(); ++op)
    start[op + 1] = start[op] + static_cast<double>(problem.computeNs[op]);
  std::vector<size_t> order = byReadiness(problem);

  CycleBound bound;
  for (int32_t user : usersOf(problem)) {
    traffic.clear();
    double latency = std::numeric_limits<double>::infinity();
    int64_t updateNs = INT64_MAX;
    int32_t needed = -1;
    for (size_t index : order) {
      const BoundGradient &gradient = gradients[index];
      if (gradient.readyAfter < user)
        break;
      if (gradient.neededBy < 0 || gradient.neededBy > user)
        continue;
      traffic.add(index);
      latency = std::min(latency, latencyOf(problem.cluster, gradient.over));
      updateNs = std::min(updateNs, gradient.updateNs);
      if (gradient.neededBy == user)
        needed = static_cast<int32_t>(index);
      double ns = start[gradient.readyAfter + 1] - start[user] + latency +
                  static_cast<double>(updateNs) / updaters +
                  traffic.largestNs();
      if (ns > bound.ns)
        bound = {ns, needed};
    }
  }
  return bound;
}

LowerBound bagua::lowerBound(const BoundProblem &problem) {
  LowerBound bound;
  for (int64_t ns : problem.computeNs)
    bound.computeNs += static_cast<double>(ns);
  Traffic traffic(problem);
  for (size_t i = 0; i < problem.gradients.size(); ++i)
    traffic.add(i);
  int32_t level = traffic.levelOfLargest();
  if (level >= 0)
    bound.linksNs = traffic.largestNs();
  CycleBound cycle = boundCycles(problem, traffic);
  bound.cycleNs = cycle.ns;

  bound.ns = std::max({bound.computeNs, bound.linksNs, bound.cycleNs});
  if (bound.ns == bound.computeNs) {
    bound.binding = LowerBound::Binding::Compute;
  } else if (bound.ns == bound.linksNs) {
    bound.binding = LowerBound::Binding::Links;
    bound.index = level;
  } else {
    bound.binding = LowerBound::Binding::Cycle;
    bound.index = cycle.gradient;
  }
  return bound;
}
