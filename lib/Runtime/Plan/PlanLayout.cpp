//===- PlanLayout.cpp - What each rank stores of a value in a plan --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Walks a layout from its outermost entry; nothing is stored per rank.
//
//===----------------------------------------------------------------------===//
#include "bagua/Runtime/PlanLayout.h"

#include "bagua/Runtime/PlanGenerated.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include <algorithm>
#include <cassert>

namespace bagua::runtime {

PlanCluster::PlanCluster(Topology topology, bool hasColocated,
                         std::vector<int64_t> axes)
    : shape(std::move(topology)),
      colocated(hasColocated ? shape.groupSize(axes) : 0),
      serverAxes(std::move(axes)) {}

int64_t PlanCluster::serverRank(int64_t server) const {
  assert(server >= 0 && server < serverCount());
  if (server < shape.servers())
    return shape.workers() + server;
  return shape.groupOf(0, serverAxes)[server - shape.servers()];
}

int64_t PlanCluster::serverOfRank(int64_t rank) const {
  if (!isWorker(rank))
    return rank - shape.workers();
  if (colocated == 0)
    return -1;
  std::vector<int64_t> place = shape.coordinates(rank);
  for (int64_t axis = 0; axis < shape.axisCount(); ++axis)
    if (place[axis] != 0 &&
        !std::binary_search(serverAxes.begin(), serverAxes.end(), axis))
      return -1;
  return shape.servers() + shape.positionInGroup(rank, serverAxes);
}

Layout readLayout(
    const flatbuffers::Vector<flatbuffers::Offset<fb::LayoutEntry>> *entries) {
  Layout layout;
  if (!entries)
    return layout;
  for (const fb::LayoutEntry *entry : *entries) {
    LayoutPart part;
    part.kind = static_cast<LayoutPart::Kind>(entry->kind());
    if (entry->axes())
      part.axes.assign(entry->axes()->begin(), entry->axes()->end());
    part.server = entry->server();
    layout.push_back(std::move(part));
  }
  return layout;
}

bool isOnServers(const Layout &layout) {
  return !layout.empty() && layout.back().kind == LayoutPart::Kind::Server;
}

int64_t cutsOf(const LayoutPart &entry, const PlanCluster &cluster) {
  switch (entry.kind) {
  case LayoutPart::Kind::Shard:
    return cluster.topology().groupSize(entry.axes);
  case LayoutPart::Kind::Root:
    return 1;
  case LayoutPart::Kind::Server:
    return entry.server < 0 ? cluster.serverCount() : 1;
  }
  return 1;
}

int64_t partCount(const Layout &layout, const PlanCluster &cluster) {
  int64_t parts = 1;
  for (const LayoutPart &entry : layout)
    parts *= cutsOf(entry, cluster);
  return parts;
}

int64_t maxPartCount(int64_t count, const Layout &layout,
                     const PlanCluster &cluster) {
  for (const LayoutPart &entry : layout)
    count = partSize(count, cutsOf(entry, cluster));
  return count;
}

ElementRange workerRange(int64_t count, const Layout &layout,
                         const PlanCluster &cluster, int64_t rank) {
  assert(cluster.isWorker(rank) && !isOnServers(layout));
  ElementRange range = {0, count};
  for (const LayoutPart &entry : layout) {
    int64_t position = cluster.topology().positionInGroup(rank, entry.axes);
    if (entry.kind == LayoutPart::Kind::Root) {
      if (position != 0)
        return {range.begin, range.begin};
      continue;
    }
    ElementRange part =
        partRange(range.size(), cutsOf(entry, cluster), position);
    range = {range.begin + part.begin, range.begin + part.end};
  }
  return range;
}

int64_t serverSlots(const Layout &layout, const PlanCluster &cluster) {
  assert(isOnServers(layout));
  return partCount(Layout(layout.begin(), layout.end() - 1), cluster);
}

int64_t serverSlotCount(int64_t count, const Layout &layout,
                        const PlanCluster &cluster) {
  return maxPartCount(count, layout, cluster);
}

int64_t localCount(int64_t count, const Layout &layout,
                   const PlanCluster &cluster, int64_t rank) {
  if (!isOnServers(layout))
    return cluster.isWorker(rank)
               ? workerRange(count, layout, cluster, rank).size()
               : 0;
  int64_t server = cluster.serverOfRank(rank);
  const LayoutPart &entry = layout.back();
  if (server < 0 || (entry.server >= 0 && entry.server != server))
    return 0;
  int64_t slots = serverSlots(layout, cluster);
  if (slots > 1)
    return slots * serverSlotCount(count, layout, cluster);
  return entry.server >= 0
             ? count
             : partRange(count, cluster.serverCount(), server).size();
}

int64_t maxLocalCount(int64_t count, const Layout &layout,
                      const PlanCluster &cluster) {
  int64_t part = maxPartCount(count, layout, cluster);
  return isOnServers(layout) ? part * serverSlots(layout, cluster) : part;
}

EncodedForm readEncoding(const fb::Value &value) {
  EncodedForm form;
  const fb::ValueEncoding *found = value.encoding();
  if (!found)
    return form;
  form.encoding.id = static_cast<EncodingId>(found->id());
  if (found->parameters())
    std::copy(found->parameters()->begin(), found->parameters()->end(),
              form.encoding.parameters.begin());
  if (found->parts())
    form.parts.assign(found->parts()->begin(), found->parts()->end());
  if (found->terms())
    form.terms.assign(found->terms()->begin(), found->terms()->end());
  return form;
}

int64_t slotBytes(const fb::Value &value, const PlanCluster &cluster) {
  const EncodedForm form = readEncoding(value);
  int64_t count =
      maxLocalCount(value.count(), readLayout(value.layout()), cluster);
  return encodedSlotBytes(
      form.encoding, partSize(count, cluster.topology().groupSize(form.parts)),
      dataTypeBytes(static_cast<DataType>(value.type())));
}

int64_t maxLocalBytes(const fb::Value &value, const PlanCluster &cluster) {
  const EncodedForm form = readEncoding(value);
  return slotBytes(value, cluster) * cluster.topology().groupSize(form.parts) *
         cluster.topology().groupSize(form.terms);
}

int64_t elementsOf(const fb::Tensor &tensor) {
  int64_t count = 1;
  if (tensor.shape())
    for (int64_t size : *tensor.shape())
      count *= size;
  return count;
}

bool isOnEveryRank(const fb::Tensor &tensor) {
  return tensor.role() == fb::Role::Input && tensor.arena() < 0 &&
         (!tensor.layout() || tensor.layout()->size() == 0);
}

bool hasTensor(const fb::Tensor &tensor, const PlanCluster &cluster,
               int64_t rank) {
  return cluster.isWorker(rank) || isOnEveryRank(tensor) ||
         isOnServers(readLayout(tensor.layout()));
}

int64_t localCount(const fb::Tensor &tensor, int64_t count,
                   const PlanCluster &cluster, int64_t rank) {
  return isOnEveryRank(tensor)
             ? count
             : localCount(count, readLayout(tensor.layout()), cluster, rank);
}

int64_t localCount(const fb::Tensor &tensor, const PlanCluster &cluster,
                   int64_t rank) {
  return localCount(tensor, elementsOf(tensor), cluster, rank);
}

std::string layoutToString(const Layout &layout) {
  if (layout.empty())
    return {};
  return absl::StrCat(
      "[",
      absl::StrJoin(layout, ", ",
                    [](std::string *out, const LayoutPart &entry) {
                      if (entry.kind == LayoutPart::Kind::Server) {
                        absl::StrAppend(out, "server");
                        if (entry.server >= 0)
                          absl::StrAppend(out, " ", entry.server);
                        return;
                      }
                      bool isShard = entry.kind == LayoutPart::Kind::Shard;
                      absl::StrAppend(out, isShard ? "shard [" : "root [",
                                      absl::StrJoin(entry.axes, ", "), "]");
                    }),
      "]");
}

} // namespace bagua::runtime
