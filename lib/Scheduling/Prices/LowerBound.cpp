//===- LowerBound.cpp - What no lossless schedule can beat ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Computes cuts of the cluster as linear functions of the bytes of each kind of
// gradient, then the cycle through the params.
//
//===----------------------------------------------------------------------===//
#include "bagua/Scheduling/Prices/LowerBound.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>
#include <utility>

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
  for (int64_t ns : {anyTimeNs, updatesNs})
    if (ns < 0)
      return "expected a duration of at least 0, found " + std::to_string(ns);
  for (size_t i = 0; i < waits.size(); ++i) {
    const BoundWait &wait = waits[i];
    if (wait.after < 0 || wait.op <= wait.after || wait.op >= ops ||
        wait.bytes < 0 || (wait.over & ~cluster.allAxes()) ||
        (i > 0 && wait.op < waits[i - 1].op))
      return "wait " + std::to_string(i) +
             ": expected ascending ops that wait for earlier ones, found " +
             std::to_string(wait.op) + " and " + std::to_string(wait.after);
  }
  return std::nullopt;
}

namespace {
/// A cut through the cluster: the time per byte of a gradient that is reduced
/// over some axes.
struct Cut {
  int innermost;
  /// By number of the set of axes.
  std::vector<double> nsPerByte;
  /// The part of the cut's rate that compute takes.
  double lostRate;
  /// The time before bytes flow on any of its links.
  double latencyNs;
};

/// The sum of the rates of a cut's links.
struct Capacity {
  double full = 0, lost = 0;

  /// Adds so many links of an axis.
  void add(const AxisModel &axis, double links) {
    double rate = links * static_cast<double>(axis.bytesPerS);
    full += rate;
    // Each op reduces the rate for `overlappedNs` only, which happens less
    // often if ops are merged.
    if (axis.overlappedNs == 0)
      lost += rate * (1 - axis.overlappedRate);
  }
};
} // namespace

/// The sets of axes, among those of a level, whose links some gradients can
/// use. Unless servers sum, a message goes between ranks that differ on the
/// axes that it is reduced over.
static std::set<AxisSet> usableAxes(const ClusterModel &cluster,
                                    const std::vector<AxisSet> &overs,
                                    AxisSet ofLevel) {
  if (cluster.servers() > 0)
    return {ofLevel};
  std::set<AxisSet> usable;
  AxisSet all = 0;
  for (AxisSet over : overs) {
    usable.insert(over & ofLevel);
    all |= over & ofLevel;
  }
  usable.insert(all);
  usable.erase(0);
  return usable;
}

/// The time of every message besides its axis's latency.
static double overheadNs(const ClusterModel &cluster) {
  return static_cast<double>(cluster.launchNs) +
         static_cast<double>(cluster.messageNs);
}

/// Adds the cuts between ranks that differ on the axes up to `level`, through
/// the links of the axes in `usable`. `overs` are the sets of axes that
/// gradients are reduced over.
static void addCuts(const ClusterModel &cluster,
                    const std::vector<AxisSet> &overs, int level,
                    AxisSet usable, std::vector<Cut> &cuts) {
  AxisSet ofLevel = (AxisSet(2) << level) - 1;
  AxisSet inner = cluster.allAxes() & ~ofLevel;
  auto ranks = static_cast<double>(cluster.groupSize(inner));
  Capacity all, one;
  int64_t latencyNs = INT64_MAX;
  AxisSet counted = 0;
  for (int axis = 0; axis <= level; ++axis) {
    AxisSet owner = AxisSet(1) << cluster.linkOwner(axis);
    // Dedicated servers are reached along an outermost axis of one, too.
    bool hasLinks = cluster.axes[axis].size > 1 ||
                    (axis == 0 && cluster.dedicatedServers > 0);
    if (!(usable >> axis & 1) || !hasLinks || (counted & owner))
      continue;
    counted |= owner;
    const AxisModel &model = cluster.axes[axis];
    latencyNs = std::min(latencyNs, model.latencyNs);
    auto sharers = static_cast<double>(model.sharers);
    all.add(model, static_cast<double>(cluster.workers()) / sharers);
    one.add(model, std::max(1.0, ranks / sharers));
  }
  // Servers compute nothing.
  all.full +=
      static_cast<double>(cluster.dedicatedServers * cluster.axes[0].bytesPerS);
  if (one.full == 0)
    return; // there is one rank
  double startNs = static_cast<double>(latencyNs) + overheadNs(cluster);
  Cut total{level, {}, all.lost / all.full, startNs},
      each{level, {}, one.lost / one.full, startNs};
  for (AxisSet over : overs) {
    AxisSet outer = over & ofLevel;
    bool isIn = (outer & ~usable) == 0;
    // Groups side by side, in the whole cluster and in one part of it.
    auto groups = static_cast<double>(isIn ? cluster.groupSize(outer) : 1);
    auto beside = static_cast<double>(cluster.groupSize(~over)),
         inside = static_cast<double>(cluster.groupSize(inner & ~over));
    total.nsPerByte.push_back(beside * 2 * (groups - 1) / all.full * 1e9);
    each.nsPerByte.push_back(groups > 1 ? inside / one.full * 1e9 : 0);
  }
  cuts.push_back(total);
  cuts.push_back(each);
}

