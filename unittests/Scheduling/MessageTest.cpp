//===- MessageTest.cpp - What an all_reduce is made of --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The steps of every form and wire against formulas written down here: what is
// sent, what is moved and what is kept, and that the cheapest form is the
// cheapest.
//
//===----------------------------------------------------------------------===//
#include "RandomPlanning.h"

#include "bagua/Scheduling/Message.h"

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

int64_t keptBytes(const std::vector<MessageStep> &steps) {
  return std::accumulate(steps.begin(), steps.end(), int64_t(0),
                         [](int64_t sum, const MessageStep &step) {
                           return sum + step.keptBytes;
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
  std::vector<MessageStep> steps =
      expandMessage(cluster, message, {FormKind::Rail, 2});
  ASSERT_EQ(steps.size(), 5u);
  EXPECT_EQ(steps.front().kind, MessageStep::Kind::Encode);
  EXPECT_EQ(steps.back().kind, MessageStep::Kind::Decode);
  // Four bytes on one side, two on the other.
  EXPECT_EQ(steps.front().movedBytes, 6000);
  EXPECT_EQ(steps.back().movedBytes, 6000);
  EXPECT_EQ(steps.front().keptBytes, 2000);
  EXPECT_EQ(steps.back().keptBytes, 0);
  std::vector<int64_t> bytes;
  for (size_t i = 1; i + 1 < steps.size(); ++i) {
    EXPECT_EQ(steps[i].kind, MessageStep::Kind::Collective);
    bytes.push_back(steps[i].call.bytes);
  }
  // A quarter of a thousand crosses the nodes.
  EXPECT_THAT(bytes, testing::ElementsAre(2000, 500, 2000));
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
