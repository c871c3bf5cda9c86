//===- CollectiveCost.cpp - What a collective costs -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Closed forms, each as a latency and as traffic on links.
//
//===----------------------------------------------------------------------===//
#include "bagua/Scheduling/Prices/CollectiveCost.h"

#include "bagua/Support/Parts.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <utility>

using namespace bagua;

static constexpr std::array<std::string_view, 5> kAlgorithmNames = {
    "ring", "tree", "halving_doubling", "direct", "measured"};

std::string_view bagua::algorithmName(Algorithm algorithm) {
  return kAlgorithmNames[static_cast<size_t>(algorithm)];
}

double CollectiveCost::ns() const {
  double longest = 0;
  for (const LinkUse &use : uses)
    longest = std::max(longest, use.ns);
  return latencyNs + longest;
}

//===----------------------------------------------------------------------===//
// Traffic
//===----------------------------------------------------------------------===//

static bool has(AxisSet set, int axis) { return set >> axis & 1; }

static int64_t ceilLog2(int64_t value) {
  int64_t log = 0;
  while ((int64_t(1) << log) < value)
    ++log;
  return log;
}

static int outermostOf(AxisSet set) {
  int axis = 0;
  while (!has(set, axis))
    ++axis;
  return axis;
}

/// Among the ranks that share a link along an axis: the number that takes part
/// in a call, and the number of different groups among these.
struct LinkSharers {
  double all = 1;
  double groups = 1;
};

static LinkSharers sharersOf(const ClusterModel &cluster, int axis,
                             const SizedCollective &call) {
  LinkSharers sharers;
  int64_t rest = cluster.axes[axis].sharers;
  for (int inner = cluster.axisCount() - 1; inner > axis; --inner) {
    int64_t taken = std::min(cluster.axes[inner].size, rest);
    rest /= taken;
    if (has(call.roots, inner))
      continue;
    sharers.all *= static_cast<double>(taken);
    if (!has(call.over, inner))
      sharers.groups *= static_cast<double>(taken);
  }
  // Ranks share the links of an axis that was cut from farther out, too.
  if (has(call.roots, axis))
    rest = std::max<int64_t>(1, rest / cluster.axes[axis].size);
  return {sharers.all * static_cast<double>(rest),
          sharers.groups * static_cast<double>(rest)};
}

/// The load of one link along an axis if each group's traffic across the axis
/// is spread evenly over the links of all ranks of the group, as NCCL's several
/// rings do: groups in a coordinate of the axis divided by links there.
static double ringsOnLink(const ClusterModel &cluster, int axis,
                          const SizedCollective &call) {
  double groups = 1, ranks = 1;
  for (int inner = axis + 1; inner < cluster.axisCount(); ++inner) {
    if (has(call.roots, inner))
      continue;
    auto size = static_cast<double>(cluster.axes[inner].size);
    ranks *= size;
    if (!has(call.over, inner))
      groups *= size;
  }
  return groups * sharersOf(cluster, axis, call).all / ranks;
}

/// The time for which a message's bytes occupy a link in one direction: the
/// bytes at the link's rate, and the gap.
static LinkUse useOf(const ClusterModel &cluster, int32_t link, int axis,
                     double bytes) {
  const AxisModel &model = cluster.axes[axis];
  return {link, static_cast<double>(model.gapNs) +
                    bytes * 1e9 / static_cast<double>(model.bytesPerS)};
}

/// Adds the same traffic in both directions of the worker's link along an axis.
static void addBothWays(const ClusterModel &cluster, int axis, double bytes,
                        std::vector<LinkUse> &uses) {
  uses.push_back(useOf(cluster, egressLink(axis), axis, bytes));
  uses.push_back(useOf(cluster, ingressLink(axis), axis, bytes));
}

/// The number of halves of an all_reduce that a collective amounts to: 2, 1, or
/// 0 for others.
static int halvesOf(Collective collective) {
  switch (collective) {
  case Collective::AllReduce:
    return 2;
  case Collective::ReduceScatter:
  case Collective::AllGather:
    return 1;
  case Collective::Reduce:
  case Collective::Broadcast:
  case Collective::AllToAll:
  case Collective::ExchangeRing:
  case Collective::ExchangeShiftOne:
  case Collective::Permute:
  case Collective::Push:
  case Collective::Pull:
    return 0;
  }
  return 0;
}

//===----------------------------------------------------------------------===//
// Algorithms
//===----------------------------------------------------------------------===//

