//===- TrafficTest.cpp - Traffic beside all ways to fuse ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Known kernels have known traffic. For random graphs, a search over all
// choices of values to write, whose cost follows from the definition, gives the
// least traffic.
//
//===----------------------------------------------------------------------===//
#include "bagua/Scheduling/Prices/Traffic.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <set>

using namespace bagua;
using testing::ElementsAre;

// dot, + bias (broadcast), gelu, dot: one kernel between the two dots.
TEST(TrafficTest, ElementwiseOpsAreOneKernel) {
  std::vector<TrafficOp> ops = {{Traffic::Kernel, {0, 1}, {3}},
                                {Traffic::View, {2}, {4}},
                                {Traffic::Fused, {3, 4}, {5}},
                                {Traffic::Fused, {5, 5}, {6}},
                                {Traffic::Kernel, {6, 1}, {7}}};
  std::vector<int64_t> bytes = {100, 200, 10, 1000, 1000, 1000, 1000, 100};
  EXPECT_THAT(countTraffic(ops, bytes, {7}),
              ElementsAre(1300, 0, 0, 2010, 1300));
}

// max(x) and exp(x - max(x)) both read what x is computed from.
TEST(TrafficTest, AReductionComputesItsOperand) {
  std::vector<TrafficOp> ops = {{Traffic::Fused, {0, 1}, {2}},
                                {Traffic::Reduction, {2}, {3}},
                                {Traffic::Fused, {2, 3}, {4}}};
  EXPECT_THAT(countTraffic(ops, {1000, 0, 1000, 10, 1000}, {4}),
              ElementsAre(0, 1010, 2010));
}

// The sum of four tensors, used by three kernels, is written once.
TEST(TrafficTest, WritesWhatIsDearToComputeAgain) {
  std::vector<TrafficOp> ops = {{Traffic::Fused, {0, 1, 2, 3}, {4}},
                                {Traffic::Reduction, {4}, {5}},
                                {Traffic::Reduction, {4}, {6}},
                                {Traffic::Reduction, {4}, {7}}};
  EXPECT_THAT(countTraffic(ops, {100, 100, 100, 100, 100, 1, 1, 1}, {5, 6, 7}),
              ElementsAre(500, 101, 101, 101));
}

// A slice that a kernel of its own needs is copied; one that is fused is read
// where it is used. An update in place touches what it writes.
TEST(TrafficTest, PartsCountAsWhatTheyAre) {
  std::vector<TrafficOp> ops = {{Traffic::Part, {0}, {1}},
                                {Traffic::Fused, {1}, {2}},
                                {Traffic::Part, {0}, {3}},
                                {Traffic::Kernel, {3}, {4}},
                                {Traffic::InPlace, {0, 2}, {5}}};
  EXPECT_THAT(countTraffic(ops, {1000, 10, 10, 20, 5, 1000}, {4, 5}),
              ElementsAre(0, 0, 40, 25, 20));
}

// Constants are known when the step is compiled, and communication takes its
// time elsewhere.
TEST(TrafficTest, ConstantsAndCommunicationCountNothing) {
  std::vector<TrafficOp> ops = {{Traffic::None, {}, {1}},
                                {Traffic::Fused, {0, 1}, {2}},
                                {Traffic::Outside, {2}, {3}},
                                {Traffic::Fused, {3, 1}, {4}}};
  EXPECT_THAT(countTraffic(ops, {100, 0, 100, 100, 100}, {4}),
              ElementsAre(0, 200, 0, 200));
}

namespace {
/// A random step: kernels, reductions, elementwise ops and views over a few
/// tensors, each of which the next ops are likely to use.
struct RandomStep {
  std::vector<TrafficOp> ops;
  std::vector<int64_t> bytes;
  std::vector<int32_t> escaping;

  explicit RandomStep(std::mt19937 &random) {
    auto below = [&](int bound) { return static_cast<int>(random() % bound); };
    for (int i = 0; i < 3; ++i)
      bytes.push_back(10 << below(8));
    for (int i = 0; i < 9; ++i) {
      constexpr Traffic kinds[] = {Traffic::Fused,     Traffic::Fused,
                                   Traffic::Fused,     Traffic::Fused,
                                   Traffic::Reduction, Traffic::View,
                                   Traffic::Kernel,    Traffic::Outside};
      TrafficOp op{kinds[below(8)], {}, {static_cast<int32_t>(bytes.size())}};
      for (int j = op.kind == Traffic::View ? 0 : below(3); j >= 0; --j) {
        int recent = std::min<int>(bytes.size(), 5);
        op.operands.push_back(
            static_cast<int32_t>(bytes.size() - 1 - below(recent)));
      }
      int64_t largest = 0;
      for (int32_t operand : op.operands)
        largest = std::max(largest, bytes[operand]);
      bool keepsSize = op.kind == Traffic::View || op.kind == Traffic::Fused;
      bytes.push_back(keepsSize ? largest : 10 << below(8));
      ops.push_back(op);
    }
    escaping = {static_cast<int32_t>(bytes.size() - 1)};
  }

