//===- ClusterReader.cpp - Clusters in numbers ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Translates attributes into the plain model, and axes both ways.
//
//===----------------------------------------------------------------------===//
#include "bagua/Transforms/Bridge/ClusterReader.h"

#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;
using namespace bagua;

AxisSet bagua::readAxes(ClusterOp cluster, AxesAttr axes) {
  AxisSet set = 0;
  for (StringAttr name : axes.getNames())
    set |= AxisSet(1) << *cluster.findAxis(name);
  return set;
}

AxesAttr bagua::writeAxes(ClusterOp cluster, AxisSet set) {
  SmallVector<StringAttr> names;
  for (unsigned axis = 0; axis < cluster.getAxisCount(); ++axis)
    if (set >> axis & 1)
      names.push_back(StringAttr::get(cluster.getContext(),
                                      cluster.getAxis(axis).getName()));
  return AxesAttr::get(cluster.getContext(), names);
}

/// Reads `{all_reduce = array<i64: bytes, ns, bytes, ns>}`; null is an empty
/// map.
static std::map<std::string, TimeTable> readTables(DictionaryAttr attribute) {
  std::map<std::string, TimeTable> tables;
  if (!attribute)
    return tables;
  for (NamedAttribute entry : attribute) {
    auto numbers = cast<DenseI64ArrayAttr>(entry.getValue()).asArrayRef();
    TimeTable &table = tables[entry.getName().str()];
    for (size_t i = 0; i + 1 < numbers.size(); i += 2)
      table.emplace_back(numbers[i], numbers[i + 1]);
  }
  return tables;
}

llvm::FailureOr<ClusterModel> bagua::readClusterModel(ClusterOp cluster) {
  ClusterModel model;
  int64_t ranks = cluster.getWorkerCount();
  for (unsigned index = 0; index < cluster.getAxisCount(); ++index) {
    AxisAttr axis = cluster.getAxis(index);
    AxisModel &entry = model.axes.emplace_back();
    entry = {axis.getName().str(), axis.getSize(), axis.getLatencyNs(),
             axis.getBytesPerS(), std::min(axis.getSharers(), ranks)};
    // If there are fewer ranks than could share a link, all of them share it.
    ranks /= axis.getSize();
    if (FloatAttr rate = axis.getOverlappedRate())
      entry.overlappedRate = rate.getValueAsDouble();
    entry.overlappedNs = axis.getOverlappedNs();
    if (FloatAttr rate = axis.getConcurrentRate())
      entry.concurrentRate = rate.getValueAsDouble();
    entry.gapNs = axis.getGapNs();
    if (StringAttr owner = axis.getLinksOf()) {
      entry.linksOf = static_cast<int>(*cluster.findAxis(owner.getValue()));
      entry.sharers = model.axes[entry.linksOf].sharers;
    }
    entry.tables = readTables(axis.getTable());
  }
  model.dedicatedServers =
      static_cast<int64_t>(cluster.getServers().value_or(0));
  if (AxesAttr on = cluster.getServersOnAttr())
    model.serversOn = readAxes(cluster, on);
  model.hasRingsAndTreesOnly = cluster.getRingsAndTrees();
  model.messageNs = static_cast<int64_t>(cluster.getMessageNs().value_or(0));
  model.wakeNs = static_cast<int64_t>(cluster.getWakeNs().value_or(0));
  if (HostAttr host = cluster.getHostAttr())
    model.host = readTables(host.getTimes());
  if (DeviceAttr device = cluster.getDeviceAttr()) {
    model.launchNs = device.getLaunchNs();
    model.memoryBytesPerS = device.getBytesPerS();
    if (FloatAttr slowdown = device.getCommunicationSlowdown())
      model.communicationSlowdown = slowdown.getValueAsDouble();
  }
  if (std::optional<std::string> wrong = model.check())
    return cluster.emitOpError() << *wrong;
  return model;
}
