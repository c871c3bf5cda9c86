//===- OpGraph.cpp - One step's ops as index arrays -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Builds graphs, prices collectives, and makes the simulator's tasks.
//
//===----------------------------------------------------------------------===//
#include "bagua/Scheduling/Prices/OpGraph.h"

#include "bagua/Scheduling/Prices/LateOps.h"

#include <algorithm>
#include <utility>

using namespace bagua;

int32_t OpGraph::add(const GraphOp &op,
                     const std::vector<int32_t> &opOperands) {
  ops.push_back(op);
  operands.insert(operands.end(), opOperands.begin(), opOperands.end());
  firstOperand.push_back(static_cast<int32_t>(operands.size()));
  return size() - 1;
}

/// Whether a link belongs to a server that is not the first of its kind.
static bool isAnotherServers(const ClusterModel &cluster, int32_t link) {
  int64_t server = link / 2 - cluster.axisCount();
  return server > 0 && server != cluster.dedicatedServers;
}

const CollectiveCost &CollectivePrices::of(const SizedCollective &call) {
  auto [entry, isNew] = known.try_emplace(std::make_tuple(
      call.collective, call.over, call.bytes, call.roots, call.server));
  if (!isNew)
    return entry->second;
  CollectiveCost &cost = entry->second = cheapestCost(cluster, call);
  if (serverLinks == ServerLinks::OneOfAKind && call.server < 0)
    cost.uses.erase(std::remove_if(cost.uses.begin(), cost.uses.end(),
                                   [&](const LinkUse &use) {
                                     return isAnotherServers(cluster, use.link);
                                   }),
                    cost.uses.end());
  return cost;
}

/// A task graph with links and streams, and without tasks.
static TaskGraph makeGraph(const ClusterModel &cluster,
                           const LaunchSchedule &schedule) {
  TaskGraph graph;
  graph.links.resize(linkCount(cluster));
  for (int axis = 0; axis < cluster.axisCount(); ++axis)
    for (int32_t link : {egressLink(axis), ingressLink(axis)}) {
      const AxisModel &model = cluster.axes[axis];
      graph.links[link].overlappedRate = model.overlappedRate;
      graph.links[link].concurrentRate = model.concurrentRate;
      if (model.overlappedNs > 0)
        graph.links[link].overlappedNs =
            static_cast<double>(model.overlappedNs);
    }
  graph.communicationSlowdown = cluster.communicationSlowdown;
  graph.wakeNs = static_cast<double>(cluster.wakeNs);
  for (const LaunchSchedule::Stream &stream : schedule.streams) {
    graph.streams.emplace_back();
    graph.streams.back().name = stream.name;
    graph.streams.back().isCompute = stream.isProgram;
  }
  return graph;
}

/// Assigns the runtime's own work on a rank to the device, or to the cores that
/// carry messages. Those cores count as links of the rank; returns the links
/// that the work uses.
static std::vector<LinkUse> placeLocalWork(const ClusterModel &cluster,
                                           Task &task) {
  task.usesDevice = cluster.host.empty();
  if (task.usesDevice)
    return {};
  int inner = cluster.linkOwner(cluster.axisCount() - 1);
  double ns = std::exchange(task.fixedNs, 0);
  return {{egressLink(inner), ns}, {ingressLink(inner), ns}};
}