static CollectiveCost ringCost(const ClusterModel &cluster,
                               const SizedCollective &call) {
  auto n = static_cast<double>(cluster.groupSize(call.over));
  int halves = halvesOf(call.collective);
  CollectiveCost cost;
  cost.bytesSent = halves * (n - 1) / n * static_cast<double>(call.bytes);
  // Hops of a half: all hops but those along inner axes.
  int64_t groups = 1;
  for (int axis = 0; axis < cluster.axisCount(); ++axis) {
    const AxisModel &model = cluster.axes[axis];
    if (!has(call.over, axis) || model.size == 1)
      continue;
    int64_t hops = groups * (model.size - 1);
    groups *= model.size;
    cost.latencyNs += static_cast<double>(halves * hops * model.latencyNs);
    addBothWays(cluster, axis,
                ringsOnLink(cluster, axis, call) * cost.bytesSent, cost.uses);
  }
  return cost;
}

static CollectiveCost treeCost(const ClusterModel &cluster,
                               const SizedCollective &call) {
  int passes = call.collective == Collective::AllReduce ? 2 : 1;
  double bytes = passes * static_cast<double>(call.bytes);
  CollectiveCost cost;
  // Rank 0 is the root.
  cost.bytesSent = call.collective == Collective::Reduce ? 0 : bytes;
  for (int axis = 0; axis < cluster.axisCount(); ++axis) {
    int64_t size = cluster.axes[axis].size;
    if (!has(call.over, axis) || size == 1)
      continue;
    cost.latencyNs += static_cast<double>(passes * ceilLog2(size) *
                                          cluster.axes[axis].latencyNs);
    addBothWays(cluster, axis, ringsOnLink(cluster, axis, call) * bytes,
                cost.uses);
  }
  return cost;
}

static CollectiveCost halvingDoublingCost(const ClusterModel &cluster,
                                          const SizedCollective &call) {
  int axis = outermostOf(call.over);
  int halves = halvesOf(call.collective);
  auto n = static_cast<double>(cluster.axes[axis].size);
  CollectiveCost cost;
  cost.latencyNs =
      static_cast<double>(halves * ceilLog2(cluster.axes[axis].size) *
                          cluster.axes[axis].latencyNs);
  cost.bytesSent = halves * (n - 1) / n * static_cast<double>(call.bytes);
  addBothWays(cluster, axis,
              sharersOf(cluster, axis, call).all * cost.bytesSent, cost.uses);
  return cost;
}

static CollectiveCost directCost(const ClusterModel &cluster,
                                 const SizedCollective &call) {
  auto n = static_cast<double>(cluster.groupSize(call.over));
  int rounds = std::max(halvesOf(call.collective), 1);
  auto bytes = static_cast<double>(call.bytes);
  CollectiveCost cost;
  cost.bytesSent = rounds * (n - 1) / n * bytes;
  int64_t latency = 0, inner = 1;
  for (int axis = cluster.axisCount() - 1; axis >= 0; --axis) {
    int64_t size = cluster.axes[axis].size;
    if (!has(call.over, axis) || size == 1)
      continue;
    latency = std::max(latency, cluster.axes[axis].latencyNs);
    auto peers = static_cast<double>((size - 1) * inner);
    addBothWays(cluster, axis,
                sharersOf(cluster, axis, call).all * rounds * peers / n * bytes,
                cost.uses);
    inner *= size;
  }
  cost.latencyNs = static_cast<double>(rounds * latency);
  return cost;
}

static CollectiveCost exchangeCost(const ClusterModel &cluster,
                                   const SizedCollective &call) {
  bool isRing = call.collective == Collective::ExchangeRing;
  CollectiveCost cost;
  cost.bytesSent = (isRing ? 2.0 : 1.0) * static_cast<double>(call.bytes);
  int64_t latency = 0;
  for (int axis = 0; axis < cluster.axisCount(); ++axis) {
    if (!has(call.over, axis) || cluster.axes[axis].size == 1)
      continue;
    latency = std::max(latency, cluster.axes[axis].latencyNs);
    // In a ring, one rank of each group crosses an axis, by its own link.
    LinkSharers sharers = sharersOf(cluster, axis, call);
    addBothWays(cluster, axis,
                (isRing ? sharers.groups : sharers.all) * cost.bytesSent,
                cost.uses);
    // The peer in shift_one is half of all ranks away; the peer in permute may
    // be.
    if (!isRing)
      break;
  }
  cost.latencyNs = static_cast<double>(latency);
  return cost;
}

