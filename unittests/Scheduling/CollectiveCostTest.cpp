//===- CollectiveCostTest.cpp - Prices against published closed forms -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ring, BlueConnect and parameter servers as their papers have them, measured
// tables, and that the chosen form is the cheapest.
//
//===----------------------------------------------------------------------===//
#include "bagua/Scheduling/Prices/CollectiveCost.h"
#include "bagua/Scheduling/Prices/Message.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <map>

using namespace bagua;
using testing::HasSubstr;
using testing::Optional;

namespace {

constexpr double kS = 1e8;

/// One axis of n ranks: 10 us, 1 GB/s, so that a byte takes a ns.
ClusterModel flat(int64_t ranks) {
  ClusterModel cluster;
  cluster.axes = {{"rank", ranks, 10000, 1000000000}};
  return cluster;
}

/// Nodes of gpus behind one network card each; inside, 10 bytes a ns and 1 us.
ClusterModel nodes(int64_t nodeCount, int64_t gpus) {
  ClusterModel cluster;
  cluster.axes = {{"node", nodeCount, 10000, 1000000000, gpus},
                  {"gpu", gpus, 1000, 10000000000}};
  return cluster;
}

double nsBy(const ClusterModel &cluster, Collective collective,
            Algorithm algorithm, AxisSet over = 1) {
  auto cost =
      costBy(cluster, {collective, over, static_cast<int64_t>(kS)}, algorithm);
  return cost ? cost->ns() : -1;
}

TEST(CollectiveCostTest, RingsAndTreesAlone) {
  ClusterModel cluster = flat(8);
  SizedCollective small{Collective::AllReduce, 1, 8};
  EXPECT_EQ(cheapestCost(cluster, small).algorithm, Algorithm::Direct);
  cluster.hasRingsAndTreesOnly = true;
  EXPECT_EQ(cheapestCost(cluster, small).algorithm, Algorithm::Tree);
  EXPECT_EQ(cheapestCost(cluster, {Collective::ReduceScatter, 1, 8}).algorithm,
            Algorithm::Ring);
  // There is no other way to do this.
  EXPECT_EQ(cheapestCost(cluster, {Collective::AllToAll, 1, 8}).algorithm,
            Algorithm::Direct);
}

TEST(CollectiveCostTest, ClosedFormsOnOneAxis) {
  ClusterModel cluster = flat(8);
  EXPECT_DOUBLE_EQ(nsBy(cluster, Collective::AllReduce, Algorithm::Ring),
                   14 * 1e4 + 14.0 / 8 * kS);
  EXPECT_DOUBLE_EQ(nsBy(cluster, Collective::ReduceScatter, Algorithm::Ring),
                   7 * 1e4 + 7.0 / 8 * kS);
  EXPECT_DOUBLE_EQ(nsBy(cluster, Collective::AllReduce, Algorithm::Tree),
                   6 * 1e4 + 2 * kS);
  EXPECT_DOUBLE_EQ(
      nsBy(cluster, Collective::AllReduce, Algorithm::HalvingDoubling),
      6 * 1e4 + 14.0 / 8 * kS);
  EXPECT_DOUBLE_EQ(nsBy(cluster, Collective::AllReduce, Algorithm::Direct),
                   2 * 1e4 + 14.0 / 8 * kS);
  EXPECT_DOUBLE_EQ(nsBy(cluster, Collective::AllToAll, Algorithm::Direct),
                   1e4 + 7.0 / 8 * kS);
  EXPECT_DOUBLE_EQ(nsBy(cluster, Collective::Broadcast, Algorithm::Tree),
                   3 * 1e4 + kS);
  // Three ranks: no halving and doubling. No ring for a broadcast, no servers.
  EXPECT_EQ(nsBy(flat(3), Collective::AllReduce, Algorithm::HalvingDoubling),
            -1);
  EXPECT_EQ(nsBy(cluster, Collective::Broadcast, Algorithm::Ring), -1);
  EXPECT_EQ(nsBy(cluster, Collective::Push, Algorithm::Direct), -1);
}

// A ring over nodes and gpus crosses each node's card once each way; direct
// messages of all gpus share it.
TEST(CollectiveCostTest, RanksShareANetworkCard) {
  ClusterModel cluster = nodes(4, 8);
  EXPECT_DOUBLE_EQ(nsBy(cluster, Collective::AllReduce, Algorithm::Ring, 3),
                   2 * (3 * 1e4 + 28 * 1e3) + 2 * 31.0 / 32 * kS);
  EXPECT_DOUBLE_EQ(nsBy(cluster, Collective::AllReduce, Algorithm::Direct, 3),
                   2 * 1e4 + 8 * 2 * 24.0 / 32 * kS);
  // Over nodes alone, eight rings go through the card.
  EXPECT_DOUBLE_EQ(nsBy(cluster, Collective::AllReduce, Algorithm::Ring, 1),
                   6 * 1e4 + 8 * 2 * 3.0 / 4 * kS);
  // Of the roots alone, one.
  auto roots =
      costBy(cluster,
             {Collective::AllReduce, 1, static_cast<int64_t>(kS), /*roots=*/2},
             Algorithm::Ring);
  EXPECT_DOUBLE_EQ(roots->ns(), 6 * 1e4 + 2 * 3.0 / 4 * kS);
  // With a card for each gpu, eight rings through one each.
  cluster.axes[0].sharers = 1;
  EXPECT_DOUBLE_EQ(nsBy(cluster, Collective::AllReduce, Algorithm::Ring, 3),
                   2 * (3 * 1e4 + 28 * 1e3) + 2 * 31.0 / 32 * kS / 8);
  // A bus that all gpus of a node share.
  cluster.axes[1].sharers = 8;
  EXPECT_DOUBLE_EQ(nsBy(cluster, Collective::AllReduce, Algorithm::Ring, 2),
                   14 * 1e3 + 8 * 2 * 7.0 / 8 * kS / 10);
}

// Cho et al., MLSys 2019, equation 3: the sum over levels of
// 2 (p_i - 1) a_i + 2 (p_i - 1)/p_i S / prod_{j<i} p_j b_i.
TEST(CollectiveCostTest, MultilevelIsBlueConnects) {
  ClusterModel cluster;
  cluster.axes = {{"rack", 2, 40000, 2000000000},
                  {"node", 4, 25000, 4000000000},
                  {"gpu", 8, 3000, 8000000000}};
  double sum = 0, rest = kS;
  for (int axis : {2, 1, 0}) {
    const AxisModel &model = cluster.axes[axis];
    auto p = static_cast<double>(model.size);
    sum += 2 * (p - 1) * static_cast<double>(model.latencyNs) +
           2 * (p - 1) / p * rest * 1e9 / static_cast<double>(model.bytesPerS);
    rest /= p;
  }
  double ns = 0;
  for (const MessageStage &step : expandMessage(
           cluster, {7, static_cast<int64_t>(kS)}, {FormKind::Multilevel, 0}))
    ns += costBy(cluster, step.call, Algorithm::Ring)->ns();
  EXPECT_DOUBLE_EQ(ns, sum);
}

// Rails over k nodes of g ranks, each with a card of its own, take
// 2 (g-1)/g S/B_in + 2 (k-1)/k (S/g)/B_nic.
TEST(CollectiveCostTest, RailUsesAllCards) {
  ClusterModel cluster = nodes(4, 8);
  cluster.axes[0].sharers = 1;
  cluster.axes[0].latencyNs = cluster.axes[1].latencyNs = 0;
  double ns = 0;
  for (const MessageStage &step : expandMessage(
           cluster, {3, static_cast<int64_t>(kS)}, {FormKind::Rail, 2}))
    ns += cheapestCost(cluster, step.call).ns();
  EXPECT_DOUBLE_EQ(ns, 2 * 7.0 / 8 * kS / 10 + 2 * 3.0 / 4 * kS / 8);
}

// One push and one pull: with as many servers as workers each link carries the
// tensor once each way (Jiang et al., BytePS, OSDI 2020).
TEST(CollectiveCostTest, Servers) {
  ClusterModel cluster = flat(4);
  cluster.dedicatedServers = 4;
  SizedCollective push{Collective::Push, 1, static_cast<int64_t>(kS)};
  EXPECT_DOUBLE_EQ(cheapestCost(cluster, push).ns(), 1e4 + kS);
  // Half as many servers: their links carry twice as much.
  cluster.dedicatedServers = 2;
  EXPECT_DOUBLE_EQ(cheapestCost(cluster, push).ns(), 1e4 + 2 * kS);
  // All on one server: four tensors on its link, one on each worker's.
  push.server = 1;
  CollectiveCost cost = cheapestCost(cluster, push);
  EXPECT_DOUBLE_EQ(cost.ns(), 1e4 + 4 * kS);
  ASSERT_EQ(cost.uses.size(), 2U);
  EXPECT_EQ(cost.uses[0].link, egressLink(0));
  EXPECT_DOUBLE_EQ(cost.uses[0].ns, kS);
  EXPECT_EQ(cost.uses[1].link, serverIngressLink(cluster, 1));
  // Co-located, k = 0 of BytePS: as a ring, (n-1)/n each way for each half.
  cluster = flat(4);
  cluster.serversOn = 1;
  push.server = -1;
  SizedCollective pull = push;
  pull.collective = Collective::Pull;
  EXPECT_DOUBLE_EQ(cheapestCost(cluster, push).ns() +
                       cheapestCost(cluster, pull).ns(),
                   2e4 + 2 * 3.0 / 4 * kS);
}

TEST(CollectiveCostTest, MeasuredTimesGoFirst) {
  ClusterModel cluster = flat(4);
  cluster.axes[0].tables["all_reduce"] = {
      {1000, 5000}, {2000, 6000}, {10000, 10000}};
  auto ns = [&](int64_t bytes) {
    CollectiveCost cost =
        cheapestCost(cluster, {Collective::AllReduce, 1, bytes});
    EXPECT_EQ(cost.algorithm, Algorithm::Measured);
    return cost.ns();
  };
  EXPECT_DOUBLE_EQ(ns(0), 5000);
  EXPECT_DOUBLE_EQ(ns(1500), 5500);
  EXPECT_DOUBLE_EQ(ns(6000), 8000);
  // It is faster than the links by 5,000 ns, and no link is faster yet.
  EXPECT_DOUBLE_EQ(ns(20000), 10000 + 15000);
  // Of this collective only.
  EXPECT_NE(cheapestCost(cluster, {Collective::AllGather, 1, 1000}).algorithm,
            Algorithm::Measured);
}

// The smallest message has bytes, too: many of them fill the link. In a table
// of slow small messages most of their time is latency, and no bytes flow
// faster than by a formula.
TEST(CollectiveCostTest, SmallMeasuredMessagesFlow) {
  ClusterModel cluster = flat(4);
  cluster.axes[0].tables["all_reduce"] = {{1000, 25000}, {2000, 26000}};
  auto expect = [&](int64_t bytes, double latencyNs, double flowNs) {
    CollectiveCost cost =
        cheapestCost(cluster, {Collective::AllReduce, 1, bytes});
    EXPECT_DOUBLE_EQ(cost.latencyNs, latencyNs);
    for (const LinkUse &use : cost.uses)
      EXPECT_DOUBLE_EQ(use.ns, flowNs);
  };
  expect(100, 25000 - 150, 150);
  expect(1000, 25000 - 1500, 1500);
  expect(20000, 20000, 30000);
}

// Two times that are closer than the links' rate says are no witness of what
// larger messages take.
TEST(CollectiveCostTest, LargeMessagesAreNoFasterThanLinks) {
  ClusterModel cluster = flat(4);
  auto ns = [&](int64_t bytes) {
    return cheapestCost(cluster, {Collective::AllReduce, 1, bytes}).ns();
  };
  double byFormula = ns(1000000);
  cluster.axes[0].tables["all_reduce"] = {{100000, 200000}, {200000, 330000}};
  EXPECT_DOUBLE_EQ(ns(200000), 330000);
  EXPECT_DOUBLE_EQ(ns(1000000), byFormula);
  // Nor than what was measured last, where times fall.
  cluster.axes[0].tables["all_reduce"] = {{100000, 900000}, {200000, 800000}};
  EXPECT_DOUBLE_EQ(ns(150000), 850000);
  EXPECT_DOUBLE_EQ(ns(200000), 800000);
  EXPECT_DOUBLE_EQ(ns(300000), 800000);
}

// No other message flows in the gap: it is time on the links.
TEST(CollectiveCostTest, GapIsOnTheLinks) {
  ClusterModel cluster = flat(4);
  auto expect = [&](int64_t bytes, double latencyNs, double flowNs) {
    CollectiveCost cost =
        cheapestCost(cluster, {Collective::AllReduce, 1, bytes});
    EXPECT_DOUBLE_EQ(cost.latencyNs, latencyNs);
    for (const LinkUse &use : cost.uses)
      EXPECT_DOUBLE_EQ(use.ns, flowNs);
  };
  double latencyNs =
      cheapestCost(cluster, {Collective::AllReduce, 1, 1000}).latencyNs;
  cluster.axes[0].gapNs = 4000;
  expect(1000, latencyNs, 4000 + 1500);
  // Of a measured message it is a part, of a small one at most all.
  cluster.axes[0].tables["all_reduce"] = {{1000, 25000}, {2000, 26000}};
  expect(1000, 25000 - 5500, 5500);
  // By a formula 2,000 bytes take 27,000 ns, and this 54,000.
  expect(20000, 53000 - 34000, 34000);
  cluster.axes[0].gapNs = 30000;
  expect(1000, 0, 25000);
}

// Servers' links have it, too, but nobody's who has all the bytes himself.
TEST(CollectiveCostTest, GapIsOnServersLinks) {
  ClusterModel cluster = flat(4);
  cluster.axes[0].gapNs = 4000;
  cluster.dedicatedServers = 1;
  SizedCollective push{Collective::Push, 1, 1000};
  CollectiveCost cost = cheapestCost(cluster, push);
  ASSERT_EQ(cost.uses.size(), 2u);
  EXPECT_DOUBLE_EQ(cost.uses[0].ns, 4000 + 1000);
  EXPECT_DOUBLE_EQ(cost.uses[1].ns, 4000 + 4 * 1000);
  cluster = flat(1);
  cluster.axes[0].gapNs = 4000;
  cluster.serversOn = 1;
  EXPECT_DOUBLE_EQ(cheapestCost(cluster, push).ns(), 0);
}

// A ring over 4 nodes of 8: of the 31 hops of a half, 3 go between nodes.
TEST(CollectiveCostTest, InnerHopsOfARingHaveInnerLatency) {
  ClusterModel cluster = nodes(4, 8);
  SizedCollective call{Collective::AllReduce, 3, 1000};
  EXPECT_DOUBLE_EQ(costBy(cluster, call, Algorithm::Ring)->latencyNs,
                   2 * (3 * 1e4 + 28 * 1e3));
  // Of 63 hops over 2 racks of them, 1 goes between racks and 6 between nodes.
  cluster.axes.insert(cluster.axes.begin(),
                      {"rack", 2, 100000, 1000000000, 32});
  call.over = 7;
  EXPECT_DOUBLE_EQ(costBy(cluster, call, Algorithm::Ring)->latencyNs,
                   2 * (1 * 1e5 + 6 * 1e4 + 56 * 1e3));
  // Over the outer axes alone, there is nothing inside.
  call.over = 3;
  EXPECT_DOUBLE_EQ(costBy(cluster, call, Algorithm::Ring)->latencyNs,
                   2 * (1 * 1e5 + 6 * 1e4));
}

// Three collectives are launched three times.
TEST(CollectiveCostTest, EveryCollectiveIsLaunched) {
  ClusterModel cluster = nodes(4, 8);
  double flat = cheapestForm(cluster, 1000, 3, formBit(FormKind::Flat)).ns;
  double leader = cheapestForm(cluster, 1000, 3, formBit(FormKind::Leader)).ns;
  cluster.launchNs = 7000;
  EXPECT_DOUBLE_EQ(cheapestForm(cluster, 1000, 3, formBit(FormKind::Flat)).ns,
                   flat + 7000);
  EXPECT_DOUBLE_EQ(cheapestForm(cluster, 1000, 3, formBit(FormKind::Leader)).ns,
                   leader + 21000);
  // Charged once, whoever asks.
  EXPECT_DOUBLE_EQ(
      messageNs(cluster, 1000, 3, Encoding(), formBit(FormKind::Flat)),
      flat + 7000);
  EXPECT_DOUBLE_EQ(cheapestCost(cluster, {Collective::AllReduce, 3, 1000}).ns(),
                   flat + 7000);
}

// A table says how long; what is sent, and by which links, is the collective's
// own: a root sends all of its bytes, not all but one part.
TEST(CollectiveCostTest, MeasuredTimesHaveTheirOwnBytes) {
  ClusterModel cluster = flat(4);
  SizedCollective broadcast{Collective::Broadcast, 1, 1000};
  double sent = cheapestCost(cluster, broadcast).bytesSent;
  EXPECT_DOUBLE_EQ(sent, 1000);
  cluster.axes[0].tables["broadcast"] = {{1000, 5000}, {2000, 6000}};
  EXPECT_DOUBLE_EQ(cheapestCost(cluster, broadcast).bytesSent, sent);
  EXPECT_DOUBLE_EQ(cheapestCost(cluster, broadcast).ns(), 5000);
}

TEST(CollectiveCostTest, TheCheapestAlgorithmDependsOnTheSize) {
  ClusterModel cluster = nodes(16, 8);
  auto algorithm = [&](int64_t bytes) {
    return cheapestCost(cluster, {Collective::AllReduce, 3, bytes}).algorithm;
  };
  EXPECT_EQ(algorithm(8), Algorithm::Direct);
  EXPECT_EQ(algorithm(1000000000), Algorithm::Ring);
  EXPECT_EQ(cheapestCost(flat(1), {Collective::AllReduce, 1, 1000}).ns(), 0);
}

TEST(CollectiveCostTest, CheapestFormIsTheLeastOfAll) {
  for (int64_t sharers : {1, 8})
    for (int64_t bytes : {100, 100000, 100000000}) {
      ClusterModel cluster = nodes(4, 8);
      cluster.axes[0].sharers = sharers;
      PricedForm best = cheapestForm(cluster, bytes, 3, kHierarchyForms);
      for (FormKind kind : {FormKind::Flat, FormKind::Leader, FormKind::Rail,
                            FormKind::Multilevel})
        EXPECT_LE(best.ns, cheapestForm(cluster, bytes, 3, formBit(kind)).ns);
    }
  // With a card for each gpu rails win where latency counts; hierarchy means
  // nothing on one axis.
  ClusterModel rails = nodes(4, 8);
  rails.axes[0].sharers = 1;
  EXPECT_EQ(cheapestForm(rails, 100000, 3, kHierarchyForms).form.kind,
            FormKind::Rail);
  EXPECT_EQ(cheapestForm(flat(4), 100, 1, formBit(FormKind::Rail)).form.kind,
            FormKind::Flat);
  // No servers, nothing to push to; a rail of one axis is servers alone.
  EXPECT_EQ(cheapestForm(rails, 100000, 3, kServerForms).form.kind,
            FormKind::Flat);
  ClusterModel served = flat(4);
  served.dedicatedServers = 2;
  EXPECT_EQ(
      cheapestForm(served, 100, 1, formBit(FormKind::RailServers)).form.kind,
      FormKind::Servers);
  for (int kind = 0; kind < kFormKindCount; ++kind)
    EXPECT_EQ(parseWord<FormKind>(wordOf(static_cast<FormKind>(kind))),
              static_cast<FormKind>(kind));
  EXPECT_EQ(parseWord<FormKind>("circle"), std::nullopt);
  EXPECT_EQ(formsOf(*parseWord<FormChoice>("cheapest")), kHierarchyForms);
  EXPECT_EQ(formsOf(*parseWord<FormChoice>("rail")), formBit(FormKind::Rail));
  EXPECT_EQ(parseWord<FormChoice>("circle"), std::nullopt);
}

/// An axis cut in two.
ClusterModel cutInHalf(const ClusterModel &cluster, int axis) {
  ClusterModel cut = cluster;
  cut.axes.insert(cut.axes.begin() + axis + 1, cut.axes[axis]);
  cut.axes[axis].size /= 2;
  cut.axes[axis + 1].size = 2;
  cut.axes[axis + 1].linksOf = axis;
  // Of the axes behind it, the numbers move on.
  AxisSet before = (AxisSet(2) << axis) - 1;
  cut.serversOn = (cluster.serversOn & before) |
                  ((cluster.serversOn & ~before) << 1) |
                  ((cluster.serversOn >> axis & 1) << (axis + 1));
  return cut;
}

// What doesn't see a cut costs what it costs without, on the same links.
TEST(CollectiveCostTest, CutsThatNobodySees) {
  ClusterModel cluster = nodes(4, 8);
  cluster.axes[1].tables["all_reduce"] = {{1, 3000}, {1000000, 250000}};
  cluster.serversOn = 3;
  cluster.dedicatedServers = 2;
  for (int axis : {0, 1}) {
    ClusterModel cut = cutInHalf(cluster, axis);
    ASSERT_EQ(cut.check(), std::nullopt);
    for (int kind = 0; kind <= static_cast<int>(Collective::Pull); ++kind)
      for (AxisSet over : {1, 2, 3})
        for (int64_t bytes : {8, 1 << 14, 1 << 24}) {
          auto collective = static_cast<Collective>(kind);
          if (usesServers(collective) && over != 3)
            continue;
          AxisSet before = (AxisSet(2) << axis) - 1;
          AxisSet overCut = (over & before) | ((over & ~before) << 1) |
                            ((over >> axis & 1) << (axis + 1));
          CollectiveCost whole =
              cheapestCost(cluster, {collective, over, bytes});
          CollectiveCost parts =
              cheapestCost(cut, {collective, overCut, bytes});
          EXPECT_EQ(parts.latencyNs, whole.latencyNs);
          EXPECT_EQ(parts.bytesSent, whole.bytesSent);
          std::map<int32_t, double> loads, expected;
          for (const LinkUse &use : parts.uses)
            loads[use.link] += use.ns;
          for (const LinkUse &use : whole.uses)
            expected[use.link + (use.link / 2 > axis ? 2 : 0)] += use.ns;
          EXPECT_EQ(loads, expected);
        }
  }
}

// Half of the gpus of a node, all four of which send over one bus.
TEST(CollectiveCostTest, PartsOfAnAxisShareItsLinks) {
  ClusterModel cluster = nodes(2, 4);
  cluster.axes[1].bytesPerS = 1000000000;
  cluster.axes[1].sharers = 4;
  ClusterModel cut = cutInHalf(cluster, 1);
  for (AxisSet half : {2, 4}) {
    CollectiveCost cost =
        cheapestCost(cut, {Collective::AllReduce, half, 1000000});
    ASSERT_EQ(cost.uses.size(), 2u);
    EXPECT_EQ(cost.uses[0].link, egressLink(1));
    EXPECT_DOUBLE_EQ(cost.uses[0].ns, 4 * 1e6);
  }
  // A link of one's own carries one's own bytes.
  cut.axes[1].sharers = cut.axes[2].sharers = 1;
  EXPECT_DOUBLE_EQ(
      cheapestCost(cut, {Collective::AllReduce, 4, 1000000}).uses[0].ns, 1e6);
}

// Parts that are not neighbours: a rank of the ring still sends to one other.
TEST(CollectiveCostTest, RingOverPartsApart) {
  ClusterModel cluster = flat(8);
  cluster.hasRingsAndTreesOnly = true;
  ClusterModel cut = cutInHalf(cutInHalf(cluster, 0), 0);
  cut.axes[2].linksOf = 0;
  ASSERT_EQ(cut.check(), std::nullopt);
  CollectiveCost cost =
      cheapestCost(cut, {Collective::AllReduce, 5, 100000000});
  ASSERT_EQ(cost.algorithm, Algorithm::Ring);
  ASSERT_EQ(cost.uses.size(), 2u);
  EXPECT_DOUBLE_EQ(cost.uses[0].ns, 2 * 3.0 / 4 * 1e8);
}

// And are one level of the network.
TEST(CollectiveCostTest, FormsDontTakePartsForLevels) {
  ClusterModel cut = cutInHalf(nodes(4, 8), 1);
  EXPECT_EQ(formOfKind(cut, 1000000, 7, FormKind::Rail).inner, 6u);
  // One of them alone is all that there is inside.
  EXPECT_EQ(formOfKind(cut, 1000000, 5, FormKind::Rail).inner, 4u);
}

TEST(ClusterModelTest, Checks) {
  ClusterModel cluster = nodes(4, 8);
  EXPECT_EQ(cluster.check(), std::nullopt);
  EXPECT_EQ(linkName(cluster, ingressLink(1)), "gpu ingress");
  cluster.dedicatedServers = 2;
  EXPECT_EQ(linkName(cluster, serverEgressLink(cluster, 1)), "server 1 egress");
  cluster.axes[0].sharers = 5;
  EXPECT_THAT(cluster.check(), Optional(HasSubstr("found 5")));
  cluster.axes[0].sharers = 8;
  cluster.axes[1].bytesPerS = 0;
  EXPECT_THAT(cluster.check(), Optional(HasSubstr("axis 'gpu'")));
  cluster.axes[1].bytesPerS = 1;
  cluster.axes[1].tables["all_reduce"] = {{2, 1}, {2, 1}};
  EXPECT_THAT(cluster.check(), Optional(HasSubstr("ascending bytes")));
  cluster.axes[1].tables["all_reduce"] = {};
  EXPECT_THAT(cluster.check(), Optional(HasSubstr("found none")));
  cluster = nodes(4, 8);
  cluster.axes[0].linksOf = 0;
  EXPECT_THAT(cluster.check(), Optional(HasSubstr("an axis before it")));
  cluster.axes[0].linksOf = -1;
  cluster.axes[0].concurrentRate = 2;
  EXPECT_THAT(cluster.check(), Optional(HasSubstr("found 2.0")));
  cluster.axes[0].concurrentRate = 1;
  cluster.axes[0].gapNs = -1;
  EXPECT_THAT(cluster.check(), Optional(HasSubstr("positive sizes, times")));
  cluster.axes[0].gapNs = INT64_MAX;
  EXPECT_THAT(cluster.check(),
              Optional(HasSubstr("found 9223372036854775807")));
  cluster.axes.clear();
  EXPECT_THAT(cluster.check(), Optional(HasSubstr("1 to 16 axes")));
}

} // namespace
