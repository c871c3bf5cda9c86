//===- DecideTest.cpp - Decisions are what pipelines make -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What `decide` says of a strategy's text is what the passes of that text make
// of a step: the text of the decided plan leads to the same IR, and the plan is
// simulated, without IR, to the same time and the same memory.
//
//===----------------------------------------------------------------------===//
#include "bagua/Scheduling/Search/Decide.h"
#include "bagua/Scheduling/Search/PlanGraph.h"
#include "bagua/Transforms/Bridge/CommunicationReader.h"
#include "bagua/Transforms/Bridge/Predict.h"
#include "bagua/Transforms/Bridge/StrategyPipeline.h"
#include "bagua/Transforms/Passes.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

using namespace mlir;
using namespace bagua;

namespace {

/// Two element types by one backward op; a mean that forward waits for, a loss
/// with a name, a gradient that is also written down, and an update by norms.
constexpr const char *kStep = R"mlir(
bagua.step @train on @pod data [AXES] (
    batch %x "x" : tensor<32xf32>, param %w1 "w1" : tensor<401xf32>,
    param %w2 "w2" : tensor<30007xf32>, param %w3 "w3" : tensor<70001xf32>,
    param %w4 "w4" : tensor<513xbf16>, param %w5 "w5" : tensor<1001xf32>,
    optimizer %m1 "m1" : tensor<401xf32>, optimizer %m3 "m3" : tensor<70001xf32>) {
  %a1, %s = bagua.compute forward "l1"(%x, %w1) cost_ns 40000 measured : (tensor<32xf32>, tensor<401xf32>) -> (tensor<32xf32>, tensor<65xf32>)
  %mean = bagua.all_reduce mean %s over [AXES] : tensor<65xf32>
  %a2 = bagua.compute forward "l2"(%a1, %mean, %w2) cost_ns 50000 measured : (tensor<32xf32>, tensor<65xf32>, tensor<30007xf32>) -> (tensor<32xf32>)
  %a3, %l = bagua.compute forward "l3"(%a2, %w3, %w4, %w5) cost_ns 30000 measured : (tensor<32xf32>, tensor<70001xf32>, tensor<513xbf16>, tensor<1001xf32>) -> (tensor<32xf32>, tensor<f32>)
  %loss = bagua.all_reduce mean %l over [AXES] : tensor<f32> as "loss"
  %d3, %g3, %g4 = bagua.compute backward "l3"(%a3, %a2, %w3, %w4) cost_ns 60000 measured : (tensor<32xf32>, tensor<32xf32>, tensor<70001xf32>, tensor<513xbf16>) -> (tensor<32xf32>, tensor<70001xf32> grad "w3", tensor<513xbf16> grad "w4")
  %d2, %g2, %g5 = bagua.compute backward "l2"(%d3, %a1, %w2, %w5) cost_ns 90000 measured : (tensor<32xf32>, tensor<32xf32>, tensor<30007xf32>, tensor<1001xf32>) -> (tensor<32xf32>, tensor<30007xf32> grad "w2", tensor<1001xf32> grad "w5")
  %g1 = bagua.compute backward "l1"(%d2, %x) cost_ns 70000 measured : (tensor<32xf32>, tensor<32xf32>) -> (tensor<401xf32> grad "w1")
  bagua.compute forward "print"(%g5) cost_ns 1000 measured : (tensor<1001xf32>) -> ()
  bagua.compute forward "log"(%loss) cost_ns 1000 measured : (tensor<f32>) -> ()
  %u1 = bagua.direction (%w1, %m1) by lars [0.9, 0.01, 0.001, 0.0] grad %g1 : tensor<401xf32>
  %p1 = bagua.squared_norm %w1 : tensor<401xf32>
  %q1 = bagua.squared_norm %u1 : tensor<401xf32>
  %n1, %k1 = bagua.update (%w1, %m1) by lars [0.9, 0.01, 0.001, 0.0] grad %g1 norms %p1, %q1 lr 0.1 : tensor<401xf32>
  %n2 = bagua.sgd (%w2) grad %g2 lr 0.1 : tensor<30007xf32>
  %n3, %k3 = bagua.sgd (%w3, %m3) momentum 0.9 grad %g3 lr 0.1 : tensor<70001xf32>
  %n4 = bagua.sgd (%w4) grad %g4 lr 0.1 : tensor<513xbf16>
  %n5 = bagua.sgd (%w5) grad %g5 lr 0.1 : tensor<1001xf32>
  bagua.yield %n1, %n2, %n3, %n4, %n5, %k1, %k3 : tensor<401xf32>, tensor<30007xf32>, tensor<70001xf32>, tensor<513xbf16>, tensor<1001xf32>, tensor<401xf32>, tensor<70001xf32>
}
)mlir";

