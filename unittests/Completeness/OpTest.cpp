//===- OpTest.cpp - What an op lacks --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Walks all ops inside a step that the dialect registers. Each is taken from
// its example in the manual and sent all the way: facts, meaning, price, place,
// proof, plan, loader, run. What fails on the way is said of the op.
//
//===----------------------------------------------------------------------===//
#include "Manual.h"

#include "bagua/Dialect/Bagua/Meaning.h"
#include "bagua/Replay/Replay.h"
#include "bagua/Runtime/PlanGenerated.h"
#include "bagua/Target/PlanExport.h"
#include "bagua/Transforms/Bridge/ClusterReader.h"
#include "bagua/Transforms/Bridge/OpGraphReader.h"
#include "bagua/Transforms/Passes.h"
#include "bagua/Transforms/Utils/StepQueries.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace mlir;
using namespace bagua;

namespace {

/// Ops that no plan holds so far: PowerSGD's products.
const std::vector<std::string> kNotInPlansYet = {"matmul", "orthonormalize"};
/// Collectives and updates of which no contract speaks: what passes make of an
/// all_reduce, exchanges, whose peers change from step to step, and updates by
/// moments.
const std::vector<std::string> kWithoutRelation = {
    "adam_apply", "all_gather", "broadcast",      "exchange",
    "pull",       "push",       "reduce_scatter", "reduce"};

bool isIn(const std::vector<std::string> &list, const std::string &name) {
  return llvm::is_contained(list, name);
}

/// What a step's program scatters and gathers itself, it is promised.
bool isInPieces(StepOpInterface op) {
  auto scatter = dyn_cast<ReduceScatterOp>(*op);
  auto gather = dyn_cast<AllGatherOp>(*op);
  return (scatter && scatter.isInPieces()) || (gather && gather.isInPieces());
}

class OpTest : public testing::Test {
protected:
  static void SetUpTestSuite() { registerBaguaPasses(); }

  OpTest() {
    context.loadDialect<BaguaDialect>();
    context.getDiagEngine().registerHandler([this](Diagnostic &diagnostic) {
      // Remarks come first where something is wrong, too.
      if (firstError.empty() &&
          diagnostic.getSeverity() == DiagnosticSeverity::Error)
        firstError = diagnostic.str();
    });
  }

  /// `bagua.x lacks facts: why`.
  void lack(const std::string &op, const std::string &what,
            const std::string &why) {
    lacking.push_back("bagua." + op + " lacks " + what + ": " + why);
    firstError.clear();
  }

  void walk(const std::string &name);
  void walkExample(const std::string &name, const std::string &example);
  bool checkAnswers(StepOpInterface op, const std::string &name);
  bool checkAnalyses(StepOp step, const std::string &name);
  bool checkPrice(StepOp step, const std::string &name);
  void checkPlan(ModuleOp module, const std::string &name);
  std::vector<StepOpInterface> opsNamed(StepOp step, const std::string &name);
  void takeBack(StepOp step);
  bool run(ModuleOp module, StringRef pipeline);

