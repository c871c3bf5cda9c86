//===- PlanCommunicators.cpp - The groups that a plan communicates over ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All ranks walk the plan's instructions in launch order and create the
// communicators that they are members of. Since the order is the same on all
// ranks, no cycle of waits is possible.
//
//===----------------------------------------------------------------------===//
#include "Session/PlanCommunicators.h"
#include "Plan/Opcodes.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include <algorithm>
#include <tuple>

namespace bagua::runtime {
namespace {

constexpr int64_t kNoServer = -2;

/// The worker whose coordinates on the layout's shards are those of slot `slot`
/// (the last entry varies fastest), and 0 elsewhere.
int64_t rankOfSlot(const Layout &layout, const PlanCluster &cluster,
                   int64_t slot) {
  int64_t rank = 0;
  for (size_t i = layout.size(); i-- > 0;) {
    if (layout[i].kind != LayoutPart::Kind::Shard)
      continue;
    int64_t cuts = cutsOf(layout[i], cluster);
    // Each entry has its own axes, so coordinates can be added.
    rank += cluster.topology().groupOf(0, layout[i].axes)[slot % cuts];
    slot /= cuts;
  }
  return rank;
}

} // namespace

bool PlanCommunicators::Key::operator<(const Key &other) const {
  return std::tie(stream, axes, layout, server) <
         std::tie(other.stream, other.axes, other.layout, other.server);
}

PlanCommunicators::Key
PlanCommunicators::keyOf(const Plan &plan, const fb::Instruction &instruction) {
  Key key;
  key.stream = instruction.stream();
  key.axes.assign(instruction.axes()->begin(), instruction.axes()->end());
  key.server = kNoServer;
  Collective collective = *collectiveOf(instruction);
  if (!usesServers(collective))
    return key;
  bool isPush = collective == Collective::Push;
  uint32_t served =
      isPush ? instruction.outputs()->Get(0) : instruction.inputs()->Get(0);
  Layout layout = readLayout(plan.root().values()->Get(served)->layout());
  key.server = layout.back().server;
  layout.pop_back();
  key.layout = layoutToString(layout);
  return key;
}

absl::Status PlanCommunicators::addGroup(const Key &key,
                                         const std::string &name,
                                         int64_t firstRank, int64_t slot,
                                         std::vector<PlanGroup> &list) {
  const PlanCluster &cluster = plan->cluster();
  std::vector<int> members;
  for (int64_t member : cluster.topology().groupOf(firstRank, key.axes))
    members.push_back(static_cast<int>(member));
  PlanGroup group;
  group.workers = static_cast<int>(members.size());
  group.slot = slot;
  group.firstRank = firstRank;
  auto placeOf = [&](int member) {
    return std::find(members.begin(), members.end(), member) - members.begin();
  };
  if (key.server != kNoServer) {
    int64_t begin = std::max<int64_t>(key.server, 0);
    int64_t end = key.server < 0 ? cluster.serverCount() : key.server + 1;
    for (int64_t server = begin; server < end; ++server) {
      int owner = static_cast<int>(cluster.serverRank(server));
      group.owners.push_back(static_cast<int>(placeOf(owner)));
      if (group.owners.back() == static_cast<int>(members.size()))
        members.push_back(owner);
    }
  }
  group.position = static_cast<int>(placeOf(rank));
  if (group.position == static_cast<int>(members.size()))
    return absl::OkStatus();
  if (members.size() > 1) {
    auto made =
        backend->createCommunicator({members, name}, optionsOf(key.stream));
    if (!made.ok())
      return made.status();
    group.communicator = *std::move(made);
  }
  list.push_back(std::move(group));
  return absl::OkStatus();
}

absl::Status PlanCommunicators::createGroups(const Key &key,
                                             const Layout &workerLayout) {
  std::vector<absl::string_view> axes;
  for (int64_t axis : key.axes) {
    auto *name = plan->root().cluster()->axes()->Get(axis)->name();
    axes.push_back({name->data(), name->size()});
  }
  std::string name =
      absl::StrCat(prefix, plan->root().streams()->Get(key.stream)->str(), " [",
                   absl::StrJoin(axes, ", "), "]");
  std::vector<PlanGroup> &list = groups[key];
  if (key.server == kNoServer) {
    withoutServers.push_back(&list);
    if (!plan->cluster().isWorker(rank))
      return absl::OkStatus();
    int64_t first = plan->topology().groupOf(rank, key.axes)[0];
    return addGroup(key, name, first, 0, list);
  }
  int64_t slots = partCount(workerLayout, plan->cluster());
  for (int64_t slot = 0; slot < slots; ++slot) {
    std::string slotName =
        absl::StrCat(name, " server ", key.server, key.layout, " ", slot);
    absl::Status status =
        addGroup(key, slotName, rankOfSlot(workerLayout, plan->cluster(), slot),
                 slot, list);
    if (!status.ok())
      return status;
  }
  return absl::OkStatus();
}

absl::Status PlanCommunicators::create(const Plan &loaded, int ownRank,
                                       Backend &ownBackend,
                                       const std::string &prefixOfNames,
                                       const Options &options) {
  plan = &loaded;
  rank = ownRank;
  backend = &ownBackend;
  prefix = prefixOfNames;
  optionsOf = options;
  for (uint32_t i = 0; i < plan->instructionCount(); ++i) {
    const fb::Instruction &instruction = plan->instruction(i);
    if (!instruction.axes() || instruction.axes()->size() == 0)
      continue;
    Key key = keyOf(*plan, instruction);
    if (groups.count(key) > 0)
      continue;
    auto *whole = plan->root().values()->Get(wholeValueOf(instruction));
    absl::Status status = createGroups(key, readLayout(whole->layout()));
    if (!status.ok())
      return status;
  }
  return absl::OkStatus();
}

std::vector<Communicator *> PlanCommunicators::ofWorkers() const {
  std::vector<Communicator *> found;
  for (const std::vector<PlanGroup> *members : withoutServers)
    for (const PlanGroup &group : *members)
      if (group.communicator)
        found.push_back(group.communicator.get());
  return found;
}

const std::vector<PlanGroup> &
PlanCommunicators::groupsOf(const fb::Instruction &instruction) const {
  return groups.find(keyOf(*plan, instruction))->second;
}

} // namespace bagua::runtime
