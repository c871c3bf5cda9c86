//===- MessageTest.cpp - What an all_reduce is made of --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The stages of every form and wire against formulas written down here: what is
// sent, what is moved and what is kept, and that the cheapest form is the
// cheapest.
//
//===----------------------------------------------------------------------===//
#include "RandomPlanning.h"

#include "bagua/Scheduling/Prices/Message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

using namespace bagua;
using bagua::test::RandomPlanning;

namespace {

constexpr int64_t kFloatBytes = 4;

/// 3 nodes of 4, with 2 servers beside them.
ClusterModel makeCluster() {
  ClusterModel cluster;
  cluster.axes.push_back({"node", 3, 20000, 1000000000, 1, {}});
  cluster.axes.push_back({"gpu", 4, 2000, 10000000000, 1, {}});
  cluster.dedicatedServers = 2;
  return cluster;
}

/// The largest part of `count` elements over `ranks`.
int64_t partOf(int64_t count, int64_t ranks) {
  return (count + ranks - 1) / ranks;
}

/// Elements that stay on a rank or server besides where they were, by form.
int64_t keptElements(FormKind form, int64_t count) {
  switch (form) {
  case FormKind::Flat:
    return 0;
  case FormKind::Leader: // the node's sum
    return count;
  case FormKind::Rail: // a quarter
    return partOf(count, 4);
  case FormKind::Multilevel: // a quarter, and a third of it
    return partOf(count, 4) + partOf(partOf(count, 4), 3);
  case FormKind::Halves:
    return partOf(count, 12);
  case FormKind::Servers: // all workers are one group
    return partOf(count, 2);
  case FormKind::RailServers: // a quarter, and on servers half of each quarter
    return partOf(count, 4) + 4 * partOf(partOf(count, 4), 2);
  }
  return -1;
}

int64_t keptBytes(const std::vector<MessageStage> &stages) {
  return std::accumulate(stages.begin(), stages.end(), int64_t(0),
                         [](int64_t sum, const MessageStage &stage) {
                           return sum + stage.keptBytes;
                         });
}

TEST(MessageTest, KeepsWhatItsFormLeaves) {
  ClusterModel cluster = makeCluster();
  for (int kind = 0; kind < kFormKindCount; ++kind)
    for (int64_t count : {1, 3, 4, 5, 12, 1000, 4096, 4097}) {
      auto form = static_cast<FormKind>(kind);
      Message message{cluster.allAxes(), count, kFloatBytes};
      AllReduceForm chosen =
          cheapestForm(cluster, message.bytes(), message.over, formBit(form))
              .form;
      ASSERT_EQ(chosen.kind, form);
      EXPECT_EQ(keptBytes(expandMessage(cluster, message, chosen)),
                kFloatBytes * keptElements(form, count))
          << wordOf(form) << " of " << count;
      message.wire = {EncodingId::BFloat16};
      EXPECT_EQ(keptBytes(expandMessage(cluster, message, chosen)),
                2 * (count + keptElements(form, count)))
          << wordOf(form) << " of " << count << " in 16 bits";
    }
}

TEST(MessageTest, CastsOnceEachWay) {
  ClusterModel cluster = makeCluster();
  Message message{cluster.allAxes(), 1000, kFloatBytes, {EncodingId::Float16}};
  std::vector<MessageStage> stages =
      expandMessage(cluster, message, {FormKind::Rail, 2});
  ASSERT_EQ(stages.size(), 5u);
  EXPECT_EQ(stages.front().kind, MessageStage::Kind::Encode);
  EXPECT_EQ(stages.back().kind, MessageStage::Kind::Decode);
  // Four bytes on one side, two on the other.
  EXPECT_EQ(stages.front().movedBytes, 6000);
  EXPECT_EQ(stages.back().movedBytes, 6000);
  EXPECT_EQ(stages.front().keptBytes, 2000);
  EXPECT_EQ(stages.back().keptBytes, 0);
  std::vector<int64_t> bytes;
  for (size_t i = 1; i + 1 < stages.size(); ++i) {
    EXPECT_EQ(stages[i].kind, MessageStage::Kind::Collective);
    bytes.push_back(stages[i].call.bytes);
  }
  // A quarter of a thousand crosses the nodes.
  EXPECT_THAT(bytes, testing::ElementsAre(2000, 500, 2000));
}

/// Of minmax_uint8: a header and a byte for each element, in multiples of 32.
int64_t slotOf(int64_t count) { return (32 + count + 31) / 32 * 32; }

TEST(MessageTest, ScattersAndGathersWhatCantBeReduced) {
  ClusterModel cluster = makeCluster();
  Message message{
      cluster.allAxes(), 1000, kFloatBytes, {EncodingId::MinmaxUint8}};
  std::vector<MessageStage> stages =
      expandMessage(cluster, message, {FormKind::Flat, 0});
  ASSERT_EQ(stages.size(), 6u);
  // 12 parts of 84 elements at most.
  const int64_t slot = slotOf(84), slots = 12 * slot, part = 84 * kFloatBytes;
  using Kind = MessageStage::Kind;
  struct Expected {
    Kind kind;
    int64_t moved, kept;
    AxisSet parts, terms;
  };
  const Expected expected[] = {
      {Kind::Encode, 4000 + slots, slots, message.over, 0},
      {Kind::Collective, 0, slots, 0, 0},
      {Kind::Decode, slots + part, part, 0, message.over},
      {Kind::Encode, part + slot, slot, 0, 0},
      {Kind::Collective, 0, 0, 0, 0},
      {Kind::Decode, slots + 4000, 0, message.over, 0}};
  for (size_t i = 0; i < stages.size(); ++i) {
    EXPECT_EQ(stages[i].kind, expected[i].kind) << i;
    EXPECT_EQ(stages[i].movedBytes, expected[i].moved) << i;
    EXPECT_EQ(stages[i].keptBytes, expected[i].kept) << i;
    EXPECT_EQ(stages[i].parts, expected[i].parts) << i;
    EXPECT_EQ(stages[i].terms, expected[i].terms) << i;
  }
  EXPECT_EQ(stages[1].call.collective, Collective::AllToAll);
  EXPECT_EQ(stages[4].call.collective, Collective::AllGather);
  for (size_t i : {1, 4})
    EXPECT_EQ(stages[i].call.bytes, slots);
}

// On rails only what crosses the nodes is encoded; servers sum nothing.
TEST(MessageTest, EncodesWithinAHierarchy) {
  ClusterModel cluster = makeCluster();
  Message message{
      cluster.allAxes(), 1000, kFloatBytes, {EncodingId::MinmaxUint8}};
  for (auto [kind, inner] :
       {std::pair(FormKind::Rail, 2u), std::pair(FormKind::Multilevel, 0u),
        std::pair(FormKind::RailServers, 2u)}) {
    std::vector<MessageStage> stages =
        expandMessage(cluster, message, {kind, inner});
    ASSERT_EQ(stages.size(), 8u) << wordOf(kind);
    EXPECT_EQ(stages.front().call.collective, Collective::ReduceScatter);
    EXPECT_EQ(stages.front().call.bytes, 4000);
    EXPECT_EQ(stages[2].call.collective, Collective::AllToAll);
    EXPECT_EQ(stages[2].call.over, AxisSet(1));
    EXPECT_EQ(stages[2].call.bytes, 3 * slotOf(partOf(250, 3)));
    EXPECT_EQ(stages.back().call.collective, Collective::AllGather);
    EXPECT_EQ(stages.back().call.bytes, 4000);
  }
  for (FormKind kind : {FormKind::Halves, FormKind::Servers})
    EXPECT_EQ(expandMessage(cluster, message, {kind, 0}).size(), 6u);
  // A rank alone.
  cluster.axes[0].size = 1;
  message.over = 1;
  EXPECT_EQ(expandMessage(cluster, message, {FormKind::Flat, 0}).size(), 1u);
}

TEST(MessageTest, CheapestIsTheCheapest) {
  RandomPlanning random(5);
  for (int trial = 0; trial < 2000; ++trial) {
    ClusterModel cluster = random.cluster();
    int64_t bytes = random.below(100000000);
    double least = std::numeric_limits<double>::infinity();
    FormSet all = (FormSet(1) << kFormKindCount) - 1;
    for (int kind = 0; kind < kFormKindCount; ++kind)
      least = std::min(least, cheapestForm(cluster, bytes, cluster.allAxes(),
                                           FormSet(1) << kind)
                                  .ns);
    ASSERT_EQ(cheapestForm(cluster, bytes, cluster.allAxes(), all).ns, least);
    // Two bytes an element, whatever merges them.
    ASSERT_EQ(messageNs(cluster, 2 * bytes, cluster.allAxes(),
                        {EncodingId::Float16}, all),
              messageNs(cluster, bytes, cluster.allAxes(), Encoding(), all));
  }
}

} // namespace