  MLIRContext context{MLIRContext::Threading::DISABLED};
  std::vector<std::string> lacking;
  /// Ops of which an example went all the way.
  std::vector<std::string> whole;
  std::string firstError;
};

std::vector<StepOpInterface> OpTest::opsNamed(StepOp step,
                                              const std::string &name) {
  std::vector<StepOpInterface> ops;
  for (Operation &op : step.getBody().front())
    if (op.getName().stripDialect() == name)
      ops.push_back(cast<StepOpInterface>(op));
  return ops;
}

/// The value, whole on every rank, as the result of a collective: such have
/// names by which the program takes them back.
static Value gathered(OpBuilder &builder, Value value, ClusterOp cluster,
                      const FactAnalysis &facts) {
  Location location = value.getLoc();
  auto typeOf = [](Value value) {
    return cast<RankedTensorType>(value.getType());
  };
  if (!getLayout(typeOf(value))) {
    AxesAttr all = cluster.getAllAxes();
    Type part = pushEntry(typeOf(value), LayoutEntry::shard(all));
    if (llvm::any_of(facts.factsOf(value), isOwed))
      value = builder.create<ReduceScatterOp>(
          location, part,
          ReduceKindAttr::get(builder.getContext(), ReduceKind::Mean), value,
          all);
    else
      value = builder.create<SliceOp>(location, part, value);
  }
  while (LayoutAttr layout = getLayout(typeOf(value))) {
    LayoutEntry entry = layout.getEntries().back();
    RankedTensorType type = popEntry(typeOf(value), entry);
    switch (entry.kind) {
    case LayoutEntry::Kind::Shard:
      value =
          builder.create<AllGatherOp>(location, type, value, entry.getAxes());
      break;
    case LayoutEntry::Kind::Root:
      value =
          builder.create<BroadcastOp>(location, type, value, entry.getAxes());
      break;
    case LayoutEntry::Kind::Server:
      value =
          builder.create<PullOp>(location, type, value, cluster.getAllAxes());
      break;
    }
  }
  return value;
}

/// Compute at the end that uses all results.
void OpTest::takeBack(StepOp step) {
  SmallVector<Value> made;
  for (Operation &op : step.getBody().front())
    // No program takes an encoded value.
    llvm::copy_if(op.getResults(), std::back_inserter(made), [](Value value) {
      return isa<RankedTensorType>(value.getType());
    });
  FactAnalysis facts(step);
  (void)facts.run(); // has passed once
  OpBuilder builder(step.getYield());
  SmallVector<Value> values;
  for (Value value : made)
    values.push_back(
        value.getDefiningOp<ComputeOp>()
            ? value
            : gathered(builder, value, step.lookupCluster(), facts));
  builder.create<ComputeOp>(step.getLoc(), TypeRange(), values,
                            PhaseKind::Update, "end");
}

bool OpTest::run(ModuleOp module, StringRef pipeline) {
  PassManager manager(&context);
  return succeeded(parsePassPipeline(pipeline, manager)) &&
         succeeded(manager.run(module));
}

/// What ops of some kind owe besides what the interface has no default for.
bool OpTest::checkAnswers(StepOpInterface op, const std::string &name) {
  size_t before = lacking.size();
  bool communicates = op.getGroupAxes() != nullptr;
  if (communicates != op.getCollective().has_value())
    lack(name, "a price",
         "expected a collective with a group's axes, and only there");
  if (op.isArithmetic() && !op.isElementwise())
    lack(name, "a placement", "expected arithmetic to work element by element");
  if (op.isArithmetic() && !op.isTransit())
    for (unsigned index = 0; index < op->getNumResults(); ++index)
      if (!op.getInPlaceOperand(index))
        lack(name, "a placement",
             "expected an operand in whose place result " +
                 std::to_string(index) + " is computed");
  bool isPromised = op.getRelation() || (op.getUpdateRule() &&
                                         rowOf(*op.getUpdateRule()).isPromised);
  if ((communicates || op.isUpdate()) &&
      isPromised == (isIn(kWithoutRelation, name) && !isInPieces(op)))
    lack(name, "a relation",
         isPromised ? "has one, but is among those without"
                    : "expected one for what it communicates or updates");
  return lacking.size() == before;
}

bool OpTest::checkAnalyses(StepOp step, const std::string &name) {
  FactAnalysis facts(step);
  if (failed(facts.run())) {
    lack(name, "facts", firstError);
    return false;
  }
  MeaningAnalysis meanings(step, facts);
  if (failed(meanings.run())) {
    lack(name, "a meaning", firstError);
    return false;
  }
  for (StepOpInterface op : opsNamed(step, name))
    for (Value result : op->getResults()) {
      auto type = dyn_cast<RankedTensorType>(result.getType());
      int64_t count = 0;
      for (const MeaningSegment &segment : meanings.of(result))
        count += segment.count;
      if (type && count != getElementCount(type)) {
        lack(name, "a meaning",
             "of " + std::to_string(getElementCount(type)) + " elements, " +
                 std::to_string(count) + " have one");
        return false;
      }
    }
  return true;
}

bool OpTest::checkPrice(StepOp step, const std::string &name) {
  FailureOr<ClusterModel> cluster = readClusterModel(step.lookupCluster());
  FailureOr<OpGraph> graph = failure();
  if (succeeded(cluster))
    graph = readGraph(step, *cluster);
  if (failed(graph)) {
    lack(name, "a price", firstError);
    return false;
  }
  CollectivePrices prices(*cluster);
  for (auto [index, op] :
       llvm::enumerate(step.getBody().front().without_terminator())) {
    auto stepOp = cast<StepOpInterface>(op);
    if (op.getName().stripDialect() != name || stepOp.isRunByProgram() ||
        stepOp.isFree() || stepOp.getBucket())
      continue;
    const GraphOp &priced = (*graph)[static_cast<int32_t>(index)];
    double ns = priced.kind == GraphOpKind::Collective
                    ? prices.of(priced.call).ns()
                    : priced.ns;
    if (ns <= 0)
      lack(name, "a price", "expected some time, found none");
  }
  return true;
}

/// Place, proof, plan, loader, run.
void OpTest::checkPlan(ModuleOp module, const std::string &name) {
  if (!run(module, "bagua.step(bagua-relax,bagua-schedule{updates=runtime},"
                   "bagua-place)"))
    return lack(name, "a placement", firstError);
  if (!run(module, "bagua.step(bagua-verify-schedule)"))
    return lack(name, "a placement", firstError);
  FailureOr<std::string> bytes = exportPlan(module);
  if (failed(bytes))
    return lack(name, "a writer", firstError);
  auto plan = runtime::Plan::fromBytes(*bytes);
  if (!plan.ok())
    return lack(name, "a verifier", std::string(plan.status().message()));
  replay::ReplayOptions options;
  options.steps = 1;
  options.timeScale = 0;
  auto result = replay::replayPlan(*plan, options);
  if (!result.ok())
    lack(name, "a kernel", std::string(result.status().message()));
}

void OpTest::walkExample(const std::string &name, const std::string &example) {
  auto module = parseSourceString<ModuleOp>(test::stepAround(example),
                                            ParserConfig(&context));
  if (!module)
    return lack(name, "docs", "its example is refused: " + firstError);
  StepOp step = *getOnlyStep(*module);
  std::vector<StepOpInterface> ops = opsNamed(step, name);
  bool isGood = !ops.empty();
  if (!isGood)
    lack(name, "docs", "its example is of other ops");
  for (StepOpInterface op : ops)
    isGood &= checkAnswers(op, name);
  if (!isGood || !checkAnalyses(step, name))
    return;
  auto isInPlan = [](Operation &op) {
    auto stepOp = dyn_cast<StepOpInterface>(op);
    return !stepOp || stepOp.isRunByProgram() || stepOp.getInstruction();
  };
  // A codec is a request to a pass, and some encodings no runtime offers yet.
  if (!llvm::all_of(step.getBody().front(), isInPlan))
    return;
  if (!checkPrice(step, name))
    return;
  takeBack(step);
  checkPlan(*module, name);
  whole.push_back(name);
}

void OpTest::walk(const std::string &name) {
  std::vector<std::string> examples = test::examplesOf(name);
  if (examples.empty())
    return lack(name, "docs", "expected an example in docs/Dialect.md");
  for (const std::string &example : examples)
    walkExample(name, example);
}

TEST_F(OpTest, LacksNothing) {
  std::vector<std::string> names;
  for (RegisteredOperationName op : context.getRegisteredOperations())
    if (op.hasInterface<StepOpInterface>())
      names.push_back(op.stripDialect().str());
  ASSERT_THAT(names, testing::Contains("all_reduce"));
  for (const std::string &name : names)
    walk(name);
  for (auto *list : {&kNotInPlansYet, &kWithoutRelation})
    EXPECT_THAT(names, testing::IsSupersetOf(*list));
  // Each has gone all the way, but for what can't.
  for (const std::string &name : names)
    if (isIn(whole, name) == isIn(kNotInPlansYet, name))
      lacking.push_back("bagua." + name +
                        " lacks a run: expected an example that goes all the "
                        "way, or to stand among what no plan holds yet");
  EXPECT_THAT(lacking, testing::IsEmpty());
}

} // namespace