PricedTasks bagua::tasksOf(const OpGraph &step, const LaunchSchedule &schedule,
                           CollectivePrices &prices) {
  const ClusterModel &cluster = prices.getCluster();
  PricedTasks result;
  TaskGraph &graph = result.graph = makeGraph(cluster, schedule);
  std::vector<const LaunchSchedule::Delay *> delayOf(step.size(), nullptr);
  for (const LaunchSchedule::Delay &delay : schedule.delays)
    delayOf[delay.op] = &delay;
  result.ops = executionOrder(schedule.order, schedule.lateBefore);
  std::vector<int32_t> taskOf(step.size());
  for (size_t i = 0; i < result.ops.size(); ++i)
    taskOf[result.ops[i]] = static_cast<int32_t>(i);
  auto isLate = [&](int32_t op) { return schedule.lateBefore[op] >= 0; };

  static const std::vector<LinkUse> kNoUses;
  std::vector<LinkUse> ownUses;
  std::vector<TaskDependency> dependencies;
  for (int32_t op : result.ops) {
    Task task;
    // The program runs one op after the other, so a late op is on the stream of
    // the op right after it.
    task.stream = schedule.streamOf[isLate(op) ? schedule.lateBefore[op] : op];
    task.fixedNs = step[op].ns;
    const std::vector<LinkUse> *uses = &kNoUses;
    if (step[op].kind == GraphOpKind::Collective) {
      const CollectiveCost &cost = prices.of(step[op].call);
      task.fixedNs = cost.latencyNs;
      task.bytes = step[op].call.bytes;
      uses = &cost.uses;
      result.bytesSent += cost.bytesSent;
    } else if (step[op].kind != GraphOpKind::Compute && !step[op].isOnServers) {
      ownUses = placeLocalWork(cluster, task);
      uses = &ownUses;
    }
    dependencies.clear();
    auto waitFor = [&](int32_t operand) {
      // A state is what the previous step left; a state that the step leaves
      // unchanged is there from the start.
      bool isState = OpGraph::isState(operand);
      int32_t from = isState ? step.yields[OpGraph::stateOf(operand)] : operand;
      if (from >= 0)
        dependencies.push_back(
            {taskOf[from], isState + isLate(op) - (isLate(from) ? 1 : 0)});
    };
    for (int32_t operand : step.operandsOf(op))
      waitFor(operand);
    if (delayOf[op])
      std::for_each(delayOf[op]->after.begin(), delayOf[op]->after.end(),
                    waitFor);
    graph.add(task, *uses, dependencies);
  }
  return result;
}

std::optional<std::string> LaunchSchedule::verify(const OpGraph &graph) const {
  auto count = static_cast<size_t>(graph.size());
  if (order.size() != count || streamOf.size() != count ||
      lateBefore.size() != count)
    return "expected a place, a stream and a time for each of " +
           std::to_string(count) + " ops, found " +
           std::to_string(order.size()) + ", " +
           std::to_string(streamOf.size()) + " and " +
           std::to_string(lateBefore.size());
  std::vector<int32_t> placeOf(count, -1);
  for (size_t i = 0; i < count; ++i) {
    if (order[i] < 0 || order[i] >= graph.size() || placeOf[order[i]] >= 0)
      return "expected every op once, found op " + std::to_string(order[i]) +
             " at place " + std::to_string(i);
    placeOf[order[i]] = static_cast<int32_t>(i);
  }
  for (int32_t op = 0; op < graph.size(); ++op) {
    std::string name = "op " + std::to_string(op) + ": ";
    if (streamOf[op] < 0 ||
        streamOf[op] >= static_cast<int32_t>(streams.size()))
      return name + "expected one of " + std::to_string(streams.size()) +
             " streams, found " + std::to_string(streamOf[op]);
    bool isProgram = graph[op].kind == GraphOpKind::Compute;
    if (streams[streamOf[op]].isProgram != isProgram)
      return name + "expected a stream of the " +
             (isProgram ? "program's" : "runtime's") + ", found '" +
             streams[streamOf[op]].name + "'";
    for (int32_t operand : graph.operandsOf(op))
      if (!OpGraph::isState(operand) && placeOf[operand] > placeOf[op])
        return name + "expected it after op " + std::to_string(operand) +
               ", which it uses, found it before";
  }
  std::vector<bool> isDelayed(count, false);
  auto isOp = [&](int32_t op) { return op >= 0 && op < graph.size(); };
  auto states = static_cast<int32_t>(graph.yields.size());
  for (const Delay &delay : delays) {
    bool isProgram =
        isOp(delay.op) && graph[delay.op].kind == GraphOpKind::Compute;
    auto isSource = [&](int32_t after) {
      return isProgram
                 ? OpGraph::isState(after) && OpGraph::stateOf(after) < states
                 : isOp(after);
    };
    if (!isOp(delay.op) || isDelayed[delay.op] ||
        !std::all_of(delay.after.begin(), delay.after.end(), isSource))
      return "expected delays of an op there is by others or by states, once "
             "each, found op " +
             std::to_string(delay.op);
    isDelayed[delay.op] = true;
    for (int32_t after : delay.after)
      if (!isProgram && placeOf[after] > placeOf[delay.op])
        return "op " + std::to_string(delay.op) + ": expected it after op " +
               std::to_string(after) + ", which it waits for, found it before";
  }
  return std::nullopt;
}