static std::vector<Cut> cutsOf(const ClusterModel &cluster,
                               const std::vector<AxisSet> &overs) {
  std::vector<Cut> cuts;
  for (int level = 0; level < cluster.axisCount(); ++level)
    for (AxisSet usable : usableAxes(cluster, overs, (AxisSet(2) << level) - 1))
      addCuts(cluster, overs, level, usable, cuts);
  return cuts;
}

/// The least latency: one launched message along each axis at least; if servers
/// may sum, one to a server.
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
  return static_cast<double>(cluster.servers() > 0 ? least : most) +
         overheadNs(cluster);
}

/// The earliest end of updates of which each rank and server does a share.
/// Ranks are busy until `ranksNs` and servers until `serversNs`, which is no
/// later.
static double spreadUpdates(const ClusterModel &cluster, double updatesNs,
                            double ranksNs, double serversNs) {
  auto ranks = static_cast<double>(cluster.workers()),
       servers = static_cast<double>(cluster.servers());
  return std::max(ranksNs, (ranks * ranksNs + servers * serversNs + updatesNs) /
                               (ranks + servers));
}

namespace {
/// The traffic of some gradients over each cut.
class Traffic {
public:
  explicit Traffic(const BoundProblem &problem);

  void clear() { std::fill(ns.begin(), ns.end(), 0.0); }
  void add(size_t gradient) {
    add(problem.gradients[gradient].bytes, overOf[gradient]);
  }
  /// The time of a tensor alone. `over` must be the axes of some gradient or
  /// wait.
  double aloneNs(int64_t bytes, AxisSet over);
  /// The time of the cut that takes longest beside so much compute, and its
  /// number; -1 for none.
  std::pair<double, int32_t> largest(double computeNs) const;
  /// The time from when the first message could begin until all messages are
  /// done, beside so much compute. Compute takes nothing of a link before bytes
  /// flow there.
  double untilDone(double computeNs) const;
  int32_t levelOf(int32_t cut) const { return cuts[cut].innermost; }

private:
  void add(int64_t bytes, size_t over);
  size_t numberOf(AxisSet over);

  const BoundProblem &problem;
  std::vector<AxisSet> overs;
  /// By gradient: the number of its set of axes.
  std::vector<size_t> overOf;
  std::vector<Cut> cuts;
  std::vector<double> ns;
};

/// The least time of a cycle through the params.
struct CycleBound {
  double ns = 0;
  /// The gradient that is needed last; -1 for none.
  int32_t gradient = -1;
};
} // namespace

size_t Traffic::numberOf(AxisSet over) {
  auto found = std::find(overs.begin(), overs.end(), over);
  auto number = static_cast<size_t>(found - overs.begin());
  if (found == overs.end())
    overs.push_back(over);
  return number;
}

Traffic::Traffic(const BoundProblem &of) : problem(of) {
  for (const BoundGradient &gradient : problem.gradients)
    overOf.push_back(numberOf(gradient.over));
  for (const BoundWait &wait : problem.waits)
    numberOf(wait.over);
  cuts = cutsOf(problem.cluster, overs);
  ns.assign(cuts.size(), 0);
}

void Traffic::add(int64_t bytes, size_t over) {
  for (size_t cut = 0; cut < cuts.size(); ++cut)
    ns[cut] += static_cast<double>(bytes) * cuts[cut].nsPerByte[over];
}

double Traffic::aloneNs(int64_t bytes, AxisSet over) {
  clear();
  add(bytes, numberOf(over));
  return std::max(latencyOf(problem.cluster, over), untilDone(0));
}

std::pair<double, int32_t> Traffic::largest(double computeNs) const {
  std::pair<double, int32_t> result = {0, -1};
  for (size_t cut = 0; cut < cuts.size(); ++cut)
    if (double most = ns[cut] + computeNs * cuts[cut].lostRate;
        ns[cut] > 0 && most > result.first)
      result = {most, static_cast<int32_t>(cut)};
  return result;
}

double Traffic::untilDone(double computeNs) const {
  double result = 0;
  for (size_t cut = 0; cut < cuts.size(); ++cut)
    if (ns[cut] > 0)
      result =
          std::max(result, cuts[cut].latencyNs + ns[cut] +
                               std::max(0.0, computeNs - cuts[cut].latencyNs) *
                                   cuts[cut].lostRate);
  return result;
}

/// Gradients by readiness, the one that is ready last first.
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

namespace {
/// The program's compute, one op after the other.
class Compute {
public:
  Compute(const BoundProblem &problem, Traffic &traffic);

