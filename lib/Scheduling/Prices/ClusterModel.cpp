//===- ClusterModel.cpp - The machines, as numbers ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Group sizes, checks and names of links.
//
//===----------------------------------------------------------------------===//
#include "bagua/Scheduling/Prices/ClusterModel.h"

#include <algorithm>

using namespace bagua;

int64_t ClusterModel::groupSize(AxisSet set) const {
  int64_t size = 1;
  for (int axis = 0; axis < axisCount(); ++axis)
    if (set >> axis & 1)
      size *= axes[axis].size;
  return size;
}

double bagua::interpolate(const TimeTable &table, int64_t bytes) {
  auto ns = [&](size_t i) { return static_cast<double>(table[i].second); };
  auto at = [&](size_t i) { return static_cast<double>(table[i].first); };
  if (bytes <= table.front().first || table.size() == 1)
    return ns(0);
  size_t upper = 1;
  while (upper + 1 < table.size() && table[upper].first < bytes)
    ++upper;
  double slope = (ns(upper) - ns(upper - 1)) / (at(upper) - at(upper - 1));
  return std::max(0.0,
                  ns(upper) + slope * (static_cast<double>(bytes) - at(upper)));
}

double ClusterModel::localNs(const std::string &work, int64_t bytes) const {
  if (bytes == 0)
    return 0;
  if (!host.empty()) {
    auto table = host.find(work);
    return interpolate(
        table == host.end() ? host.at(kOtherWork) : table->second, bytes);
  }
  if (memoryBytesPerS == 0)
    return 0;
  return static_cast<double>(launchNs) +
         static_cast<double>(bytes) * 1e9 /
             static_cast<double>(memoryBytesPerS);
}

/// Whether ranks share a link from the inside out: all ranks along the inner
/// axes, and all or some along the last of these.
static bool areSharersNested(const ClusterModel &cluster, int axis) {
  int64_t rest = cluster.axes[axis].sharers;
  for (int inner = cluster.axisCount() - 1; inner >= axis && rest > 1;
       --inner) {
    int64_t size = cluster.axes[inner].size;
    if (rest < size)
      return size % rest == 0;
    if (rest % size != 0)
      return false;
    rest /= size;
  }
  return rest == 1;
}

static std::optional<std::string> check(const std::string &where,
                                        const TimeTable &table) {
  if (table.empty())
    return where + "expected times, found none";
  for (size_t i = 0; i < table.size(); ++i)
    if (table[i].first < 0 || table[i].second < 0 ||
        (i > 0 && table[i].first <= table[i - 1].first))
      return where + "expected ascending bytes";
  return std::nullopt;
}

std::optional<std::string> ClusterModel::check() const {
  if (axes.empty() || axes.size() > 16)
    return "expected 1 to 16 axes, found " + std::to_string(axes.size());
  if (serversOn & ~allAxes())
    return "expected servers on axes of the cluster";
  // Eleven days: sums of such times do not overflow in any step.
  constexpr int64_t kMostNs = 1000000000000000;
  for (int64_t ns : {launchNs, messageNs, wakeNs})
    if (ns < 0 || ns > kMostNs)
      return "expected launch_ns, message_ns and wake_ns of 0 to " +
             std::to_string(kMostNs) + " ns, found " + std::to_string(ns);
  bool hasCuts =
      std::any_of(axes.begin(), axes.end(),
                  [](const AxisModel &axis) { return axis.linksOf >= 0; });
  for (const AxisModel &axis : axes) {
    std::string name = "axis '" + axis.name + "': ";
    for (int64_t ns : {axis.latencyNs, axis.gapNs})
      if (ns > kMostNs)
        return name + "expected latency_ns and gap_ns of at most " +
               std::to_string(kMostNs) + " ns, found " + std::to_string(ns);
    if (axis.size < 1 || axis.latencyNs < 0 || axis.bytesPerS < 1 ||
        axis.sharers < 1 || axis.overlappedNs < 0 || axis.gapNs < 0)
      return name + "expected positive sizes, times and rates";
    for (double rate : {axis.overlappedRate, axis.concurrentRate})
      if (!(rate > 0) || rate > 1)
        return name +
               "expected an overlapped and a concurrent rate over 0 and at "
               "most 1, found " +
               std::to_string(rate);
    int index = static_cast<int>(&axis - axes.data());
    if (axis.linksOf >= index)
      return name + "expected the links of an axis before it";
    // The sharers of a link stand with the axis that owns the link.
    if (axis.linksOf < 0 && !areSharersNested(*this, index))
      return name + "expected as many sharers as ranks inside it, or a part " +
             "of them or of those along it that divides them, found " +
             std::to_string(axis.sharers) +
             (hasCuts ? ", once the step's mesh has cut an axis" : "");
    for (const auto &[collective, table] : axis.tables)
      if (auto wrong = ::check(name + "table of " + collective + ": ", table))
        return wrong;
  }
  for (const auto &[work, table] : host)
    if (auto wrong = ::check("host's times of " + work + ": ", table))
      return wrong;
  if (!host.empty() && host.count(kOtherWork) == 0)
    return std::string("expected the host's times of ") + kOtherWork +
           ", which all other work goes by";
  return std::nullopt;
}

std::string bagua::linkName(const ClusterModel &cluster, int32_t link) {
  int32_t number = link / 2;
  std::string owner =
      number < cluster.axisCount()
          ? cluster.axes[number].name
          : "server " + std::to_string(number - cluster.axisCount());
  return owner + (link % 2 == 0 ? " egress" : " ingress");
}