  int32_t viewed(int32_t value) const {
    for (const TrafficOp &op : ops)
      if (op.kind == Traffic::View && op.results[0] == value)
        return viewed(op.operands[0]);
    return value;
  }
  const TrafficOp *defOf(int32_t value) const {
    for (const TrafficOp &op : ops)
      if (op.results[0] == value)
        return &op;
    return nullptr;
  }
  /// Adds the values that a kernel reads to have this one, if it may keep
  /// `unwritten` in registers.
  void read(int32_t value, const std::set<int32_t> &unwritten,
            std::set<int32_t> &into) const {
    value = viewed(value);
    if (!unwritten.contains(value)) {
      into.insert(value);
      return;
    }
    for (int32_t operand : defOf(value)->operands)
      read(operand, unwritten, into);
  }
  int64_t trafficOf(const TrafficOp &op,
                    const std::set<int32_t> &unwritten) const {
    if (op.kind == Traffic::View || op.kind == Traffic::Outside ||
        unwritten.contains(op.results[0]))
      return 0;
    std::set<int32_t> values;
    for (int32_t operand : op.operands)
      read(operand, unwritten, values);
    int64_t total = bytes[op.results[0]];
    for (int32_t value : values)
      total += bytes[value];
    return total;
  }
  /// Whether a kernel that is not fused, or the end of the step, needs the
  /// value.
  bool isNeeded(int32_t value) const {
    if (viewed(escaping[0]) == value)
      return true;
    for (const TrafficOp &op : ops)
      if (op.kind == Traffic::Kernel || op.kind == Traffic::Outside)
        for (int32_t operand : op.operands)
          if (viewed(operand) == value)
            return true;
    return false;
  }
};
} // namespace

TEST(TrafficTest, RandomStepsMoveLittleMoreThanTheLeast) {
  std::mt19937 random(7);
  double worst = 1, sum = 0;
  constexpr int kTrials = 2000;
  for (int trial = 0; trial < kTrials; ++trial) {
    RandomStep step(random);
    std::vector<int64_t> moved =
        countTraffic(step.ops, step.bytes, step.escaping);
    std::vector<int32_t> optional;
    std::set<int32_t> chosen;
    for (size_t i = 0; i < step.ops.size(); ++i) {
      int32_t result = step.ops[i].results[0];
      if (step.ops[i].kind != Traffic::Fused)
        continue;
      if (moved[i] == 0)
        chosen.insert(result);
      if (!step.isNeeded(result))
        optional.push_back(result);
      else
        EXPECT_GT(moved[i], 0) << "trial " << trial;
    }
    // Each op's bytes follow from the choice.
    for (size_t i = 0; i < step.ops.size(); ++i)
      EXPECT_EQ(moved[i], step.trafficOf(step.ops[i], chosen))
          << "trial " << trial << ", op " << i;
    int64_t least = INT64_MAX;
    for (uint32_t choice = 0; choice < 1u << optional.size(); ++choice) {
      std::set<int32_t> unwritten;
      for (size_t i = 0; i < optional.size(); ++i)
        if (choice >> i & 1)
          unwritten.insert(optional[i]);
      int64_t total = 0;
      for (const TrafficOp &op : step.ops)
        total += step.trafficOf(op, unwritten);
      least = std::min(least, total);
    }
    int64_t total = std::accumulate(moved.begin(), moved.end(), int64_t(0));
    if (least == 0)
      continue;
    double ratio = static_cast<double>(total) / static_cast<double>(least);
    worst = std::max(worst, ratio);
    sum += ratio;
  }
  EXPECT_LT(worst, 2);
  EXPECT_LT(sum / kTrials, 1.005);
}

// A text may list independent ops in any order.
TEST(TrafficTest, TheOrderOfTheTextDoesNotMatter) {
  std::mt19937 random(8);
  for (int trial = 0; trial < 500; ++trial) {
    RandomStep step(random);
    std::vector<int64_t> moved =
        countTraffic(step.ops, step.bytes, step.escaping);
    // Any op whose operands have been listed may come next.
    std::vector<size_t> order;
    std::set<int32_t> known = {0, 1, 2};
    while (order.size() < step.ops.size()) {
      size_t next = random() % step.ops.size();
      const TrafficOp &op = step.ops[next];
      if (known.contains(op.results[0]) ||
          !std::all_of(op.operands.begin(), op.operands.end(),
                       [&](int32_t value) { return known.contains(value); }))
        continue;
      order.push_back(next);
      known.insert(op.results[0]);
    }
    std::vector<TrafficOp> shuffled;
    for (size_t i : order)
      shuffled.push_back(step.ops[i]);
    std::vector<int64_t> again =
        countTraffic(shuffled, step.bytes, step.escaping);
    for (size_t i = 0; i < order.size(); ++i)
      EXPECT_EQ(again[i], moved[order[i]]) << "trial " << trial;
  }
}
