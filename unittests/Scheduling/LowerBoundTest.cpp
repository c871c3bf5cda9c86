//===- LowerBoundTest.cpp - Nothing simulated is below the bound ----------===//
//
// Bounds worked out by hand, and random steps under random schedules, none of
// which the simulator may find faster than the bound.
//
//===----------------------------------------------------------------------===//
#include "bagua/Scheduling/LowerBound.h"
#include "bagua/Scheduling/CollectiveCost.h"
#include "bagua/Scheduling/Message.h"
#include "bagua/Scheduling/Simulator.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <random>

using namespace bagua;
using testing::HasSubstr;
using testing::Optional;

namespace {

/// Four ranks, 1 byte a ns, no latency: a reduced byte takes 1.5 ns.
BoundProblem fourRanks() {
  BoundProblem problem;
  problem.cluster.axes = {{"rank", 4, 0, 1000000000}};
  return problem;
}

TEST(LowerBoundTest, Compute) {
  BoundProblem problem = fourRanks();
  problem.computeNs = {100, 200};
  problem.gradients = {{10, 1, 1, -1, 0}};
  problem.updatesNs = 40;
  LowerBound bound = lowerBound(problem);
  // The update may be spread over the ranks.
  EXPECT_DOUBLE_EQ(bound.ns, 300 + 40 / 4);
  EXPECT_EQ(bound.binding, LowerBound::Binding::Compute);
  problem.anyTimeNs = 7;
  EXPECT_DOUBLE_EQ(lowerBound(problem).ns, 300 + 40 / 4 + 7);
}

// What no message goes along carries none.
TEST(LowerBoundTest, AnAxisOfOne) {
  BoundProblem problem = fourRanks();
  problem.cluster.axes.insert(problem.cluster.axes.begin(),
                              {"node", 1, 9, 1000000000});
  problem.computeNs = {100, 200};
  problem.gradients = {{1000, 3, 1, -1, 0}};
  EXPECT_DOUBLE_EQ(lowerBound(problem).ns, 1500);
  problem.cluster.axes[1].size = 1;
  EXPECT_DOUBLE_EQ(lowerBound(problem).ns, 300);
}

// The second op needs 100 bytes of the first's summed, 150 ns; what may run at
// any time runs meanwhile.
TEST(LowerBoundTest, ComputeThatWaits) {
  BoundProblem problem = fourRanks();
  problem.cluster.axes[0].latencyNs = 5;
  problem.cluster.launchNs = 2;
  problem.cluster.messageNs = 3;
  problem.computeNs = {100, 200, 10};
  problem.anyTimeNs = 60;
  problem.waits = {{1, 0, 100, 1}};
  EXPECT_DOUBLE_EQ(lowerBound(problem).ns, 100 + 10 + 150 + 200 + 10);
  // Compute in between has its time, too.
  problem.waits = {{2, 0, 100, 1}};
  EXPECT_DOUBLE_EQ(lowerBound(problem).ns, 310 + 60);
  // A cycle has what is waited for within it, not what an op before it left.
  problem.anyTimeNs = 0;
  problem.waits = {{1, 0, 100, 1}};
  problem.gradients = {{100, 1, 2, 1, 0}};
  EXPECT_DOUBLE_EQ(lowerBound(problem).cycleNs, 200 + 10 + 10 + 150);
  problem.gradients[0].neededBy = 0;
  EXPECT_DOUBLE_EQ(lowerBound(problem).cycleNs, 470 + 10 + 150);
}

// A bus of which compute takes three quarters.
TEST(LowerBoundTest, LinksBesideCompute) {
  BoundProblem problem = fourRanks();
  problem.cluster.axes[0].overlappedRate = 0.25;
  problem.computeNs = {100, 200};
  problem.gradients = {{1000, 1, 1, -1, 0}};
  EXPECT_DOUBLE_EQ(lowerBound(problem).linksNs, 1500 + 300 * 0.75);
  // Between the end of the second op and the next start of it there is the
  // first.
  problem.gradients = {{1000, 1, 1, 1, 0}};
  EXPECT_DOUBLE_EQ(lowerBound(problem).cycleNs, 200 + 1500 + 100 * 0.75);
}

// Two groups side by side each sum their own gradients, over links along their
// axis alone.
TEST(LowerBoundTest, GroupsSideBySide) {
  BoundProblem problem;
  problem.cluster.axes = {{"data", 4, 0, 1000000000},
                          {"model", 2, 0, 1000000000}};
  problem.computeNs = {1};
  problem.gradients = {{1000, 1, 0, -1, 0}};
  EXPECT_DOUBLE_EQ(lowerBound(problem).linksNs, 1500);
  problem.gradients = {{1000, 2, 0, -1, 0}};
  EXPECT_DOUBLE_EQ(lowerBound(problem).linksNs, 1000);
  // One card for both of a node.
  problem.cluster.axes[0].sharers = 2;
  problem.gradients = {{1000, 1, 0, -1, 0}};
  EXPECT_DOUBLE_EQ(lowerBound(problem).linksNs, 3000);
  // Each along its own links.
  problem.gradients.push_back({1000, 2, 0, -1, 0});
  EXPECT_DOUBLE_EQ(lowerBound(problem).linksNs, 3000);
}

TEST(LowerBoundTest, Links) {
  BoundProblem problem = fourRanks();
  problem.computeNs = {100, 200};
  problem.gradients = {{1000, 1, 1, -1, 0}};
  LowerBound bound = lowerBound(problem);
  EXPECT_DOUBLE_EQ(bound.ns, 1500);
  EXPECT_EQ(bound.binding, LowerBound::Binding::Links);
  EXPECT_EQ(bound.index, 0);
}

// Two layers: forward 10, 20, backward 30, 40. The first layer's gradient is
// ready last and needed first: 10 + 20 + 30 + 40 + 1.5 * 100. The second's has
// the other's backward and forward to hide behind: 20 + 30 + both messages.
TEST(LowerBoundTest, Cycle) {
  BoundProblem problem = fourRanks();
  problem.computeNs = {10, 20, 30, 40};
  problem.gradients = {{100, 1, 2, 1, 0}, {100, 1, 3, 0, 0}};
  LowerBound bound = lowerBound(problem);
  EXPECT_DOUBLE_EQ(bound.cycleNs, 20 + 30 + 300);
  problem.gradients[0].bytes = 10;
  bound = lowerBound(problem);
  EXPECT_DOUBLE_EQ(bound.ns, 100 + 150);
  EXPECT_EQ(bound.binding, LowerBound::Binding::Cycle);
  EXPECT_EQ(bound.index, 1);
  problem.cluster.axes[0].latencyNs = 7;
  problem.gradients[1].updateNs = 40;
  EXPECT_DOUBLE_EQ(lowerBound(problem).ns, 100 + 150 + 7 + 10);
}

// Each op takes of the rate for a while only, and ops may be merged.
TEST(LowerBoundTest, LinksBesideTheStartsOfOps) {
  BoundProblem problem = fourRanks();
  problem.cluster.axes[0].overlappedRate = 0.25;
  problem.cluster.axes[0].overlappedNs = 50;
  problem.computeNs = {100, 200};
  problem.gradients = {{1000, 1, 1, -1, 0}};
  EXPECT_DOUBLE_EQ(lowerBound(problem).linksNs, 1500);
}

// Parts of an axis have its links together, not twice.
TEST(LowerBoundTest, CutAxes) {
  BoundProblem problem;
  problem.cluster.axes = {{"data", 4, 0, 1000000000},
                          {"data.1", 2, 0, 1000000000}};
  problem.cluster.axes[1].linksOf = 0;
  problem.computeNs = {1};
  problem.gradients = {{1000, 3, 0, -1, 0}};
  EXPECT_DOUBLE_EQ(lowerBound(problem).linksNs, 2 * 1000 * 7.0 / 8);
  // Either part alone, then both of them.
  problem.gradients = {{1000, 1, 0, -1, 0}};
  EXPECT_DOUBLE_EQ(lowerBound(problem).linksNs, 1500);
  problem.gradients.push_back({1000, 2, 0, -1, 0});
  EXPECT_DOUBLE_EQ(lowerBound(problem).linksNs, 1500 + 1000);
}

// A node's card carries 2 (k-1)/k S for all of its gpus.
TEST(LowerBoundTest, CutsOfNodes) {
  BoundProblem problem;
  problem.cluster.axes = {{"node", 4, 0, 1000000000, 8},
                          {"gpu", 8, 0, 10000000000}};
  problem.computeNs = {1};
  problem.gradients = {{1000, 3, 0, 0, 0}};
  EXPECT_DOUBLE_EQ(lowerBound(problem).linksNs, 1500);
  // Where servers may sum, once each way; with few of them, they bind.
  problem.cluster.dedicatedServers = 4;
  EXPECT_DOUBLE_EQ(lowerBound(problem).linksNs, 1000);
  problem.cluster.dedicatedServers = 1;
  EXPECT_DOUBLE_EQ(lowerBound(problem).linksNs, 2 * 3 * 1000.0 / 5);
  // Over gpus alone nothing crosses the card.
  problem.cluster.dedicatedServers = 0;
  problem.gradients[0].over = 2;
  EXPECT_LT(lowerBound(problem).linksNs, 200);
}

TEST(LowerBoundTest, ChecksItsInput) {
  BoundProblem problem = fourRanks();
  problem.computeNs = {1, -1};
  EXPECT_THAT(problem.check(), Optional(HasSubstr("found -1")));
  problem.computeNs = {1};
  problem.gradients = {{1, 1, 1, 0, 0}};
  EXPECT_THAT(problem.check(), Optional(HasSubstr("expected ops")));
  problem.gradients = {{1, 2, 0, 0, 0}};
  EXPECT_THAT(problem.check(), Optional(HasSubstr("axes of the cluster")));
  problem.gradients.clear();
  problem.waits = {{0, 0, 1, 1}};
  EXPECT_THAT(problem.check(), Optional(HasSubstr("wait for earlier ones")));
  problem.waits.clear();
  problem.anyTimeNs = -3;
  EXPECT_THAT(problem.check(), Optional(HasSubstr("found -3")));
  problem.anyTimeNs = 0;
  problem.gradients = {{-1, 1, 0, 0, 0}};
  EXPECT_THAT(problem.check(), Optional(HasSubstr("at least 0")));
  problem.cluster.axes.clear();
  EXPECT_THAT(problem.check(), Optional(HasSubstr("axes")));
}

//===----------------------------------------------------------------------===//
// Random schedules
//===----------------------------------------------------------------------===//

class RandomStep {
public:
  explicit RandomStep(unsigned seed) : random(seed) {
    static const char *const kNames[] = {"rack", "node", "gpu"};
    int axes = 1 + below(3);
    for (int axis = 0; axis < axes; ++axis)
      problem.cluster.axes.push_back({kNames[3 - axes + axis],
                                      1 + below(axes == 1 ? 8 : 4), latency(),
                                      int64_t(1000000000) << 2 * axis});
    for (int axis = 0; axis < axes; ++axis)
      problem.cluster.axes[axis].sharers = sharers(axis);
    // A bus that is slower beside compute; threads that take turns.
    for (AxisModel &axis : problem.cluster.axes) {
      if (below(4) == 0) {
        axis.overlappedRate = 0.25 * (1 + below(4));
        axis.overlappedNs = below(2) == 0 ? below(60) : 0;
      }
      if (below(6) == 0)
        axis.concurrentRate = 0.25 * (1 + below(4));
    }
    if (below(3) == 0)
      cut();
    axes = problem.cluster.axisCount();
    if (below(3) == 0)
      problem.cluster.dedicatedServers = 1 + below(4);
    if (below(2) == 0)
      problem.cluster.serversOn = below(1 << axes);
    problem.cluster.launchNs = below(3);
    problem.cluster.messageNs = below(3) == 0 ? below(50) : 0;
    // Parts of a model along the other axes, which no servers know.
    over = problem.cluster.allAxes();
    if (axes > 1 && problem.cluster.servers() == 0 && below(2) == 0)
      over = 1 + below((1 << axes) - 1);
    layers = 1 + below(6);
    for (int i = 0; i < 2 * layers; ++i)
      problem.computeNs.push_back(below(100));
    for (int layer = 0; layer < layers; ++layer)
      problem.gradients.push_back(
          {below(200), over, 2 * layers - 1 - layer, layer, 0});
    AxisSet others = problem.cluster.allAxes() & ~over;
    for (int op = 1; others && op < 2 * layers; ++op)
      if (below(2) == 0)
        problem.waits.push_back({op, below(op), below(200), others});
    // They load the links as well.
    for (const BoundWait &wait : problem.waits)
      problem.gradients.push_back({wait.bytes, others, wait.after, -1, 0});
  }