namespace {
/// The load of co-located servers on links along one axis, for each byte that
/// every worker sends to them (or gets from them). A message takes the link of
/// the outermost axis on which its ends differ.
struct ColocatedLoad {
  /// On a worker's own link: the part that leaves along this axis, at most.
  double ofWorker = 0;
  /// On a server's own link: the number of workers whose bytes reach it along
  /// this axis.
  double ofServer = 0;
  /// Servers behind one link along the axis.
  double serversOnLink = 1;
};
} // namespace

/// Servers stand at coordinate 0 of the axes that are not theirs, so the
/// fullest link of a worker is the link of a worker at another coordinate.
static ColocatedLoad colocatedLoad(const ClusterModel &cluster, int axis,
                                   const SizedCollective &call) {
  auto sizeOf = [&](int at) {
    return static_cast<double>(cluster.axes[at].size);
  };
  auto isOfServers = [&](int at) { return has(cluster.serversOn, at); };
  ColocatedLoad load;
  // The part of servers that agree with the worker on all axes farther out.
  double alike = 1;
  for (int outer = 0; outer < axis; ++outer)
    if (isOfServers(outer))
      alike /= sizeOf(outer);
  // Along axes on which only roots have a value, workers stand at 0.
  bool isRoot = has(call.roots, axis);
  if (isOfServers(axis))
    load.ofWorker = alike * (sizeOf(axis) - 1) / sizeOf(axis);
  else
    load.ofWorker = isRoot || sizeOf(axis) == 1 ? 0 : alike;
  double others =
      isRoot ? double(isOfServers(axis) && sizeOf(axis) > 1) : sizeOf(axis) - 1;
  for (int inner = axis + 1; inner < cluster.axisCount(); ++inner)
    if (!has(call.roots, inner))
      others *= sizeOf(inner);
  load.ofServer = others;
  int64_t rest = cluster.axes[axis].sharers;
  for (int inner = cluster.axisCount() - 1; inner >= axis; --inner) {
    int64_t taken = std::min(cluster.axes[inner].size, rest);
    rest /= taken;
    if (isOfServers(inner))
      load.serversOnLink *= static_cast<double>(taken);
  }
  return load;
}

/// Rank 0 shares its host with the first server of those that share one with
/// workers.
static double sentByRank0(const ClusterModel &cluster,
                          const SizedCollective &call, double workers) {
  auto bytes = static_cast<double>(call.bytes);
  double own = 0;
  if (cluster.colocatedServers() > 0 && call.server < 0)
    own = bytes / static_cast<double>(cluster.servers());
  else if (call.server == cluster.dedicatedServers)
    own = bytes;
  return call.collective == Collective::Push ? bytes - own
                                             : own * (workers - 1);
}

/// Dedicated servers are further hosts on the outermost axis. Co-located
/// servers share their hosts' links, on all axes between them and the workers.
/// A value that is whole on one of them loads the links of all hosts equally on
/// average, because other values lie on other servers, but loads its own
/// server's link while it is sent.
static CollectiveCost serverCost(const ClusterModel &cluster,
                                 const SizedCollective &call) {
  bool isPush = call.collective == Collective::Push;
  auto bytes = static_cast<double>(call.bytes);
  auto hosts = static_cast<double>(cluster.colocatedServers());
  auto servers = static_cast<double>(cluster.servers());
  auto workers = static_cast<double>(cluster.workers()) /
                 static_cast<double>(cluster.groupSize(call.roots));
  double onHosts = call.server >= 0
                       ? double(call.server >= cluster.dedicatedServers)
                       : hosts / servers;
  CollectiveCost cost;
  cost.bytesSent = sentByRank0(cluster, call, workers);
  // Adds traffic of `times` the bytes, and the latency of an empty message too.
  auto load = [&](bool isFromWorkers, int axis, double times) {
    if (times <= 0)
      return;
    bool isEgress = isFromWorkers == isPush;
    cost.uses.push_back(useOf(cluster,
                              isEgress ? egressLink(axis) : ingressLink(axis),
                              axis, times * bytes));
    cost.latencyNs = std::max(
        cost.latencyNs, static_cast<double>(cluster.axes[axis].latencyNs));
  };
  auto loadServer = [&](int64_t server, int axis, double times) {
    if (times <= 0)
      return;
    double part = call.server >= 0 ? bytes : bytes / servers;
    cost.uses.push_back(useOf(cluster,
                              isPush ? serverIngressLink(cluster, server)
                                     : serverEgressLink(cluster, server),
                              axis, times * part));
  };
  load(/*isFromWorkers=*/true, 0,
       sharersOf(cluster, 0, call).all * (1 - onHosts));
  // The axis along which a server's own bytes take most time.
  int slowest = 0;
  double slowestLoad = 0, longest = -1;
  for (int axis = 0; onHosts > 0 && axis < cluster.axisCount(); ++axis) {
    ColocatedLoad own = colocatedLoad(cluster, axis, call);
    load(true, axis,
         sharersOf(cluster, axis, call).all * own.ofWorker * onHosts);
    load(false, axis, own.serversOnLink * own.ofServer * onHosts / hosts);
    double ns =
        own.ofServer / static_cast<double>(cluster.axes[axis].bytesPerS);
    if (ns > longest) {
      longest = ns;
      slowest = axis;
      slowestLoad = own.ofServer;
    }
  }
  for (int64_t server = 0; server < cluster.servers(); ++server) {
    if (call.server >= 0 && call.server != server)
      continue;
    bool isDedicated = server < cluster.dedicatedServers;
    loadServer(server, isDedicated ? 0 : slowest,
               isDedicated ? workers : slowestLoad);
  }
  return cost;
}

