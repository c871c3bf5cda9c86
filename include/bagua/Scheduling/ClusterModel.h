//===- ClusterModel.h - The machines, as numbers --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What `bagua.cluster` says, without MLIR: axes with their links, servers, and
// what of the device matters to communication.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_SCHEDULING_CLUSTERMODEL_H
#define BAGUA_SCHEDULING_CLUSTERMODEL_H

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

/// Linear between the measured sizes and beyond the last two.
double interpolate(const TimeTable &table, int64_t bytes);

/// A message from one rank to another goes over the link of the outermost axis
/// on which they differ.
struct AxisModel {
  std::string name;
  int64_t size = 1;
  /// Of one message.
  int64_t latencyNs = 0;
  /// Of one direction of one link.
  int64_t bytesPerS = 1;
  /// Neighbouring ranks that share one link: those of a node its network card,
  /// or those along the axis itself a bus.
  int64_t sharers = 1;
  /// Of collectives over this axis alone, by the collective's name. Lists of
  /// initializers may end before.
  // NOLINTNEXTLINE(readability-redundant-member-init)
  std::map<std::string, TimeTable> tables = {};
  /// The part of a link's rate that is left while the program computes.
  double overlappedRate = 1;
  /// So long from the start of each op of its compute; 0: all the while.
  int64_t overlappedNs = 0;
  /// The part of a link's rate that several messages in flight have together.
  double concurrentRate = 1;
  /// What a collective takes of each link that it uses besides its bytes, in
  /// which nothing else flows (after LogP's gap, which is a message's: Culler
  /// et al., PPoPP 1993).
  int64_t gapNs = 0;
  /// The axis whose links these are: one before it, of which it was cut; -1:
  /// its own.
  int linksOf = -1;
};

/// The runtime's work on a rank's own elements that is no update.
inline constexpr const char *kOtherWork = "linear";

struct ClusterModel {
  /// Outermost first.
  std::vector<AxisModel> axes;
  /// Each on a host of its own, with a link like the outermost axis's.
  int64_t dedicatedServers = 0;
  /// One more server on each coordinate of these axes; its link is that of the
  /// innermost of them.
  AxisSet serversOn = 0;
  /// Of a collective or of a kernel.
  int64_t launchNs = 0;
  /// Of a collective besides, as a system takes it.
  int64_t messageNs = 0;
  /// Of a stream that stood still, before it goes on.
  int64_t wakeNs = 0;
  /// Of the device's memory; 0 is unknown, and local work then costs nothing.
  int64_t memoryBytesPerS = 0;
  double communicationSlowdown = 1;
  /// Of the runtime's own work on a rank, by the bytes that it reads and
  /// writes, where the cores that carry the messages do it: by the name of an
  /// update, kOtherWork for the rest. Empty: the device does it, which the
  /// program's compute shares.
  std::map<std::string, TimeTable> host;
  /// Collectives among ranks are made by rings and trees alone, as NCCL makes
  /// them: no rank sends to all others at once but in an all_to_all.
  bool hasRingsAndTreesOnly = false;

  int axisCount() const { return static_cast<int>(axes.size()); }
  AxisSet allAxes() const { return (AxisSet(1) << axes.size()) - 1; }
  /// Ranks of a group over the axes: the product of their sizes.
  int64_t groupSize(AxisSet set) const;
  int64_t workers() const { return groupSize(allAxes()); }
  int64_t colocatedServers() const {
    return serversOn ? groupSize(serversOn) : 0;
  }
  /// The axis that an axis's links belong to.
  int linkOwner(int axis) const {
    return axes[axis].linksOf < 0 ? axis : axes[axis].linksOf;
  }
  int64_t servers() const { return dedicatedServers + colocatedServers(); }
  /// Of the runtime's work on a rank that moves so many bytes: a kind of update
  /// or kOtherWork. One that the host has no times of takes as long as other
  /// work.
  double localNs(const std::string &work, int64_t bytes) const;

  /// What is wrong with it: no axis or too many, a size, rate or number of
  /// sharers under 1, sharers that are not whole inner axes and a part of the
  /// next one, a table that doesn't ascend. Nothing if it is sound.
  std::optional<std::string> check() const;
};

/// Links as the task graph numbers them. Of an axis, those of one worker; one
/// that has the links of another has numbers that nothing uses.
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
/// `node egress`, `server 2 ingress`: for reports.
std::string linkName(const ClusterModel &cluster, int32_t link);

} // namespace bagua

#endif // BAGUA_SCHEDULING_CLUSTERMODEL_H