  /// Some order, buckets, forms, parts and streams.
  TaskGraph schedule() {
    const ClusterModel &cluster = problem.cluster;
    TaskGraph graph;
    graph.streams = {{"compute", true}, {"a"}, {"b"}, {"c"}};
    graph.wakeNs = below(4) == 0 ? below(30) : 0;
    graph.links.resize(linkCount(cluster));
    for (int axis = 0; axis < cluster.axisCount(); ++axis)
      for (int32_t link : {egressLink(axis), ingressLink(axis)}) {
        LinkModel &model = graph.links[link];
        model.overlappedRate = cluster.axes[axis].overlappedRate;
        if (cluster.axes[axis].overlappedNs > 0)
          model.overlappedNs = double(cluster.axes[axis].overlappedNs);
        model.concurrentRate = cluster.axes[axis].concurrentRate;
      }
    // Compute: forward layer i waits for what its gradient ended in.
    int32_t computeCount = 2 * layers;
    std::vector<std::vector<TaskDependency>> waits(computeCount);
    struct Message {
      int32_t ready;
      std::vector<CollectiveCall> calls;
      std::vector<int> layers;
      int stream;
    };
    std::vector<Message> messages;
    for (int layer = layers - 1; layer >= 0;) {
      int last = std::max(0, layer - below(2));
      int64_t bytes = 0;
      std::vector<int> members;
      for (int i = layer; i >= last; --i) {
        bytes += problem.gradients[i].bytes;
        members.push_back(i);
      }
      int parts = 1 + below(2);
      for (int part = 0; part < parts; ++part) {
        int64_t size = bytes * (part + 1) / parts - bytes * part / parts;
        messages.push_back({problem.gradients[last].readyAfter,
                            calls(size, over), members, 1 + below(2)});
      }
      layer = last - 1;
    }
    std::shuffle(messages.begin(), messages.end(), random);
    std::vector<std::vector<CollectiveCall>> exchanges;
    auto next = computeCount;
    for (const BoundWait &wait : problem.waits) {
      exchanges.push_back(calls(wait.bytes, wait.over));
      next += static_cast<int32_t>(exchanges.back().size());
    }
    for (Message &message : messages) {
      next += static_cast<int32_t>(message.calls.size());
      for (int layer : message.layers)
        waits[layer].push_back({next - 1, 1});
    }
    auto send = [&](const std::vector<CollectiveCall> &calls, int32_t stream,
                    int32_t from) {
      for (const CollectiveCall &call : calls) {
        CollectiveCost cost = cheapestCost(cluster, call);
        from = graph.add({stream, cost.latencyNs}, cost.uses, {{from, 0}});
      }
      return from;
    };
    std::vector<int32_t> taskOf;
    size_t exchange = 0;
    for (int32_t op = 0; op < computeCount; ++op) {
      for (; exchange < exchanges.size() && problem.waits[exchange].op == op;
           ++exchange)
        waits[op].push_back({send(exchanges[exchange], 3,
                                  taskOf[problem.waits[exchange].after]),
                             0});
      taskOf.push_back(
          graph.add({0, double(problem.computeNs[op])}, {}, waits[op]));
    }
    for (const Message &message : messages)
      send(message.calls, message.stream, taskOf[message.ready]);
    return graph;
  }