static std::optional<CollectiveCost> measuredCost(const ClusterModel &cluster,
                                                  const SizedCollective &call);

std::optional<CollectiveCost> bagua::costBy(const ClusterModel &cluster,
                                            const SizedCollective &call,
                                            Algorithm algorithm) {
  bool isOnServers = usesServers(call.collective);
  bool isRooted = call.collective == Collective::Reduce ||
                  call.collective == Collective::Broadcast;
  bool isExchange = call.collective == Collective::ExchangeRing ||
                    call.collective == Collective::ExchangeShiftOne ||
                    call.collective == Collective::Permute;
  std::optional<CollectiveCost> cost;
  switch (algorithm) {
  case Algorithm::Ring:
    if (halvesOf(call.collective) > 0)
      cost = ringCost(cluster, call);
    break;
  case Algorithm::Tree:
    if (call.collective == Collective::AllReduce || isRooted)
      cost = treeCost(cluster, call);
    break;
  case Algorithm::HalvingDoubling: {
    AxisSet axis = AxisSet(1) << outermostOf(call.over);
    int64_t size = cluster.groupSize(call.over);
    if (halvesOf(call.collective) > 0 && call.over == axis &&
        (size & (size - 1)) == 0)
      cost = halvingDoublingCost(cluster, call);
    break;
  }
  case Algorithm::Direct:
    if (isOnServers && cluster.servers() > 0)
      cost = serverCost(cluster, call);
    else if (isExchange)
      cost = exchangeCost(cluster, call);
    else if (!isOnServers && !isRooted)
      cost = directCost(cluster, call);
    break;
  case Algorithm::Measured:
    if (!isOnServers)
      cost = measuredCost(cluster, call);
    break;
  }
  if (cost)
    cost->algorithm = algorithm;
  return cost;
}

/// The cheapest of the formulas that apply.
static CollectiveCost costByFormula(const ClusterModel &cluster,
                                    const SizedCollective &call) {
  std::optional<CollectiveCost> best;
  for (Algorithm algorithm : {Algorithm::Ring, Algorithm::Tree,
                              Algorithm::HalvingDoubling, Algorithm::Direct}) {
    std::optional<CollectiveCost> cost = costBy(cluster, call, algorithm);
    bool isRingOrTree =
        algorithm == Algorithm::Ring || algorithm == Algorithm::Tree;
    if (cluster.hasRingsAndTreesOnly && !isRingOrTree && best)
      continue;
    if (cost && (!best || cost->ns() < best->ns()))
      best = cost;
  }
  return *best;
}

/// The links and traffic are a formula's; the time is measured. The latency,
/// which passes before bytes flow, is the time of the smallest message without
/// the gap. But bytes, even the smallest message's, flow for at least the
/// formula's time, because many small messages share the links' rate. If a
/// message is measured to be faster than gap and bytes, it takes the measured
/// time. If it is larger than all measured ones, it takes no less than the
/// largest measured time, even if the last times fall, and no less than the
/// formula's time, less whatever the largest measured time was below the
/// formula's.
static std::optional<CollectiveCost> measuredCost(const ClusterModel &cluster,
                                                  const SizedCollective &call) {
  int axis = outermostOf(call.over);
  if (call.over != AxisSet(1) << axis)
    return std::nullopt;
  const auto &tables = cluster.axes[axis].tables;
  auto table = tables.find(std::string(collectiveName(call.collective)));
  if (table == tables.end())
    return std::nullopt;
  CollectiveCost cost = costByFormula(cluster, call);
  double ns = interpolate(table->second, call.bytes);
  if (auto [bytes, largestNs] = table->second.back(); call.bytes > bytes) {
    SizedCollective largest = call;
    largest.bytes = bytes;
    double byFormula = costByFormula(cluster, largest).ns();
    const auto measuredNs = static_cast<double>(largestNs);
    ns = std::max({ns, measuredNs,
                   std::min(measuredNs, byFormula) + cost.ns() - byFormula});
  }
  auto hiddenNs = static_cast<double>(table->second.front().second -
                                      cluster.axes[axis].gapNs);
  double flowNs = cost.ns() - cost.latencyNs;
  cost.latencyNs = std::max(0.0, std::min(hiddenNs, ns - flowNs));
  for (LinkUse &use : cost.uses)
    use.ns = ns - cost.latencyNs;
  return cost;
}

