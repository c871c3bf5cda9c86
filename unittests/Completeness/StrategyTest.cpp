//===- StrategyTest.cpp - What a strategy lacks ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Walks the table: a line in the manual, a pipeline that runs, and a plan for
// the search that takes as long as what the passes make of the row.
//
//===----------------------------------------------------------------------===//
#include "Manual.h"

#include "bagua/Scheduling/Search/Decide.h"
#include "bagua/Scheduling/Search/PlanGraph.h"
#include "bagua/Scheduling/Search/PlanSearch.h"
#include "bagua/Transforms/Algorithms/Relaxations.h"
#include "bagua/Transforms/Bridge/CommunicationReader.h"
#include "bagua/Transforms/Bridge/Predict.h"
#include "bagua/Transforms/Bridge/StrategyPipeline.h"
#include "bagua/Transforms/Passes.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace mlir;
using namespace bagua;

namespace {

/// Three layers on nodes of two, with servers.
constexpr const char *kStep = R"mlir(
bagua.cluster @pod
    axes [#bagua.axis<"node", size = 4, latency_ns = 25000, bytes_per_s = 1250000000, sharers = 2>,
          #bagua.axis<"gpu", size = 2, latency_ns = 3000, bytes_per_s = 20000000000>]
    device #bagua.device<flop_per_s = 120000000000000, bytes_per_s = 900000000000, launch_ns = 5000>
    servers_on [node]
bagua.step @train on @pod data [node, gpu] (
    batch %x "x" : tensor<32xf32>, param %w1 "w1" : tensor<400000xf32>,
    param %w2 "w2" : tensor<3000000xf32>, param %w3 "w3" : tensor<70000xf32>) {
  %a1 = bagua.compute forward "l1"(%x, %w1) cost_ns 400000 measured : (tensor<32xf32>, tensor<400000xf32>) -> (tensor<32xf32>)
  %a2 = bagua.compute forward "l2"(%a1, %w2) cost_ns 500000 measured : (tensor<32xf32>, tensor<3000000xf32>) -> (tensor<32xf32>)
  %a3 = bagua.compute forward "l3"(%a2, %w3) cost_ns 300000 measured : (tensor<32xf32>, tensor<70000xf32>) -> (tensor<32xf32>)
  %d3, %g3 = bagua.compute backward "l3"(%a3, %a2, %w3) cost_ns 600000 measured : (tensor<32xf32>, tensor<32xf32>, tensor<70000xf32>) -> (tensor<32xf32>, tensor<70000xf32> grad "w3")
  %d2, %g2 = bagua.compute backward "l2"(%d3, %a1, %w2) cost_ns 900000 measured : (tensor<32xf32>, tensor<32xf32>, tensor<3000000xf32>) -> (tensor<32xf32>, tensor<3000000xf32> grad "w2")
  %g1 = bagua.compute backward "l1"(%d2, %x) cost_ns 700000 measured : (tensor<32xf32>, tensor<32xf32>) -> (tensor<400000xf32> grad "w1")
  %n1 = bagua.sgd (%w1) grad %g1 lr 0.1 : tensor<400000xf32>
  %n2 = bagua.sgd (%w2) grad %g2 lr 0.1 : tensor<3000000xf32>
  %n3 = bagua.sgd (%w3) grad %g3 lr 0.1 : tensor<70000xf32>
  bagua.yield %n1, %n2, %n3 : tensor<400000xf32>, tensor<3000000xf32>, tensor<70000xf32>
}
)mlir";

class StrategyTest : public testing::Test {
protected:
  static void SetUpTestSuite() { registerBaguaPasses(); }

  StrategyTest() {
    context.loadDialect<BaguaDialect>();
    module = parseSourceString<ModuleOp>(kStep, ParserConfig(&context));
    PassManager manager(&context);
    if (!module || failed(parsePassPipeline(preparationPipeline(), manager)) ||
        failed(manager.run(*module)))
      ADD_FAILURE() << "the step can't be prepared";
  }

