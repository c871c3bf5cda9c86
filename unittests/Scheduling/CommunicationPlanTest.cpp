//===- CommunicationPlanTest.cpp - Plans, schedules and their search ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Text there and back, what a plan must keep of a step, and the search against
// every plan there is of small problems.
//
//===----------------------------------------------------------------------===//
#include "RandomPlanning.h"

#include "bagua/Scheduling/Prices/LowerBound.h"
#include "bagua/Scheduling/Search/Decide.h"
#include "bagua/Scheduling/Search/PlanGraph.h"
#include "bagua/Scheduling/Search/PlanSearch.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <set>

using namespace bagua;
using bagua::test::makeAlike;
using bagua::test::RandomPlanning;
using testing::ElementsAre;

namespace {

TEST(CommunicationPlanTest, Text) {
  std::vector<PlannedBucket> buckets{
      {1}, {1}, {12, 1, FormKind::Rail}, {1, 8, FormKind::RailServers}};
  EXPECT_EQ(printBuckets(buckets), "2*1,12:rail,1/8:rail-servers");
  EXPECT_EQ(parseBuckets("2*1,12:rail,1/8:rail-servers"), buckets);
  EXPECT_EQ(parseBuckets(""), std::vector<PlannedBucket>());
  // The parts' forms in turn, then the wire.
  PlannedBucket mixed{1, 8, FormCycle({FormKind::Servers, FormKind::Flat})};
  mixed.wire = {EncodingId::BFloat16};
  EXPECT_EQ(printBuckets({mixed}), "1/8:servers+flat:bf16");
  EXPECT_EQ(parseBuckets("1/8:servers+flat:bf16"), std::vector{mixed});
  for (const char *wrong : {"x",
                            "1,",
                            ",1",
                            "0",
                            "-1",
                            "1/0",
                            "1/",
                            "2*",
                            "*2",
                            "1:",
                            "1:round",
                            "1 ,2",
                            "1:flat:rail",
                            "1:flat+",
                            "1:+flat",
                            "1:flat+f16",
                            "1:f16:rail",
                            "1:rail:",
                            "99999999999999999999",
                            "99999999"})
    EXPECT_EQ(parseBuckets(wrong), std::nullopt) << wrong;
}

FormCycle randomForms(RandomPlanning &random) {
  std::vector<FormKind> forms(1 + random.below(3));
  for (FormKind &form : forms)
    form = static_cast<FormKind>(random.below(kFormKindCount));
  return FormCycle(std::move(forms));
}

// Parts take the forms in turn; a list for all parts is kept by its period.
TEST(CommunicationPlanTest, PartsTakeFormsInTurn) {
  FormKind a = FormKind::Servers, b = FormKind::Flat;
  EXPECT_EQ(FormCycle::ofParts({a, b, a, b, a}), FormCycle({a, b}));
  EXPECT_EQ(FormCycle::ofParts({b, b}), FormCycle(b));
  RandomPlanning random(6);
  for (int trial = 0; trial < 1000; ++trial) {
    std::vector<FormKind> parts(1 + random.below(12));
    for (FormKind &form : parts)
      form = random.below(3) ? a : b;
    FormCycle cycle = FormCycle::ofParts(parts);
    ASSERT_LE(cycle.kinds().size(), parts.size());
    for (size_t part = 0; part < parts.size(); ++part)
      ASSERT_EQ(cycle.ofPart(static_cast<int64_t>(part)), parts[part]);
  }
}

Encoding randomWire(RandomPlanning &random) {
  std::vector<std::string_view> words = wireWords();
  ParsedEncoding parsed = parseWire(words[random.below(words.size())]);
  EXPECT_EQ(parsed.error, "");
  return parsed.encoding;
}

TEST(CommunicationPlanTest, TextThereAndBack) {
  RandomPlanning random(1);
  for (int trial = 0; trial < 10000; ++trial) {
    std::vector<PlannedBucket> buckets(random.below(8));
    for (PlannedBucket &bucket : buckets)
      bucket = {static_cast<int32_t>(1 + random.below(3)), 1 + random.below(3),
                randomForms(random), randomWire(random)};
    ASSERT_EQ(parseBuckets(printBuckets(buckets)), buckets);
    Encoding common = randomWire(random);
    ASSERT_EQ(parseBuckets(printBuckets(buckets, common), common), buckets);
  }
}

TEST(CommunicationPlanTest, Resolve) {
  BucketingProblem problem;
  problem.tensors = {{4, 0, 0}, {4, 1, 1}, {8, 2, 0}};
  std::vector<int64_t> counts{1, 1, 2};
  // By class, then by readiness.
  EXPECT_THAT(planOrder(problem), ElementsAre(0, 2, 1));
  EXPECT_THAT(resolveBuckets({{2}, {1}}, problem, counts).members,
              ElementsAre(ElementsAre(0, 2), ElementsAre(1)));
  EXPECT_EQ(resolveBuckets({{2}}, problem, counts).error,
            "expected buckets of all 3 all_reduces, of gradients and "
            "statistics, found 2");
  EXPECT_EQ(resolveBuckets({{1}, {2}}, problem, counts).error,
            "expected gradients of one element type, group and agreement in "
            "bucket 1");
  EXPECT_EQ(resolveBuckets({{2, 4}, {1}}, problem, counts).error,
            "expected at most 3 parts of bucket 0, found 4");
}

CommunicationPlan randomPlan(RandomPlanning &random,
                             const CommunicationProblem &problem) {
  CommunicationPlan plan;
  const auto &tensors = problem.bucketing.tensors;
  std::vector<int32_t> order = planOrder(problem.bucketing);
  for (size_t i = 0; i < order.size(); ++i) {
    bool joins =
        i > 0 && random.below(2) &&
        tensors[order[i]].shareClass == tensors[order[i - 1]].shareClass;
    if (joins) {
      ++plan.buckets.back().gradients;
      continue;
    }
    int64_t most = std::min<int64_t>(4, problem.gradients[order[i]].count);
    plan.buckets.push_back(
        {1, 1 + random.below(most), static_cast<FormKind>(random.below(5))});
    if (problem.cluster.servers() > 0 && random.below(3) == 0)
      plan.buckets.back().form = FormCycle(
          {random.below(2) ? FormKind::Servers : FormKind::RailServers,
           static_cast<FormKind>(random.below(5))});
  }
  plan.scheduling = {static_cast<SchedulePolicy>(random.below(4)),
                     random.below(3) * 1000000};
  plan.isUpdatedByRuntime = random.below(2);
  for (PlannedBucket &bucket : plan.buckets)
    bucket.wire = {random.below(2) ? EncodingId::Float16 : EncodingId::None};
  return plan;
}

/// The compute, states and updates stay; every update waits for the compute
/// that makes its gradient by way of collectives of all its bytes, and all ops
/// are scheduled once, after what they need.
TEST(CommunicationPlanTest, RandomPlansKeepTheStep) {
  RandomPlanning random(2);
  for (int trial = 0; trial < 3000; ++trial) {
    CommunicationProblem problem = random.problem(
        1 + static_cast<int32_t>(random.below(6)), random.below(2));
    ASSERT_EQ(problem.check(), std::nullopt);
    CommunicationPlan plan = randomPlan(random, problem);
    OpGraph step = applyPlan(problem, plan);
    const OpGraph &base =
        plan.isUpdatedByRuntime ? problem.byRuntime : problem.byProgram;
    auto count = [](const OpGraph &graph, GraphOpKind kind) {
      int64_t found = 0;
      for (int32_t op = 0; op < graph.size(); ++op)
        found += graph[op].kind == kind;
      return found;
    };
    for (GraphOpKind kind : {GraphOpKind::Compute, GraphOpKind::Update})
      ASSERT_EQ(count(step, kind), count(base, kind));
    ASSERT_EQ(step.yields.size(), base.yields.size());
    // Walk back from each update to compute that makes gradients.
    auto layers = static_cast<int32_t>(step.yields.size());
    for (int32_t layer = 0; layer < layers; ++layer) {
      std::set<int32_t> reached;
      bool isReduced = false;
      std::function<void(int32_t)> walk = [&](int32_t op) {
        if (OpGraph::isState(op) || !reached.insert(op).second)
          return;
        isReduced |= step[op].kind == GraphOpKind::Collective;
        if (!step[op].makesGradient)
          for (int32_t operand : step.operandsOf(op))
            walk(operand);
      };
      walk(step.yields[layer]);
      ASSERT_TRUE(isReduced);
      // Its own backward op is the one that reads the layer's state.
      ASSERT_TRUE(std::any_of(reached.begin(), reached.end(), [&](int32_t op) {
        OpGraph::Range read = step.operandsOf(op);
        return step[op].makesGradient &&
               std::find(read.begin(), read.end(), OpGraph::state(layer)) !=
                   read.end();
      }));
    }
    CollectivePrices prices(problem.cluster);
    LaunchSchedule schedule = scheduleStep(step, plan.scheduling, prices);
    std::vector<int32_t> place(step.size(), -1);
    for (size_t i = 0; i < schedule.order.size(); ++i) {
      ASSERT_EQ(place[schedule.order[i]], -1);
      place[schedule.order[i]] = static_cast<int32_t>(i);
    }
    for (int32_t op = 0; op < step.size(); ++op) {
      ASSERT_GE(place[op], 0);
      for (int32_t operand : step.operandsOf(op))
        if (!OpGraph::isState(operand)) {
          ASSERT_LT(place[operand], place[op]);
        }
      bool isProgram = schedule.streams[schedule.streamOf[op]].isProgram;
      ASSERT_EQ(isProgram, step[op].kind == GraphOpKind::Compute);
    }
    for (const LaunchSchedule::Delay &delay : schedule.delays)
      for (int32_t after : delay.after)
        ASSERT_LT(place[after], place[delay.op]);
  }
}

/// All plans of few buckets, parts and forms, under all of the search's
/// schedules but the queue's sizes.
std::vector<PlanTime> timesOfAll(const CommunicationProblem &problem) {
  std::vector<FormKind> forms{FormKind::Flat, FormKind::Rail,
                              FormKind::Multilevel};
  if (problem.cluster.servers() > 0)
    forms.push_back(FormKind::Servers);
  CollectivePrices prices(problem.cluster);
  std::vector<PlanTime> times;
  auto size = static_cast<int32_t>(problem.gradients.size());
  CommunicationPlan plan;
  std::function<void(int32_t)> extend = [&](int32_t first) {
    if (first == size) {
      for (SchedulingOptions scheduling :
           {SchedulingOptions{SchedulePolicy::Wfbp, 0},
            SchedulingOptions{SchedulePolicy::Priority, 0}})
        for (bool isUpdatedByRuntime : {false, true}) {
          plan.scheduling = scheduling;
          plan.isUpdatedByRuntime = isUpdatedByRuntime;
          times.push_back(simulatePlan(problem, plan, prices));
        }
      return;
    }
    for (int32_t gradients = 1; first + gradients <= size; ++gradients)
      for (int64_t parts : {1, 4})
        for (FormKind form : forms) {
          if (parts > problem.gradients[first].count)
            continue;
          plan.buckets.push_back({gradients, parts, form});
          extend(first + gradients);
          plan.buckets.pop_back();
        }
  };
  extend(0);
  return times;
}

TEST(PlanSearchTest, IsNearTheBestOfAllPlans) {
  RandomPlanning random(3);
  double worst = 0;
  int trials = std::getenv("BAGUA_FULL_TESTS") ? 1000 : 60;
  int notFewest = 0;
  for (int trial = 0; trial < trials; ++trial) {
    CommunicationProblem problem = random.problem(3, false);
    PlanSearchResult found = searchPlan(problem, {});
    std::vector<PlanTime> all = timesOfAll(problem);
    auto fastest = std::min_element(all.begin(), all.end(),
                                    [](const PlanTime &a, const PlanTime &b) {
                                      return a.stepNs < b.stepNs;
                                    });
    worst = std::max(worst, found.fastestNs / fastest->stepNs);
    for (const PlanSearchResult::Rated &preset : found.presets)
      ASSERT_LE(found.fastestNs, preset.stepNs) << preset.name;
    // The plan has the fewest collectives of those that are as fast.
    CollectivePrices prices(problem.cluster);
    PlanTime time = simulatePlan(problem, found.plan, prices);
    ASSERT_DOUBLE_EQ(found.stepNs, time.stepNs);
    ASSERT_EQ(found.collectives, time.collectives);
    ASSERT_LE(found.stepNs, found.fastestNs * kAsFast);
    notFewest += std::any_of(all.begin(), all.end(), [&](const PlanTime &plan) {
      return plan.stepNs <= found.fastestNs * kAsFast &&
             plan.collectives < found.collectives;
    });
  }
  std::printf("search / best of all plans: at most %.3f; of %d %d could have "
              "fewer collectives\n",
              worst, trials, notFewest);
  EXPECT_LT(worst, 1.1);
  EXPECT_LE(notFewest, trials / 10);
}

TEST(PlanSearchTest, KeepsItsBudgetAndRepeats) {
  CommunicationProblem problem = RandomPlanning(4).problem(12, true);
  PlanSearchOptions options;
  options.evaluations = 30;
  int64_t calls = 0;
  options.progress = [&](int64_t, double) { ++calls; };
  PlanSearchResult first = searchPlan(problem, options);
  EXPECT_EQ(calls, first.evaluations);
  EXPECT_LE(first.evaluations, 30);
  PlanSearchResult second = searchPlan(problem, options);
  EXPECT_EQ(printBuckets(first.plan.buckets),
            printBuckets(second.plan.buckets));
  EXPECT_EQ(first.stepNs, second.stepNs);
  EXPECT_EQ(first.fastestNs, second.fastestNs);
  // A bound that is reached ends the search.
  options.boundNs = first.fastestNs;
  EXPECT_LE(searchPlan(problem, options).evaluations, first.evaluations);
}

bool usesServers(const PlannedBucket &bucket) {
  FormSet forms = 0;
  for (FormKind kind : bucket.form.kinds())
    forms |= formBit(kind);
  return (forms & kServerForms) != 0;
}

/// Four nodes of two GPUs, and so many servers.
ClusterModel clusterWithServers(int64_t servers) {
  ClusterModel cluster;
  cluster.axes = {{"node", 4, 25000, 1250000000, 1},
                  {"gpu", 2, 3000, 200000000000, 1}};
  cluster.dedicatedServers = servers;
  cluster.memoryBytesPerS = 500000000000;
  return cluster;
}

// Tensor parallelism along `gpu`: what is reduced over nodes alone is another
// sum for each gpu of a node, which no server keeps apart.
TEST(PlanSearchTest, ServersThatCannotSumAreNoCandidate) {
  CommunicationProblem problem = RandomPlanning(6).problem(6, false);
  problem.cluster = clusterWithServers(64);
  auto presetsOf = [&](AxisSet over) {
    for (StepGradient &gradient : problem.gradients)
      gradient.over = over;
    int64_t withServers = 0;
    for (const StartingPlan &plan : startingPlans(problem, {}))
      for (const PlannedBucket &bucket : plan.plan.buckets)
        withServers += usesServers(bucket);
    return withServers;
  };
  EXPECT_GT(presetsOf(0b11), 0);
  EXPECT_EQ(presetsOf(0b01), 0);
  for (const PlannedBucket &bucket : searchPlan(problem, {}).plan.buckets)
    EXPECT_FALSE(usesServers(bucket));
}

// A loss that is reduced over nodes alone: no server need sum it, so it keeps
// no gradient from servers.
TEST(PlanSearchTest, StatisticsStayWithTheRanks) {
  CommunicationProblem problem = RandomPlanning(7).problem(6, true);
  problem.cluster = clusterWithServers(4);
  for (size_t i = 0; i < problem.gradients.size(); ++i)
    if (problem.bucketing.tensors[i].shareClass == 0) {
      problem.gradients[i].isStatistic = true;
      problem.gradients[i].over = 0b01;
    }
  ASSERT_EQ(problem.check(), std::nullopt);
  auto [plan, error] = decide(*findStrategy("byteps"), problem);
  ASSERT_EQ(error, "");
  size_t next = 0;
  std::vector<int32_t> order = planOrder(problem.bucketing);
  for (const PlannedBucket &bucket : plan.buckets) {
    bool isStatistic = problem.gradients[order[next]].isStatistic;
    EXPECT_EQ(bucket.form,
              isStatistic ? FormKind::Rail : FormKind::RailServers);
    next += bucket.gradients;
  }
}

// What is tried with some memory is tried with more, and without a limit.
TEST(PlanSearchTest, MoreMemoryIsNeverWorse) {
  RandomPlanning random(8);
  for (int trial = 0; trial < 12; ++trial) {
    CommunicationProblem problem =
        random.problem(3 + static_cast<int32_t>(random.below(20)), false);
    PlanSearchOptions options;
    options.evaluations = 200;
    PlanSearchResult free = searchPlan(problem, options);
    int64_t least = arenaBytes(problem, leanestPlan(problem, {})),
            most = arenaBytes(problem, free.plan);
    double before = 1e300;
    for (int64_t i = 0; i <= 20; ++i) {
      options.choices.memoryBytes =
          std::max<int64_t>(1, least + (most - least) * i / 20);
      PlanSearchResult found = searchPlan(problem, options);
      ASSERT_LE(arenaBytes(problem, found.plan), options.choices.memoryBytes);
      ASSERT_LE(found.fastestNs, before)
          << "trial " << trial << ", limit " << i;
      ASSERT_GE(found.fastestNs, free.fastestNs);
      for (const PlanSearchResult::Rated &preset : found.presets)
        ASSERT_LE(found.fastestNs, preset.stepNs) << preset.name;
      before = found.fastestNs;
    }
    // The last limit leaves room for that plan, though not for each one on the
    // way to it.
    ASSERT_LE(before, free.stepNs * kAsFast);
  }
}

// A search costs no more with a thousand servers than with one of a kind, and
// its ratings are those of all of them.
TEST(PlanSearchTest, OneServerStandsForAll) {
  RandomPlanning random(9);
  for (int trial = 0; trial < 100; ++trial) {
    CommunicationProblem problem =
        random.problem(1 + static_cast<int32_t>(random.below(6)), false);
    problem.cluster.dedicatedServers = random.below(4);
    problem.cluster.serversOn = static_cast<AxisSet>(random.below(4));
    CommunicationPlan plan = randomPlan(random, problem);
    CollectivePrices each(problem.cluster);
    CollectivePrices ofAKind(problem.cluster, ServerLinks::OneOfAKind);
    PlanTime all = simulatePlan(problem, plan, each);
    PlanTime one = simulatePlan(problem, plan, ofAKind);
    ASSERT_DOUBLE_EQ(one.stepNs, all.stepNs);
    ASSERT_LE(one.work, all.work);
  }
  CommunicationProblem problem = random.problem(6, false);
  CommunicationPlan plan = leanestPlan(problem, {});
  for (PlannedBucket &bucket : plan.buckets)
    bucket.form = FormKind::Servers;
  problem.cluster.serversOn = 0;
  problem.cluster.dedicatedServers = 1;
  CollectivePrices few(problem.cluster, ServerLinks::OneOfAKind);
  int64_t work = simulatePlan(problem, plan, few).work;
  problem.cluster.dedicatedServers = 1024;
  CollectivePrices many(problem.cluster, ServerLinks::OneOfAKind);
  EXPECT_LE(simulatePlan(problem, plan, many).work, 4 * work);
}

// A link that is always busy: to send each gradient by itself gains a part in
// a thousand at the end of backward, and costs a hundred messages.
TEST(PlanSearchTest, MessagesThatGainNothingAreMerged) {
  CommunicationProblem problem = RandomPlanning(5).problem(100, false);
  makeAlike(problem, 32768);
  problem.cluster = {};
  problem.cluster.axes = {{"host", 4, 1000, 12500000, 1}};
  problem.cluster.memoryBytesPerS = 500000000000;
  PlanSearchResult found = searchPlan(problem, {});
  std::printf("%lld collectives, %.4f of the fastest\n",
              static_cast<long long>(found.collectives),
              found.stepNs / found.fastestNs);
  EXPECT_LE(found.stepNs, kAsFast * found.fastestNs);
  EXPECT_LE(found.collectives, 20);
}

// Four ranks share a node's bus, which reducing inside the node fills, while
// links to the servers have room: some gradients had better go straight there.
TEST(PlanSearchTest, LoadsLinksAlike) {
  CommunicationProblem problem = RandomPlanning(5).problem(100, false);
  makeAlike(problem, 1000000);
  problem.cluster = {};
  problem.cluster.axes = {{"node", 8, 6400, 1110000000, 4},
                          {"gpu", 4, 10000, 2560000000, 4}};
  problem.cluster.dedicatedServers = 8;
  problem.cluster.memoryBytesPerS = 500000000000;
  PlanSearchOptions options;
  options.evaluations = 150; // too few to try gradients one by one
  PlanSearchResult found = searchPlan(problem, options);
  double ofOneForm = 1e300;
  CollectivePrices prices(problem.cluster);
  for (int form = 0; form < kFormKindCount; ++form) {
    CommunicationPlan plan = found.plan;
    for (PlannedBucket &bucket : plan.buckets)
      bucket.form = static_cast<FormKind>(form);
    ofOneForm = std::min(ofOneForm, simulatePlan(problem, plan, prices).stepNs);
  }
  std::printf("mixed / of one form: %.3f\n", found.stepNs / ofOneForm);
  EXPECT_LT(found.stepNs, 0.9 * ofOneForm);
}

} // namespace
