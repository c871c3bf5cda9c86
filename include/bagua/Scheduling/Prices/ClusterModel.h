//===- ClusterModel.h - The machines, as numbers --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The contents of `bagua.cluster` without MLIR: axes with their links, servers,
// and the numbers of the device that matter to communication.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_SCHEDULING_PRICES_CLUSTERMODEL_H
#define BAGUA_SCHEDULING_PRICES_CLUSTERMODEL_H

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace bagua {

/// A set of axes: bit `a` stands for axis `a`, the outermost being 0.
using AxisSet = uint32_t;

/// Measured times: (bytes, ns) by ascending bytes.
using TimeTable = std::vector<std::pair<int64_t, int64_t>>;

/// The time for `bytes` in ns: linear between the measured sizes and beyond the
/// last two; a smaller size takes as long as the smallest measured one. Never
/// negative.
double interpolate(const TimeTable &table, int64_t bytes);

/// A message from one rank to another goes over the link of the outermost axis
/// on which they differ.
struct AxisModel {
  std::string name;
  int64_t size = 1;
  /// The latency of one message.
  int64_t latencyNs = 0;
  /// The rate of one link in one direction.
  int64_t bytesPerS = 1;
  /// How many neighbouring ranks share one link: the ranks of a node share its
  /// network card, or the ranks along the axis itself share a bus.
  int64_t sharers = 1;
  /// Measured times of collectives over this axis alone, by the collective's
  /// name. (The default lets lists of initializers end before this member.)
  // NOLINTNEXTLINE(readability-redundant-member-init)
  std::map<std::string, TimeTable> tables = {};
  /// The part of a link's rate that is left while the program computes.
  double overlappedRate = 1;
  /// How long `overlappedRate` lasts from the start of each op of the program's
  /// compute; 0: as long as the program computes.
  int64_t overlappedNs = 0;
  /// The part of a link's rate that several messages in flight share.
  double concurrentRate = 1;
  /// The time in which a collective occupies each of its links besides the time
  /// of its bytes, so that nothing else flows there. (LogP's gap is a
  /// message's: Culler et al., PPoPP 1993.)
  int64_t gapNs = 0;
  /// The number of the axis whose links this axis uses: an axis before it, from
  /// which it was cut. -1: links of its own.
  int linksOf = -1;
};

/// The name for all of the runtime's local work on a rank but updates.
inline constexpr const char *kOtherWork = "linear";

struct ClusterModel {
  /// Outermost first.
  std::vector<AxisModel> axes;
  /// Servers on hosts of their own, each with a link like those of the
  /// outermost axis.
  int64_t dedicatedServers = 0;
  /// One more server stands at each coordinate of these axes; its link is that
  /// of the innermost of them.
  AxisSet serversOn = 0;
  /// The launch of a collective or of a kernel.
  int64_t launchNs = 0;
  /// The time that a system takes for each collective besides the launch.
  int64_t messageNs = 0;
  /// The time that an idle stream takes to wake up before its next task.
  int64_t wakeNs = 0;
  /// The rate of the device's memory; 0 is unknown, and local work then costs
  /// nothing.
  int64_t memoryBytesPerS = 0;
  double communicationSlowdown = 1;
  /// Times of the runtime's own work on a rank by the bytes that it reads and
  /// writes, for clusters where the cores that carry the messages do that work.
  /// The key is the name of an update, or kOtherWork for the rest. Empty: the
  /// device does the work, and shares its time with the program's compute.
  std::map<std::string, TimeTable> host;
  /// Collectives among ranks use rings and trees only, as NCCL's do: no rank
  /// sends to all others at once but in an all_to_all.
  bool hasRingsAndTreesOnly = false;

  int axisCount() const { return static_cast<int>(axes.size()); }
  AxisSet allAxes() const { return (AxisSet(1) << axes.size()) - 1; }
  /// The number of ranks of a group over the axes: the product of their sizes.
  int64_t groupSize(AxisSet set) const;
  int64_t workers() const { return groupSize(allAxes()); }
  int64_t colocatedServers() const {
    return serversOn ? groupSize(serversOn) : 0;
  }
  /// The axis that owns the links of `axis`.
  int linkOwner(int axis) const {
    return axes[axis].linksOf < 0 ? axis : axes[axis].linksOf;
  }
  int64_t servers() const { return dedicatedServers + colocatedServers(); }
  /// The time that the runtime's work on a rank takes if it moves so many
  /// bytes. `work` is a kind of update or kOtherWork; a kind that `host` has no
  /// times of takes as long as other work.
  double localNs(const std::string &work, int64_t bytes) const;

  /// Describes what is wrong with the cluster: no axis or too many, a size,
  /// rate or number of sharers under 1, sharers that are not whole inner axes
  /// and a part of the next one, a table that doesn't ascend. Nothing if it is
  /// sound.
  std::optional<std::string> check() const;
};

/// Numbers of links in the task graph. Each axis has those of one worker; an
/// axis that uses another one's links has numbers that nothing uses.
inline int32_t egressLink(int axis) { return 2 * axis; }
inline int32_t ingressLink(int axis) { return 2 * axis + 1; }
inline int32_t serverEgressLink(const ClusterModel &cluster, int64_t server) {
  return static_cast<int32_t>(2 * (cluster.axisCount() + server));
}
inline int32_t serverIngressLink(const ClusterModel &cluster, int64_t server) {
  return serverEgressLink(cluster, server) + 1;
}
inline int32_t linkCount(const ClusterModel &cluster) {
  return serverEgressLink(cluster, cluster.servers());
}
/// The name of a link in reports: `node egress`, `server 2 ingress`.
std::string linkName(const ClusterModel &cluster, int32_t link);

} // namespace bagua

#endif // BAGUA_SCHEDULING_PRICES_CLUSTERMODEL_H