namespace {
/// A cluster in which the axes that were cut are joined again, if a call
/// doesn't see the cut: both parts take part in it, or neither does.
class Joined {
public:
  Joined(const ClusterModel &cut, const SizedCollective &call);

  /// The cost on the links of the cluster that was cut.
  CollectiveCost cost() const;

private:
  bool isJoinable(int axis) const;
  AxisSet joined(AxisSet set) const;

  const ClusterModel &cut;
  SizedCollective call;
  ClusterModel cluster;
  /// For each axis of the joined cluster, the first axis in the cut cluster.
  std::vector<int> firstOf;
};
} // namespace

Joined::Joined(const ClusterModel &cutCluster, const SizedCollective &cutCall)
    : cut(cutCluster), call(cutCall), cluster(cutCluster) {
  cluster.axes.clear();
  for (int axis = 0; axis < cut.axisCount(); ++axis) {
    if (isJoinable(axis)) {
      cluster.axes.back().size *= cut.axes[axis].size;
      continue;
    }
    firstOf.push_back(axis);
    cluster.axes.push_back(cut.axes[axis]);
    cluster.axes.back().linksOf = -1;
  }
  cluster.serversOn = joined(cut.serversOn);
  call.over = joined(call.over);
  call.roots = joined(call.roots);
}

bool Joined::isJoinable(int axis) const {
  if (cut.axes[axis].linksOf < 0)
    return false;
  auto isAlike = [&](AxisSet set) {
    return has(set, axis) == has(set, axis - 1);
  };
  return isAlike(call.over) && isAlike(call.roots) && isAlike(cut.serversOn);
}

AxisSet Joined::joined(AxisSet set) const {
  AxisSet result = 0;
  for (size_t axis = 0; axis < firstOf.size(); ++axis)
    if (has(set, firstOf[axis]))
      result |= AxisSet(1) << axis;
  return result;
}

CollectiveCost Joined::cost() const {
  CollectiveCost cost = cheapestCost(cluster, call);
  // In a ring or a tree a rank sends its bytes to one other rank, along
  // whichever part of an axis.
  bool isOneHop =
      cost.algorithm == Algorithm::Ring || cost.algorithm == Algorithm::Tree;
  std::vector<LinkUse> uses;
  for (LinkUse use : cost.uses) {
    int axis = use.link / 2;
    int owner = axis < cluster.axisCount()
                    ? cut.linkOwner(firstOf[axis])
                    : axis - cluster.axisCount() + cut.axisCount();
    use.link = 2 * owner + use.link % 2;
    auto same =
        std::find_if(uses.begin(), uses.end(), [&](const LinkUse &other) {
          return other.link == use.link;
        });
    if (same == uses.end())
      uses.push_back(use);
    else
      same->ns = isOneHop ? std::max(same->ns, use.ns) : same->ns + use.ns;
  }
  cost.uses = std::move(uses);
  return cost;
}

CollectiveCost bagua::cheapestCost(const ClusterModel &cluster,
                                   const SizedCollective &call) {
  for (const AxisModel &axis : cluster.axes)
    if (axis.linksOf >= 0)
      return Joined(cluster, call).cost();
  bool isOnServers = usesServers(call.collective);
  assert(call.over && (!isOnServers || cluster.servers() > 0));
  CollectiveCost cost;
  if (isOnServers || cluster.groupSize(call.over) > 1) {
    std::optional<CollectiveCost> measured =
        costBy(cluster, call, Algorithm::Measured);
    cost = measured ? *measured : costByFormula(cluster, call);
  }
  cost.latencyNs += static_cast<double>(cluster.launchNs) +
                    static_cast<double>(cluster.messageNs);
  return cost;
}