  void walk(const Strategy &strategy, const UserChoices &choices);

  MLIRContext context{MLIRContext::Threading::DISABLED};
  OwningOpRef<ModuleOp> module;
  std::vector<std::string> lacking;
};

/// The row's plan and the row's pipeline are one thing, whatever the user
/// chooses; the text says that where it isn't the row's own.
void StrategyTest::walk(const Strategy &strategy, const UserChoices &choices) {
  auto lack = [&](const std::string &what) {
    lacking.push_back("strategy " + std::string(strategy.name) + " lacks " +
                      what);
  };
  FailureOr<CommunicationProblem> problem =
      readCommunication(*module, choices.allows(UpdatesBy::Late));
  ASSERT_TRUE(succeeded(problem));
  std::string text = textOf(strategy, choices);
  Prediction predicted = predict(*module, text);
  if (!predicted.refusal.empty())
    return lack("a pipeline: " + text + ": " + predicted.refusal);
  bool isNarrow = false;
  predicted.module->walk([&](CastOp op) {
    isNarrow |= op.getOutput().getType().getElementTypeBitWidth() == 16;
  });
  if (isNarrow != (choices.wire.id != EncodingId::None))
    lack("a wire: " + text + " sends " + (isNarrow ? "16" : "32") + " bits");
  bool isByRuntime = false;
  predicted.module->walk([&](SgdOp) { isByRuntime = true; });
  if (!choices.allows(isByRuntime ? UpdatesBy::Runtime : UpdatesBy::Program))
    lack("updates by whom the user says: " + text);
  bool isLate = false;
  predicted.module->walk([&](ComputeOp op) { isLate |= op.getLate(); });
  if (isLate != choices.allows(UpdatesBy::Late))
    lack("updates when the user says: " + text);
  DecidedPlan decided = decide(strategy, *problem, choices);
  if (!decided.error.empty())
    return lack("a plan for the search: " + decided.error);
  CollectivePrices prices(problem->cluster);
  double ns = simulatePlan(*problem, decided.plan, prices).stepNs;
  if (std::abs(ns / predicted.stepNs - 1) > 1e-6)
    lack("a price: auto takes " + text + " for " + std::to_string(ns) +
         " ns, it is " + std::to_string(predicted.stepNs));
}

TEST_F(StrategyTest, LacksNothing) {
  std::string manual = test::readSource("docs/Strategies.md");
  for (const Strategy &strategy : getStrategies()) {
    std::string name(strategy.name);
    if (manual.find("| `" + name + "` |") == std::string::npos)
      lacking.push_back("strategy " + name +
                        " lacks docs: expected it in docs/Strategies.md");
    if (strategy.paper.empty())
      lacking.push_back("strategy " + name + " lacks a source");
    const Relaxation *relaxation = findRelaxation(strategy.relaxation);
    if (!relaxation || relaxation->strategyClass > strategy.strategyClass)
      lacking.push_back("strategy " + name +
                        " lacks a relaxation of its class");
    bool isLossy = strategy.wire.id != EncodingId::None;
    if (isLossy && strategy.strategyClass == StrategyClass::Lossless)
      lacking.push_back("strategy " + name +
                        " lacks a class: it rounds, and is lossless");
    if (strategy.use != Strategy::Use::Published)
      continue;
    for (EncodingId type :
         {EncodingId::None, EncodingId::Float16, EncodingId::BFloat16})
      walk(strategy, {{type}});
    for (AllowedUpdates updates :
         {AllowedUpdates::Program, AllowedUpdates::Late,
          AllowedUpdates::Runtime})
      walk(strategy, {{}, updates});
  }
  EXPECT_THAT(lacking, testing::IsEmpty());
}

// Names are in order, so that a table can be searched by eye.
TEST_F(StrategyTest, AreInAlphabeticalOrder) {
  std::vector<std::string> names;
  for (const Strategy &strategy : getStrategies())
    names.emplace_back(strategy.name);
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
}

} // namespace