  /// Forgets reductions of ops before `op`: they may be done when a step comes
  /// to `op` later.
  void startAt(int32_t op);
  /// The time from the start of that op to the end of a later one.
  double until(int32_t op) const { return ends[op] - begin; }
  /// The compute time of ops from `from` on and before `to`.
  double between(int32_t from, int32_t to) const {
    return sums[to] - sums[from];
  }

private:
  const BoundProblem &problem;
  /// By wait: the time from an op's end until its reduction is done.
  std::vector<double> reducedNs;
  std::vector<double> sums, ends;
  double begin = 0;
};
} // namespace

Compute::Compute(const BoundProblem &of, Traffic &traffic) : problem(of) {
  for (const BoundWait &wait : problem.waits)
    reducedNs.push_back(traffic.aloneNs(wait.bytes, wait.over));
  sums.push_back(0);
  for (int64_t ns : problem.computeNs)
    sums.push_back(sums.back() + static_cast<double>(ns));
  ends.assign(sums.begin() + 1, sums.end());
}

void Compute::startAt(int32_t first) {
  begin = sums[first];
  if (problem.waits.empty())
    return;
  auto isBefore = [](const BoundWait &wait, int32_t op) {
    return wait.op < op;
  };
  size_t wait = static_cast<size_t>(std::lower_bound(problem.waits.begin(),
                                                     problem.waits.end(), first,
                                                     isBefore) -
                                    problem.waits.begin());
  double now = begin;
  for (auto op = static_cast<size_t>(first); op < ends.size(); ++op) {
    for (; wait < problem.waits.size() &&
           problem.waits[wait].op == static_cast<int32_t>(op);
         ++wait)
      if (problem.waits[wait].after >= first)
        now = std::max(now, ends[problem.waits[wait].after] + reducedNs[wait]);
    now += static_cast<double>(problem.computeNs[op]);
    ends[op] = now;
  }
}

/// The time from an op's use of params to its next one: the compute up to a
/// gradient's readiness, then all gradients that are ready no sooner and needed
/// no later, beside the rest of the compute. One gradient is updated while
/// another travels, or a part of it while the rest does, so updates add nothing
/// to that time.
static CycleBound boundCycles(const BoundProblem &problem, Traffic &traffic,
                              Compute &compute) {
  const auto &gradients = problem.gradients;
  auto ops = static_cast<int32_t>(problem.computeNs.size());
  std::vector<size_t> order = byReadiness(problem);

  CycleBound bound;
  for (int32_t user : usersOf(problem)) {
    compute.startAt(user);
    traffic.clear();
    double latency = std::numeric_limits<double>::infinity();
    double updatesNs = 0;
    int32_t needed = -1;
    for (size_t index : order) {
      const BoundGradient &gradient = gradients[index];
      if (gradient.readyAfter < user)
        break;
      if (gradient.neededBy < 0 || gradient.neededBy > user)
        continue;
      traffic.add(index);
      latency = std::min(latency, latencyOf(problem.cluster, gradient.over));
      updatesNs += static_cast<double>(gradient.updateNs);
      if (gradient.neededBy == user)
        needed = static_cast<int32_t>(index);
      double beside = compute.between(gradient.readyAfter + 1, ops) +
                      compute.between(0, user);
      double updated = spreadUpdates(problem.cluster, updatesNs,
                                     std::max(beside, latency), latency);
      double ns = compute.until(gradient.readyAfter) +
                  std::max(traffic.untilDone(beside), updated);
      if (ns > bound.ns)
        bound = {ns, needed};
    }
  }
  return bound;
}

/// The time of the device's work in a step.
static double boundCompute(const BoundProblem &problem, Compute &compute) {
  auto ops = static_cast<int32_t>(problem.computeNs.size());
  auto busyNs =
      compute.between(0, ops) + static_cast<double>(problem.anyTimeNs);
  // The device runs the updates, for the runtime or for the program.
  busyNs =
      spreadUpdates(problem.cluster, static_cast<double>(problem.updatesNs),
                    busyNs, /*serversNs=*/0);
  if (ops == 0)
    return busyNs;
  compute.startAt(0);
  return std::max(busyNs, compute.until(ops - 1));
}

LowerBound bagua::lowerBound(const BoundProblem &problem) {
  LowerBound bound;
  Traffic traffic(problem);
  Compute compute(problem, traffic);
  bound.computeNs = boundCompute(problem, compute);
  traffic.clear();
  for (size_t i = 0; i < problem.gradients.size(); ++i)
    traffic.add(i);
  auto ops = static_cast<int32_t>(problem.computeNs.size());
  auto [linksNs, cut] = traffic.largest(compute.between(0, ops));
  bound.linksNs = linksNs;
  CycleBound cycle = boundCycles(problem, traffic, compute);
  bound.cycleNs = cycle.ns;

  bound.ns = std::max({bound.computeNs, bound.linksNs, bound.cycleNs});
  if (bound.ns == bound.computeNs) {
    bound.binding = LowerBound::Binding::Compute;
  } else if (bound.ns == bound.linksNs) {
    bound.binding = LowerBound::Binding::Links;
    bound.index = traffic.levelOf(cut);
  } else {
    bound.binding = LowerBound::Binding::Cycle;
    bound.index = cycle.gradient;
  }
  return bound;
}