  BoundProblem problem;

private:
  int below(int limit) { return static_cast<int>(random() % limit); }

  /// Up to a thousandth of a second now and then, in which a message is
  /// nothing.
  int64_t latency() { return below(4) == 0 ? 1000 << below(11) : below(30); }

  /// Any number that nests: whole axes from the inside out, and a part of the
  /// next.
  int64_t sharers(int axis) {
    std::vector<int64_t> allowed{1};
    int64_t inside = 1;
    for (int inner = problem.cluster.axisCount() - 1; inner >= axis; --inner) {
      int64_t size = problem.cluster.axes[inner].size;
      for (int64_t part = 2; part <= size; ++part)
        if (size % part == 0)
          allowed.push_back(inside * part);
      inside *= size;
    }
    return allowed[below(static_cast<int>(allowed.size()))];
  }

  /// Cuts an axis in two, if there is one that can be.
  void cut() {
    for (int axis = 0; axis < problem.cluster.axisCount(); ++axis) {
      AxisModel outer = problem.cluster.axes[axis];
      int64_t inside = outer.size > 2 && outer.size % 2 == 0 ? 2 : 1;
      if (inside == 1 || below(2) == 0)
        continue;
      AxisModel inner = outer;
      inner.name += ".1";
      inner.size = inside;
      inner.linksOf = axis;
      ClusterModel cluster = problem.cluster;
      cluster.axes[axis].size /= inside;
      cluster.axes.insert(cluster.axes.begin() + axis + 1, inner);
      // Those who share a link may stand on both sides of the cut.
      if (cluster.check())
        continue;
      problem.cluster = cluster;
      return;
    }
  }

