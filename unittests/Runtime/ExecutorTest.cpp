//===- ExecutorTest.cpp - What each instruction computes ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every opcode on several numbers of ranks against a reference that is written
// down element by element, and the order between instructions.
//
//===----------------------------------------------------------------------===//
#include "Kernels/HalfTypes.h"
#include "PlanBuilder.h"
#include "Reference.h"
#include "SessionHarness.h"

#include "bagua/Support/Parts.h"
#include "bagua/Support/Peers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <mutex>
#include <numeric>
#include <thread>

namespace bagua::runtime::test {
namespace {

using fb::Opcode;
using Floats = std::vector<float>;

/// What tensor `tensor` of rank `rank` is given as: in (-2, 2), never 0.
float input(int rank, uint32_t tensor, int64_t element, int step = 0) {
  uint32_t hash = static_cast<uint32_t>(element) * 2654435761u +
                  static_cast<uint32_t>(rank) * 40503u + tensor * 9973u +
                  static_cast<uint32_t>(step) * 7919u;
  hash ^= hash >> 15;
  hash *= 2246822519u;
  hash ^= hash >> 13;
  return static_cast<float>(static_cast<int32_t>(hash | 1)) * 0x1p-30f;
}

Floats inputs(int rank, uint32_t tensor, int64_t count, int step = 0) {
  Floats result(count);
  for (int64_t i = 0; i < count; ++i)
    result[i] = input(rank, tensor, i, step);
  return result;
}

/// results[step][rank][tensor]: what float32 tensors hold after a step into
/// which all given ones came with input().
using Results = std::vector<std::vector<std::vector<Floats>>>;

Results runSteps(PlanBuilder &builder, int steps = 1) {
  auto plan = builder.load();
  if (!plan)
    return {};
  auto ranks = plan->topology().ranks();
  auto tensors = static_cast<uint32_t>(builder.plan.tensors.size());
  Results results(steps, std::vector<std::vector<Floats>>(
                             ranks, std::vector<Floats>(tensors)));
  runAll(plan, [&](RankContext &rank) -> absl::Status {
    for (int step = 0; step < steps; ++step) {
      BAGUA_RETURN_IF_ERROR(rank.session->beginStep());
      for (uint32_t i = 0; i < tensors; ++i) {
        if (!builder.tensor(i).given_by_program)
          continue;
        for (int64_t j = 0; j < rank.count<float>(i); ++j)
          rank.data<float>(i)[j] = input(rank.rank(), i, j, step);
        BAGUA_RETURN_IF_ERROR(rank.give(i));
      }
      for (uint32_t i = 0; i < tensors; ++i) {
        BAGUA_RETURN_IF_ERROR(rank.wait(i));
        results[step][rank.rank()][i].assign(
            rank.data<float>(i), rank.data<float>(i) + rank.count<float>(i));
      }
      BAGUA_RETURN_IF_ERROR(rank.session->endStep());
    }
    return rank.session->finish();
  });
  return results;
}

/// ((x0 + x1) + ...), of ranks in order.
Floats sumOf(const std::vector<Floats> &terms) {
  Floats sum = terms[0];
  for (size_t k = 1; k < terms.size(); ++k)
    for (size_t i = 0; i < sum.size(); ++i)
      sum[i] += terms[k][i];
  return sum;
}

Floats meanOf(const std::vector<Floats> &terms) {
  Floats sum = sumOf(terms);
  for (float &value : sum)
    value /= static_cast<float>(terms.size());
  return sum;
}

constexpr float kFloatEpsilon = 0x1p-23f, kBFloat16Epsilon = 0x1p-7f;

/// A sum of at most eight numbers in (-4, 4), or their mean: bit by bit if the
/// backend promises the order of sums, or else within the rounding of seven
/// additions.
testing::Matcher<float> isSum(float sum, float epsilon = kFloatEpsilon) {
  if (traits().sumsInMemberOrder && traits().sumsInAccumulationType)
    return testing::Eq(sum);
  return testing::FloatNear(sum, 8 * epsilon * 32);
}

testing::Matcher<Floats> areSums(const Floats &sums) {
  std::vector<testing::Matcher<float>> each;
  for (float sum : sums)
    each.push_back(isSum(sum));
  return testing::ElementsAreArray(each);
}

std::vector<Floats> allInputs(int ranks, uint32_t tensor, int64_t count,
                              int step = 0) {
  std::vector<Floats> result;
  for (int rank = 0; rank < ranks; ++rank)
    result.push_back(inputs(rank, tensor, count, step));
  return result;
}

Floats partOf(const Floats &whole, int64_t parts, int64_t index) {
  ElementRange range =
      partRange(static_cast<int64_t>(whole.size()), parts, index);
  return {whole.begin() + range.begin, whole.begin() + range.end};
}

class ExecutorTest : public testing::TestWithParam<int> {
protected:
  int ranks() const { return GetParam(); }
  PlanBuilder oneAxis() const { return PlanBuilder({{"gpu", GetParam()}}); }
};

INSTANTIATE_TEST_SUITE_P(Ranks, ExecutorTest, testing::Values(1, 2, 3, 4, 8));

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

TEST_P(ExecutorTest, AllReduce) {
  for (int64_t count : {0, 1, ranks() - 1, ranks(), 1000}) {
    PlanBuilder plan = oneAxis();
    plan.addTensor("g", {count});
    plan.addTensor("in", {count});
    plan.addResult("out", {count});
    uint32_t g = plan.whole(0);
    uint32_t op = plan.addOp(Opcode::AllReduce, {g}, {g}, {0});
    plan.op(op).kind = fb::ReduceKind::Mean;
    plan.addOp(Opcode::AllReduce, {plan.whole(1)}, {plan.whole(2)}, {0});
    Results results = runSteps(plan, 3);
    for (int step = 0; step < 3; ++step)
      for (int rank = 0; rank < ranks(); ++rank) {
        EXPECT_THAT(results[step][rank][0],
                    areSums(meanOf(allInputs(ranks(), 0, count, step))));
        EXPECT_THAT(results[step][rank][2],
                    areSums(sumOf(allInputs(ranks(), 1, count, step))));
      }
  }
}

TEST_P(ExecutorTest, AllReduceOfEveryType) {
  for (int t = 0; t < kDataTypeCount; ++t) {
    auto type = static_cast<DataType>(t);
    PlanBuilder plan = oneAxis();
    plan.addTensor("g", {77}, fb::Role::Gradient, fb::DataType(t));
    uint32_t g = plan.whole(0);
    uint32_t op = plan.addOp(Opcode::AllReduce, {g}, {g}, {0});
    plan.op(op).kind = fb::ReduceKind::Max;
    std::vector<Bytes> terms;
    std::mt19937_64 random(t);
    for (int rank = 0; rank < ranks(); ++rank)
      terms.push_back(randomElements(type, 77, random));
    Bytes expected = referenceReduce(type, ReduceKind::Max, terms);
    runAll(plan.load(), [&](RankContext &rank) -> absl::Status {
      std::memcpy(rank.data<std::byte>(0), terms[rank.rank()].data(),
                  terms[rank.rank()].size());
      BAGUA_RETURN_IF_ERROR(rank.step({0}));
      EXPECT_EQ(std::memcmp(rank.data<std::byte>(0), expected.data(),
                            expected.size()),
                0);
      return rank.session->finish();
    });
  }
}

TEST_P(ExecutorTest, ReduceScatterAndAllGather) {
  for (int64_t count : {0, 1, ranks() + 1, 100}) {
    PlanBuilder plan = oneAxis();
    plan.addTensor("g", {count});
    uint32_t part = plan.addResult("part", {count});
    setLayout(plan.tensor(part).layout, {shard({0})});
    uint32_t whole = plan.addResult("whole", {count});
    uint32_t p = plan.whole(part);
    plan.addOp(Opcode::ReduceScatter, {plan.whole(0)}, {p}, {0});
    plan.addOp(Opcode::AllGather, {p}, {plan.whole(whole)}, {0});
    Results results = runSteps(plan);
    Floats sum = sumOf(allInputs(ranks(), 0, count));
    for (int rank = 0; rank < ranks(); ++rank) {
      EXPECT_THAT(results[0][rank][part], areSums(partOf(sum, ranks(), rank)));
      EXPECT_THAT(results[0][rank][whole], areSums(sum));
    }
  }
}

TEST_P(ExecutorTest, ReduceAndBroadcast) {
  PlanBuilder plan = oneAxis();
  plan.addTensor("g", {50});
  uint32_t onRoot = plan.addResult("root", {50});
  setLayout(plan.tensor(onRoot).layout, {root({0})});
  uint32_t whole = plan.addResult("whole", {50});
  uint32_t r = plan.whole(onRoot);
  uint32_t op = plan.addOp(Opcode::Reduce, {plan.whole(0)}, {r}, {0});
  plan.op(op).kind = fb::ReduceKind::Mean;
  plan.addOp(Opcode::Broadcast, {r}, {plan.whole(whole)}, {0});
  Results results = runSteps(plan);
  Floats mean = meanOf(allInputs(ranks(), 0, 50));
  for (int rank = 0; rank < ranks(); ++rank) {
    EXPECT_THAT(results[0][rank][onRoot], areSums(rank == 0 ? mean : Floats()));
    EXPECT_THAT(results[0][rank][whole], areSums(mean));
  }
}

TEST_P(ExecutorTest, AllToAll) {
  int n = ranks();
  const int64_t shape[3] = {2 * n, 3 * n, n};
  int64_t count = shape[0] * shape[1] * shape[2];
  for (uint32_t split = 0; split < 3; ++split)
    for (uint32_t concat = 0; concat < 3; ++concat) {
      PlanBuilder plan = oneAxis();
      plan.addTensor("x", {shape[0], shape[1], shape[2]});
      plan.addResult("y", {count});
      uint32_t op =
          plan.addOp(Opcode::AllToAll, {plan.whole(0)}, {plan.whole(1)}, {0});
      plan.op(op).shape = {shape[0], shape[1], shape[2]};
      plan.op(op).split_dim = split;
      plan.op(op).concat_dim = concat;
      Results results = runSteps(plan);
      int64_t cut[3] = {shape[0], shape[1], shape[2]};
      cut[split] /= n;
      int64_t outShape[3] = {cut[0], cut[1], cut[2]};
      outShape[concat] *= n;
      for (int rank = 0; rank < n; ++rank)
        for (int64_t i = 0; i < count; ++i) {
          int64_t at[3] = {i / outShape[2] / outShape[1],
                           i / outShape[2] % outShape[1], i % outShape[2]};
          int from = static_cast<int>(at[concat] / cut[concat]);
          at[concat] %= cut[concat];
          at[split] += rank * cut[split];
          int64_t source = (at[0] * shape[1] + at[1]) * shape[2] + at[2];
          ASSERT_EQ(results[0][rank][1][i], input(from, 0, source))
              << "split " << split << " concat " << concat << " element " << i;
        }
    }
}

/// Pieces of three dimensions, by coordinates: scattered, and gathered again.
TEST_P(ExecutorTest, Pieces) {
  int n = ranks();
  const int64_t shape[3] = {2 * n, 3 * n, n};
  int64_t count = shape[0] * shape[1] * shape[2];
  for (uint32_t dimension = 0; dimension < 3; ++dimension) {
    int64_t cut[3] = {shape[0], shape[1], shape[2]};
    cut[dimension] /= n;
    PlanBuilder plan = oneAxis();
    plan.addTensor("x", {shape[0], shape[1], shape[2]});
    plan.addResult("piece", {cut[0], cut[1], cut[2]});
    plan.addResult("sum", {shape[0], shape[1], shape[2]});
    for (auto [opcode, from, to] : {std::tuple(Opcode::ReduceScatter, 0, 1),
                                    std::tuple(Opcode::AllGather, 1, 2)}) {
      uint32_t op =
          plan.addOp(opcode, {plan.whole(from)}, {plan.whole(to)}, {0});
      plan.op(op).shape = {shape[0], shape[1], shape[2]};
      plan.op(op).split_dim = plan.op(op).concat_dim = dimension;
    }
    Results results = runSteps(plan);
    Floats sum = sumOf(allInputs(n, 0, count));
    for (int rank = 0; rank < n; ++rank) {
      EXPECT_THAT(results[0][rank][2], areSums(sum))
          << "dimension " << dimension;
      for (int64_t i = 0; i < count / n; ++i) {
        int64_t at[3] = {i / cut[2] / cut[1], i / cut[2] % cut[1], i % cut[2]};
        at[dimension] += rank * cut[dimension];
        int64_t source = (at[0] * shape[1] + at[1]) * shape[2] + at[2];
        ASSERT_THAT(results[0][rank][1][i], isSum(sum[source]))
            << "dimension " << dimension << " element " << i;
      }
    }
  }
}

/// The last rank sends to the first, each even one to the next; others get
/// zeros.
TEST_P(ExecutorTest, Permute) {
  int n = ranks();
  PlanBuilder plan = oneAxis();
  plan.addTensor("x", {33});
  plan.addResult("y", {33});
  uint32_t op =
      plan.addOp(Opcode::Permute, {plan.whole(0)}, {plan.whole(1)}, {0});
  std::vector<int> sender(n, -1);
  if (n > 1)
    sender[0] = n - 1;
  for (int rank = 0; rank + 1 < n; rank += 2)
    if (rank != n - 1)
      sender[rank + 1] = rank;
  for (int rank = 0; rank < n; ++rank)
    if (sender[rank] >= 0) {
      plan.op(op).pairs.push_back(sender[rank]);
      plan.op(op).pairs.push_back(rank);
    }
  Results results = runSteps(plan);
  for (int rank = 0; rank < n; ++rank)
    EXPECT_EQ(results[0][rank][1],
              sender[rank] < 0 ? Floats(33) : inputs(sender[rank], 0, 33));
}

TEST_P(ExecutorTest, ExchangeRing) {
  int n = ranks();
  PlanBuilder plan = oneAxis();
  plan.addTensor("w", {33});
  plan.addResult("left", {33});
  plan.addResult("right", {33});
  plan.addOp(Opcode::Exchange, {plan.whole(0)}, {plan.whole(1), plan.whole(2)},
             {0});
  Results results = runSteps(plan);
  for (int rank = 0; rank < n; ++rank) {
    EXPECT_EQ(results[0][rank][1], inputs((rank + n - 1) % n, 0, 33));
    EXPECT_EQ(results[0][rank][2], inputs((rank + 1) % n, 0, 33));
  }
}

TEST_P(ExecutorTest, ExchangeShiftOne) {
  int n = ranks();
  if (n % 2 != 0)
    return;
  PlanBuilder plan = oneAxis();
  plan.addTensor("w", {33});
  plan.addResult("peer", {33});
  uint32_t op =
      plan.addOp(Opcode::Exchange, {plan.whole(0)}, {plan.whole(1)}, {0});
  plan.op(op).pattern = fb::ExchangePattern::ShiftOne;
  const int steps = n + 1;
  Results results = runSteps(plan, steps);
  for (int step = 0; step < steps; ++step)
    for (int rank = 0; rank < n; ++rank) {
      // docs/Semantics.md: the upper half's rule by searching, the lower's by
      // formula.
      int half = n / 2;
      int peer = -1;
      for (int other = 0; other < half; ++other)
        if (rank >= half && (step + other) % half + half == rank)
          peer = other;
      if (rank < half)
        peer = (step + rank) % half + half;
      EXPECT_EQ(results[step][rank][1], inputs(peer, 0, 33, step));
    }
}

//===----------------------------------------------------------------------===//
// Servers
//===----------------------------------------------------------------------===//

struct ServerCase {
  int dedicated;
  bool isColocated;
  int32_t server;
};

/// push mean, then pull, through `server`.
void checkPushPull(int workers, const ServerCase &servers) {
  SCOPED_TRACE(testing::Message()
               << workers << " workers, " << servers.dedicated
               << " dedicated servers, server " << servers.server);
  PlanBuilder plan({{"gpu", workers}});
  plan.plan.cluster->dedicated_servers = servers.dedicated;
  plan.plan.cluster->has_colocated_servers = servers.isColocated;
  if (servers.isColocated)
    plan.plan.cluster->server_axes = {0};
  plan.addTensor("g", {101});
  uint32_t out = plan.addResult("out", {101});
  plan.addArena("served", 4096);
  uint32_t s =
      plan.inArena(0, 0, 101, fb::DataType::Float32, {server(servers.server)});
  uint32_t push = plan.addOp(Opcode::Push, {plan.whole(0)}, {s}, {0});
  plan.op(push).kind = fb::ReduceKind::Mean;
  plan.addOp(Opcode::Pull, {s}, {plan.whole(out)}, {0});
  Results results = runSteps(plan, 2);
  for (int step = 0; step < 2; ++step)
    for (int rank = 0; rank < workers; ++rank)
      EXPECT_THAT(results[step][rank][out],
                  areSums(meanOf(allInputs(workers, 0, 101, step))));
}

TEST_P(ExecutorTest, PushAndPull) {
  for (const ServerCase &servers : std::vector<ServerCase>{{1, false, -1},
                                                           {2, false, -1},
                                                           {2, false, 1},
                                                           {0, true, -1},
                                                           {0, true, 0},
                                                           {1, true, -1},
                                                           {2, true, 2}})
    checkPushPull(ranks(), servers);
}

/// BytePS: reduce_scatter in the node, then each part to servers in each node.
/// In a single node the server's own part needs no communicator, the others do.
void checkPushOfShards(int nodes) {
  SCOPED_TRACE(testing::Message() << nodes << " nodes");
  PlanBuilder plan({{"node", nodes}, {"gpu", 3}});
  plan.plan.cluster->has_colocated_servers = true;
  plan.plan.cluster->server_axes = {0};
  plan.addTensor("g", {100});
  uint32_t out = plan.addResult("out", {100});
  plan.addArena("pool", 1 << 14);
  using fb::DataType;
  uint32_t part = plan.inArena(0, 0, 100, DataType::Float32, {shard({1})});
  uint32_t served =
      plan.inArena(0, 1024, 100, DataType::Float32, {shard({1}), server()});
  uint32_t back = plan.inArena(0, 8192, 100, DataType::Float32, {shard({1})});
  plan.addOp(Opcode::ReduceScatter, {plan.whole(0)}, {part}, {1});
  plan.addOp(Opcode::Push, {part}, {served}, {0});
  plan.addOp(Opcode::Pull, {served}, {back}, {0});
  plan.addOp(Opcode::AllGather, {back}, {plan.whole(out)}, {1});
  Results results = runSteps(plan);
  std::vector<Floats> all = allInputs(3 * nodes, 0, 100), inNodes;
  for (int node = 0; node < nodes; ++node)
    inNodes.push_back(
        sumOf({all[3 * node], all[3 * node + 1], all[3 * node + 2]}));
  Floats expected = sumOf(inNodes);
  for (int rank = 0; rank < 3 * nodes; ++rank)
    EXPECT_THAT(results[0][rank][out], areSums(expected));
}

TEST(ExecutorServerTest, PushOfShards) {
  checkPushOfShards(1);
  checkPushOfShards(2);
}

/// An update on dedicated servers: the rate is an input that they have too.
TEST(ExecutorServerTest, UpdateOnServers) {
  PlanBuilder plan({{"gpu", 3}});
  plan.plan.cluster->dedicated_servers = 2;
  plan.addTensor("g", {11});
  uint32_t rate = plan.addTensor("lr", {}, fb::Role::Input);
  uint32_t param = plan.addTensor("w", {11}, fb::Role::Param);
  setLayout(plan.tensor(param).layout, {server()});
  plan.tensor(param).given_by_program = false;
  uint32_t out = plan.addResult("out", {11});
  plan.addArena("pool", 4096);
  uint32_t pushed = plan.inArena(0, 0, 11, fb::DataType::Float32, {server()});
  uint32_t w = plan.whole(param);
  plan.addOp(Opcode::Push, {plan.whole(0)}, {pushed}, {0});
  plan.addOp(Opcode::Sgd, {w, pushed, plan.whole(rate)}, {w});
  plan.addOp(Opcode::Pull, {w}, {plan.whole(out)}, {0});
  runAll(plan.load(), [&](RankContext &rank) -> absl::Status {
    bool isServer = rank.rank() >= 3;
    EXPECT_EQ(rank.count<float>(param), !isServer          ? 0
                                        : rank.rank() == 3 ? 6
                                                           : 5);
    *rank.data<float>(rate) = 0.5f;
    BAGUA_RETURN_IF_ERROR(rank.session->beginStep());
    BAGUA_RETURN_IF_ERROR(rank.give(rate));
    if (!isServer) {
      std::fill_n(rank.data<float>(0), 11, 2.0f);
      BAGUA_RETURN_IF_ERROR(rank.give(0));
      BAGUA_RETURN_IF_ERROR(rank.wait(out));
      for (int i = 0; i < 11; ++i)
        EXPECT_EQ(rank.data<float>(out)[i], -3.0f);
    }
    BAGUA_RETURN_IF_ERROR(rank.session->endStep());
    return rank.session->finish();
  });
}

//===----------------------------------------------------------------------===//
// Hierarchy
//===----------------------------------------------------------------------===//

TEST(ExecutorHierarchyTest, RailAndLeader) {
  PlanBuilder plan({{"node", 3}, {"gpu", 2}});
  plan.addTensor("rail", {101});
  plan.addTensor("leader", {101});
  plan.addArena("pool", 4096);
  uint32_t rail = plan.whole(0), leader = plan.whole(1);
  uint32_t part = plan.inArena(0, 0, 101, fb::DataType::Float32, {shard({1})});
  uint32_t onRoot =
      plan.inArena(0, 1024, 101, fb::DataType::Float32, {root({1})});
  plan.addOp(Opcode::ReduceScatter, {rail}, {part}, {1});
  plan.addOp(Opcode::AllReduce, {part}, {part}, {0});
  plan.addOp(Opcode::AllGather, {part}, {rail}, {1});
  plan.addOp(Opcode::Reduce, {leader}, {onRoot}, {1});
  plan.addOp(Opcode::AllReduce, {onRoot}, {onRoot}, {0});
  plan.addOp(Opcode::Broadcast, {onRoot}, {leader}, {1});
  Results results = runSteps(plan, 2);
  for (int step = 0; step < 2; ++step)
    for (uint32_t tensor : {0, 1}) {
      std::vector<Floats> all = allInputs(6, tensor, 101, step);
      Floats expected = sumOf({sumOf({all[0], all[1]}), sumOf({all[2], all[3]}),
                               sumOf({all[4], all[5]})});
      for (int rank = 0; rank < 6; ++rank)
        EXPECT_THAT(results[step][rank][tensor], areSums(expected));
    }
}

/// BlueConnect: parts of parts, down and up again.
TEST(ExecutorHierarchyTest, NestedShards) {
  for (int64_t count : {1, 7, 100}) {
    PlanBuilder plan({{"node", 2}, {"gpu", 3}});
    plan.addTensor("g", {count});
    plan.addArena("pool", 4096);
    auto f32 = fb::DataType::Float32;
    uint32_t g = plan.whole(0);
    uint32_t outer = plan.inArena(0, 0, count, f32, {shard({1})});
    uint32_t inner =
        plan.inArena(0, 1024, count, f32, {shard({1}), shard({0})});
    uint32_t sliced = plan.addResult("sliced", {count});
    setLayout(plan.tensor(sliced).layout, {shard({1}), shard({0})});
    plan.addOp(Opcode::ReduceScatter, {g}, {outer}, {1});
    plan.addOp(Opcode::ReduceScatter, {outer}, {inner}, {0});
    plan.addOp(Opcode::AllGather, {inner}, {outer}, {0});
    plan.addOp(Opcode::Slice, {outer}, {plan.whole(sliced)});
    plan.addOp(Opcode::AllGather, {outer}, {g}, {1});
    Results results = runSteps(plan);
    std::vector<Floats> all = allInputs(6, 0, count);
    Floats expected = sumOf(
        {sumOf({all[0], all[1], all[2]}), sumOf({all[3], all[4], all[5]})});
    for (int rank = 0; rank < 6; ++rank) {
      EXPECT_THAT(results[0][rank][0], areSums(expected));
      EXPECT_THAT(results[0][rank][sliced],
                  areSums(partOf(partOf(expected, 3, rank % 3), 2, rank / 3)));
    }
  }
}

//===----------------------------------------------------------------------===//
// Concat, split
//===----------------------------------------------------------------------===//

TEST_P(ExecutorTest, ConcatAndSplitThatCopy) {
  PlanBuilder plan = oneAxis();
  plan.addTensor("a", {10});
  plan.addTensor("b", {7});
  plan.addArena("pool", 4096);
  uint32_t a = plan.whole(0), b = plan.whole(1);
  uint32_t bucket = plan.inArena(0, 128, 17);
  plan.addOp(Opcode::Concat, {b, a}, {bucket});
  plan.addOp(Opcode::AllReduce, {bucket}, {bucket}, {0});
  plan.addOp(Opcode::Split, {bucket}, {b, a});
  Results results = runSteps(plan);
  for (int rank = 0; rank < ranks(); ++rank) {
    EXPECT_THAT(results[0][rank][0], areSums(sumOf(allInputs(ranks(), 0, 10))));
    EXPECT_THAT(results[0][rank][1], areSums(sumOf(allInputs(ranks(), 1, 7))));
  }
}

/// ZeRO: a striped bucket is scattered, split into the rank's parts of its
/// tensors, put together and gathered again.
TEST_P(ExecutorTest, StripedBucket) {
  int n = ranks();
  const int64_t counts[] = {10, 1, 7 * n};
  PlanBuilder plan = oneAxis();
  std::vector<uint32_t> wholes, parts;
  int64_t padded = 0;
  for (uint32_t i = 0; i < 3; ++i) {
    plan.addTensor("g" + std::to_string(i), {counts[i]});
    wholes.push_back(plan.whole(i));
    padded += partSize(counts[i], n) * n;
  }
  for (uint32_t i = 0; i < 3; ++i) {
    plan.addResult("part" + std::to_string(i), {counts[i]});
    setLayout(plan.tensor(3 + i).layout, {shard({0})});
    parts.push_back(plan.whole(3 + i));
  }
  plan.addArena("pool", 1 << 14);
  auto f32 = fb::DataType::Float32;
  uint32_t bucket = plan.inArena(0, 0, padded, f32);
  uint32_t part = plan.inArena(0, 8192, padded, f32, {shard({0})});
  auto striped = [&](Opcode opcode, PlanBuilder::Numbers from,
                     PlanBuilder::Numbers to) {
    setLayout(plan.op(plan.addOp(opcode, from, to)).striped, {shard({0})});
  };
  striped(Opcode::Concat, wholes, {bucket});
  plan.addOp(Opcode::ReduceScatter, {bucket}, {part}, {0});
  striped(Opcode::Split, {part}, parts);
  striped(Opcode::Concat, parts, {part});
  plan.addOp(Opcode::AllGather, {part}, {bucket}, {0});
  striped(Opcode::Split, {bucket}, wholes);
  Results results = runSteps(plan, 2);
  for (int step = 0; step < 2; ++step)
    for (uint32_t i = 0; i < 3; ++i) {
      Floats sum = sumOf(allInputs(n, i, counts[i], step));
      for (int rank = 0; rank < n; ++rank) {
        EXPECT_THAT(results[step][rank][i], areSums(sum));
        EXPECT_THAT(results[step][rank][3 + i], areSums(partOf(sum, n, rank)));
      }
    }
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

TEST_P(ExecutorTest, Linear) {
  PlanBuilder plan = oneAxis();
  for (const char *name : {"x", "y", "z"})
    plan.addTensor(name, {1300});
  uint32_t x = plan.whole(0);
  uint32_t op =
      plan.addOp(Opcode::Linear, {x, plan.whole(1), plan.whole(2)}, {x});
  plan.op(op).constants = {0.3f, -1.7f, 0.1f};
  Results results = runSteps(plan);
  for (int64_t i = 0; i < 1300; ++i) {
    float expected = 0.3f * input(0, 0, i);
    expected += -1.7f * input(0, 1, i);
    expected += 0.1f * input(0, 2, i);
    ASSERT_EQ(results[0][0][0][i], expected);
  }
}

TEST(ExecutorUpdateTest, SgdWithAndWithoutMomentum) {
  PlanBuilder plan({{"gpu", 1}});
  for (const char *name : {"w", "m", "g", "u"})
    plan.addTensor(name, {700});
  plan.addTensor("lr", {}, fb::Role::Input);
  uint32_t w = plan.whole(0), m = plan.whole(1), g = plan.whole(2);
  uint32_t u = plan.whole(3);
  plan.op(plan.addOp(Opcode::Sgd, {w, m, g, plan.whole(4)}, {w, m}))
      .constants = {0.9f};
  plan.addOp(Opcode::Sgd, {u, g, plan.whole(4)}, {u});
  Results results = runSteps(plan);
  float rate = input(0, 4, 0);
  for (int64_t i = 0; i < 700; ++i) {
    float moment = 0.9f * input(0, 1, i) + input(0, 2, i);
    ASSERT_EQ(results[0][0][1][i], moment);
    ASSERT_EQ(results[0][0][0][i], input(0, 0, i) - rate * moment);
    ASSERT_EQ(results[0][0][3][i], input(0, 3, i) - rate * input(0, 2, i));
  }
}

struct AdamCase {
  fb::BiasCorrection correction;
  float decay;
};

class AdamTest : public testing::TestWithParam<AdamCase> {};

/// One element, three updates, as the dialect's table of `adam` has them.
TEST_P(AdamTest, AgreesWithItsDefinition) {
  constexpr float kBeta1 = 0.9f, kBeta2 = 0.98f, kEps = 1e-6f, kRate = 0.05f;
  constexpr int64_t kCount = 600;
  PlanBuilder plan({{"gpu", 1}});
  plan.addTensor("g", {kCount});
  for (const char *name : {"w", "m", "v"}) {
    plan.addTensor(name, {kCount}, fb::Role::Optimizer);
    plan.plan.tensors.back()->given_by_program = false;
  }
  uint32_t w = plan.whole(1), m = plan.whole(2), v = plan.whole(3);
  uint32_t op = plan.addOp(Opcode::Adam, {w, m, v, plan.whole(0)}, {w, m, v});
  plan.op(op).constants = {kBeta1, kBeta2, kEps, GetParam().decay};
  plan.op(op).bias_correction = GetParam().correction;
  plan.op(op).has_learning_rate = true;
  plan.op(op).learning_rate = kRate;
  runAll(plan.load(), [&](RankContext &rank) -> absl::Status {
    Floats ew(kCount, 1.0f), em(kCount, 0.0f), ev(kCount, 0.0f);
    std::fill_n(rank.data<float>(1), kCount, 1.0f);
    for (int step = 0; step < 3; ++step) {
      for (int64_t i = 0; i < kCount; ++i)
        rank.data<float>(0)[i] = input(0, 0, i, step);
      BAGUA_RETURN_IF_ERROR(rank.step({0}));
      auto c1 = static_cast<float>(1 - std::pow(double(kBeta1), step + 1));
      auto c2 = static_cast<float>(1 - std::pow(double(kBeta2), step + 1));
      for (int64_t i = 0; i < kCount; ++i) {
        float g = input(0, 0, i, step);
        if (GetParam().decay != 0)
          ew[i] = ew[i] - kRate * GetParam().decay * ew[i];
        em[i] = kBeta1 * em[i] + (1 - kBeta1) * g;
        ev[i] = kBeta2 * ev[i] + (1 - kBeta2) * (g * g);
        if (GetParam().correction == fb::BiasCorrection::None)
          ew[i] = ew[i] - kRate * em[i] / (std::sqrt(ev[i]) + kEps);
        else if (GetParam().correction == fb::BiasCorrection::Moments)
          ew[i] = ew[i] - kRate * (em[i] / c1) / (std::sqrt(ev[i] / c2) + kEps);
        else
          ew[i] = ew[i] - kRate * std::sqrt(c2) / c1 * em[i] /
                              (std::sqrt(ev[i]) + kEps);
        EXPECT_EQ(rank.data<float>(1)[i], ew[i]);
        EXPECT_EQ(rank.data<float>(2)[i], em[i]);
        EXPECT_EQ(rank.data<float>(3)[i], ev[i]);
      }
    }
    return rank.session->finish();
  });
}

INSTANTIATE_TEST_SUITE_P(
    Corrections, AdamTest,
    testing::Values(AdamCase{fb::BiasCorrection::None, 0.0f},
                    AdamCase{fb::BiasCorrection::Moments, 0.01f},
                    AdamCase{fb::BiasCorrection::StepSize, 0.0f}));

TEST(ExecutorUpdateTest, AdamApplyLeavesMomentsAlone) {
  PlanBuilder plan({{"gpu", 1}});
  for (const char *name : {"w", "m", "v"})
    plan.addTensor(name, {40});
  uint32_t w = plan.whole(0);
  uint32_t op =
      plan.addOp(Opcode::AdamApply, {w, plan.whole(1), plan.whole(2)}, {w});
  plan.op(op).constants = {3.0f};
  plan.op(op).has_learning_rate = true;
  plan.op(op).learning_rate = 0.5f;
  Results results = runSteps(plan);
  for (int64_t i = 0; i < 40; ++i) {
    float v = input(0, 2, i);
    float expected =
        input(0, 0, i) - 0.5f * input(0, 1, i) / (std::sqrt(v) + 3.0f);
    bool isNan = v < 0;
    EXPECT_TRUE(isNan || results[0][0][0][i] == expected);
    EXPECT_EQ(results[0][0][1][i], input(0, 1, i));
  }
}

/// By the betas it knows how far `adam` has moved the moments from 0 in as many
/// updates. Negative variances have no root.
TEST(ExecutorUpdateTest, AdamApplyCorrectsMoments) {
  constexpr float kBeta1 = 0.9f, kBeta2 = 0.98f, kEps = 1e-3f, kRate = 0.05f;
  PlanBuilder plan({{"gpu", 1}});
  for (const char *name : {"w", "m", "v"})
    plan.addTensor(name, {40});
  uint32_t w = plan.whole(0);
  uint32_t op =
      plan.addOp(Opcode::AdamApply, {w, plan.whole(1), plan.whole(2)}, {w});
  plan.op(op).constants = {kEps, kBeta1, kBeta2};
  plan.op(op).bias_correction = fb::BiasCorrection::Moments;
  plan.op(op).has_learning_rate = true;
  plan.op(op).learning_rate = kRate;
  Results results = runSteps(plan, 3);
  for (int step = 0; step < 3; ++step) {
    auto c1 = static_cast<float>(1 - std::pow(double(kBeta1), step + 1));
    auto c2 = static_cast<float>(1 - std::pow(double(kBeta2), step + 1));
    for (int64_t i = 0; i < 40; ++i) {
      float m = input(0, 1, i, step), v = input(0, 2, i, step);
      if (v >= 0) {
        EXPECT_EQ(results[step][0][0][i],
                  input(0, 0, i, step) -
                      kRate * (m / c1) / (std::sqrt(v / c2) + kEps));
      }
    }
  }
}

/// bf16 on the wire: the sum is of rounded values, accumulated in float32.
TEST_P(ExecutorTest, CastOnTheWire) {
  PlanBuilder plan = oneAxis();
  plan.addTensor("g", {500});
  plan.addArena("wire", 4096);
  uint32_t g = plan.whole(0);
  uint32_t half = plan.inArena(0, 0, 500, fb::DataType::BFloat16);
  plan.addOp(Opcode::Cast, {g}, {half});
  plan.addOp(Opcode::AllReduce, {half}, {half}, {0});
  plan.addOp(Opcode::Cast, {half}, {g});
  Results results = runSteps(plan);
  for (int64_t i = 0; i < 500; ++i) {
    float sum = 0;
    for (int rank = 0; rank < ranks(); ++rank) {
      float rounded = floatFromBFloat16(bfloat16FromFloat(input(rank, 0, i)));
      sum = rank == 0 ? rounded : sum + rounded;
    }
    ASSERT_THAT(
        results[0][0][0][i],
        isSum(floatFromBFloat16(bfloat16FromFloat(sum)), kBFloat16Epsilon));
  }
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

/// Two streams write and read one buffer in turn; only `after` and
/// `after_previous` keep them apart.
TEST_P(ExecutorTest, StreamsWaitForEachOther) {
  PlanBuilder plan = oneAxis();
  uint32_t other = plan.addStream("other");
  plan.addTensor("x", {20000});
  plan.addResult("y", {20000});
  plan.addArena("shared", 80000);
  uint32_t x = plan.whole(0), shared = plan.inArena(0, 0, 20000);
  uint32_t write = plan.addOp(Opcode::Linear, {x}, {shared});
  plan.op(write).constants = {2.0f};
  uint32_t reduce =
      plan.addOp(Opcode::AllReduce, {shared}, {shared}, {0}, other);
  plan.op(reduce).after = {write};
  uint32_t read = plan.addOp(Opcode::Concat, {shared}, {plan.whole(1)});
  plan.op(read).after = {reduce};
  plan.op(write).after_previous = {read, reduce};
  Results results = runSteps(plan, 20);
  for (int step = 0; step < 20; ++step) {
    std::vector<Floats> terms = allInputs(ranks(), 0, 20000, step);
    for (Floats &term : terms)
      for (float &value : term)
        value *= 2.0f;
    ASSERT_THAT(results[step][0][1], areSums(sumOf(terms)));
  }
}

} // namespace
} // namespace bagua::runtime::test