/// Sizes of the step's axes and what sums besides its ranks.
struct Machine {
  const char *axes;
  const char *cluster;
};

constexpr Machine kMachines[] = {
    {"node, gpu",
     R"(axes [#bagua.axis<"node", size = 4, latency_ns = 25000, bytes_per_s = 1250000000, sharers = 2>,
              #bagua.axis<"gpu", size = 2, latency_ns = 3000, bytes_per_s = 20000000000>] DEVICE servers_on [node])"},
    {"node",
     R"(axes [#bagua.axis<"node", size = 3, latency_ns = 25000, bytes_per_s = 125000000>] DEVICE servers 2)"},
    {"rack, node, gpu",
     R"(axes [#bagua.axis<"rack", size = 2, latency_ns = 50000, bytes_per_s = 625000000>,
              #bagua.axis<"node", size = 3, latency_ns = 25000, bytes_per_s = 1250000000>,
              #bagua.axis<"gpu", size = 2, latency_ns = 3000, bytes_per_s = 20000000000>] DEVICE servers_on [rack, node])"},
    {"node, gpu",
     R"(axes [#bagua.axis<"node", size = 2, latency_ns = 1000, bytes_per_s = 12500000000>,
              #bagua.axis<"gpu", size = 4, latency_ns = 3000, bytes_per_s = 2000000000>] DEVICE)"},
};

constexpr const char *kDevice =
    "device #bagua.device<flop_per_s = 120000000000000, "
    "bytes_per_s = 900000000000, launch_ns = 5000>";

std::string replaceAll(std::string text, const std::string &from,
                       const std::string &to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos;
       at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

std::string stepOn(const Machine &machine) {
  std::string cluster = replaceAll(machine.cluster, "DEVICE", kDevice);
  return "bagua.cluster @pod " + cluster + "\n" +
         replaceAll(kStep, "AXES", machine.axes);
}

/// Values of each setting that users may change, with small buckets and parts
/// so that this step has several of each.
std::vector<std::string> valuesOf(const Strategy &row, Setting setting) {
  switch (setting) {
  case Setting::BucketPolicy:
    return {"none", "ddp", "mg-wfbp", "optimal"};
  case Setting::FirstBytes:
    return {"2000"};
  case Setting::CapBytes:
    return {"150000", "0"};
  case Setting::CycleNs:
    return {"20000"};
  case Setting::PartitionBytes:
    return {"50000"};
  case Setting::WireType:
    return {"f16", "bf16", "minmax_uint8"};
  case Setting::Form:
    if (row.form == FormKind::Halves)
      return {"multilevel", "cheapest"};
    return {"flat", "leader", "rail", "multilevel", "cheapest"};
  case Setting::Servers:
    return {"none", "spread", "balanced"};
  case Setting::ShardedUpdate:
    return {"shard"};
  case Setting::Schedule:
    return {"bsp", "priority", "decoupled"};
  case Setting::CreditBytes:
    return {"100000"};
  case Setting::UpdatesBy:
    return {"program", "late", "runtime"};
  case Setting::Buckets:
  case Setting::Others:
  case Setting::AllowedUpdates:
  case Setting::MemoryBytes:
  case Setting::Evaluations:
    return {};
  }
  return {};
}

/// Each of a row's options by itself; `arePairs`: and each two of them.
std::vector<std::string> textsOf(const Strategy &row, bool arePairs) {
  std::vector<std::pair<Setting, std::string>> words;
  for (const StrategyOption &option : row.options)
    for (const std::string &value : valuesOf(row, option.setting))
      words.emplace_back(option.setting,
                         std::string(option.name) + "=" + value);
  std::string name(row.name);
  std::vector<std::string> texts{name};
  for (size_t i = 0; i < words.size(); ++i) {
    texts.push_back(name + "{" + words[i].second + "}");
    for (size_t j = i + 1; arePairs && j < words.size(); ++j)
      if (words[j].first != words[i].first)
        texts.push_back(name + "{" + words[i].second + " " + words[j].second +
                        "}");
  }
  return texts;
}

/// Plans by chance: buckets of the step's five gradients, its two other
/// all_reduces, each with a form and a wire, and what else a plan says.
std::vector<std::string> customTexts(int count) {
  std::mt19937 random(7);
  auto below = [&](int limit) { return static_cast<int>(random() % limit); };
  auto oneOf = [&](std::vector<std::string> words) {
    return words[below(static_cast<int>(words.size()))];
  };
  auto form = [&] {
    return oneOf({"", ":leader", ":rail", ":multilevel", ":halves", ":servers",
                  ":rail-servers"}) +
           oneOf({"", "", ":none", ":bf16", ":minmax_uint8"});
  };
  std::vector<std::string> texts;
  for (int i = 0; i < count; ++i) {
    // One class of four gradients, and one of another type.
    std::string buckets;
    for (int left = 4; left > 0;) {
      int taken = 1 + below(left);
      left -= taken;
      buckets += std::to_string(taken) + oneOf({"", "/2"}) + form() + ",";
    }
    std::string text = "custom{buckets=" + buckets + "1" + form();
    if (below(2))
      text += " others=1" + form() + ",1" + form();
    text += oneOf({"", " wire=f16", " wire=minmax_uint8"});
    text += oneOf({"", " servers=balanced"});
    text += oneOf({"", " updates=runtime", " updates=runtime update=shard",
                   " updates=late"});
    text += oneOf({"", " policy=priority credit-bytes=100000"});
    texts.push_back(text + "}");
  }
  return texts;
}

std::string print(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream);
  return text;
}

class DecideTest : public testing::TestWithParam<Machine> {
protected:
  static void SetUpTestSuite() { registerBaguaPasses(); }

  DecideTest() {
    context.loadDialect<BaguaDialect>();
    raw =
        parseSourceString<ModuleOp>(stepOn(GetParam()), ParserConfig(&context));
    prepared = raw ? raw->clone() : nullptr;
    PassManager manager(&context);
    if (!raw || failed(parsePassPipeline(preparationPipeline(), manager)) ||
        failed(manager.run(*prepared)))
      ADD_FAILURE() << "the step can't be prepared";
  }

  void compare(const std::string &text);

  MLIRContext context{MLIRContext::Threading::DISABLED};
  OwningOpRef<ModuleOp> raw, prepared;
  int same = 0, refused = 0;
};

void DecideTest::compare(const std::string &text) {
  SCOPED_TRACE(text);
  ParsedStrategy parsed = parseStrategy(text);
  Prediction byPasses = predict(*raw, text);
  if (!parsed.error.empty()) {
    EXPECT_NE(byPasses.refusal, "");
    ++refused;
    return;
  }
  const StrategySettings &settings = parsed.settings;
  bool isLate = settings.updates == UpdatesBy::Late;
  FailureOr<CommunicationProblem> problem =
      readCommunication(*prepared, isLate);
  ASSERT_TRUE(succeeded(problem));
  auto [plan, error] = decide(settings, *problem);
  ASSERT_EQ(error.empty(), byPasses.refusal.empty())
      << "decided: " << error << "; passes: " << byPasses.refusal;
  if (!error.empty()) {
    ++refused;
    return;
  }
  UserChoices choices;
  choices.updates = isLate ? AllowedUpdates::Late : AllowedUpdates::Any;
  std::string planText = textOf(plan, choices);
  SCOPED_TRACE(planText);
  Prediction byPlan = predict(*raw, planText);
  ASSERT_EQ(byPlan.refusal, "");
  ASSERT_EQ(print(*byPlan.module), print(*byPasses.module));
  ++same;
  CollectivePrices prices(problem->cluster);
  EXPECT_NEAR(simulatePlan(*problem, plan, prices).stepNs / byPasses.stepNs, 1,
              1e-9);
  if (settings.updates != UpdatesBy::Runtime) {
    EXPECT_EQ(arenaBytes(*problem, plan), byPasses.peakBytes);
  }
}

TEST_P(DecideTest, PlansAreWhatPipelinesMake) {
  bool isFull = std::getenv("BAGUA_FULL_TESTS") != nullptr;
  for (const Strategy &row : getStrategies())
    if (row.use == Strategy::Use::Published)
      for (const std::string &text : textsOf(row, isFull))
        compare(text);
  for (const std::string &text : customTexts(isFull ? 300 : 30))
    compare(text);
  EXPECT_GT(same, 100);
  RecordProperty("same", same);
  std::printf("%d decisions as the passes make them, %d refused by both\n",
              same, refused);
}

INSTANTIATE_TEST_SUITE_P(Machines, DecideTest, testing::ValuesIn(kMachines));

} // namespace