  std::vector<CollectiveCall> calls(int64_t bytes, AxisSet along) {
    const ClusterModel &cluster = problem.cluster;
    if (cluster.servers() > 0 && below(2) == 0) {
      int64_t server = below(2) == 0 ? -1 : below(cluster.servers());
      CollectiveCall push{Collective::Push, cluster.allAxes(), bytes, 0,
                          server};
      CollectiveCall pull = push;
      pull.collective = Collective::Pull;
      return {push, pull};
    }
    auto kind = static_cast<FormKind>(below(kFormKindCount));
    PricedForm form = cheapestForm(cluster, bytes, along, formBit(kind));
    std::vector<CollectiveCall> calls;
    for (const MessageStep &step :
         expandMessage(cluster, {along, bytes}, form.form))
      calls.push_back(step.call);
    return calls;
  }

  std::mt19937 random;
  int layers;
  /// Of gradients.
  AxisSet over;
};

TEST(LowerBoundTest, NoScheduleIsFaster) {
  double closest = 1e9;
  for (unsigned seed = 0; seed < 7000; ++seed) {
    RandomStep step(seed);
    ASSERT_EQ(step.problem.check(), std::nullopt);
    LowerBound bound = lowerBound(step.problem);
    for (int i = 0; i < 3; ++i) {
      TaskGraph graph = step.schedule();
      ASSERT_EQ(graph.check(), std::nullopt);
      Simulation result = simulate(graph);
      ASSERT_GE(result.stepNs, bound.ns * (1 - 1e-9) - 1e-6)
          << "seed " << seed << ", schedule " << i << ", compute "
          << bound.computeNs << ", links " << bound.linksNs << ", cycle "
          << bound.cycleNs;
      if (bound.binding != LowerBound::Binding::Compute)
        closest = std::min(closest, result.stepNs / bound.ns);
    }
  }
  // The bound is reached where communication binds, too.
  EXPECT_LT(closest, 1.001);
}

} // namespace
