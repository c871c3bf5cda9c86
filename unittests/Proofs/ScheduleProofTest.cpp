//===- ScheduleProofTest.cpp - The schedule proof against brute force -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scheduled steps, by the strategies and by hand, are mutated at random; the
// oracle executes each mutant and says which are harmful. None of those may be
// accepted.
//
//===----------------------------------------------------------------------===//
#include "Examples.h"
#include "GraphGenerator.h"
#include "ProofReport.h"
#include "ScheduleGenerator.h"
#include "ScheduleMutator.h"
#include "ScheduleOracle.h"

#include "bagua/Target/PlanExport.h"
#include "bagua/Transforms/Bridge/StrategyPipeline.h"
#include "bagua/Transforms/Passes.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "gtest/gtest.h"

#include <iostream>
#include <map>

using namespace mlir;
using namespace bagua;
using namespace bagua::proofs;

namespace {
class ScheduleProofTest : public testing::Test {
protected:
  ScheduleProofTest() : random(seedBase() + 3) {
    context.loadDialect<BaguaDialect>();
    static const bool isRegistered = (registerBaguaPasses(), true);
    (void)isRegistered;
  }

  OwningOpRef<ModuleOp> parse(StringRef text) {
    return parseSourceString<ModuleOp>(text, &context);
  }
  /// What a pipeline says against a module; nothing if it runs.
  std::optional<std::string> run(StringRef pipeline, ModuleOp module);
  std::optional<std::string> prove(ModuleOp module) {
    return run("bagua.step(bagua-verify-schedule)", module);
  }
  StepOp stepOf(ModuleOp module) { return *module.getOps<StepOp>().begin(); }
  void addCompiled(StringRef text, StringRef strategy);
  void addCompiledByAll(StringRef text) {
    for (const Strategy &strategy : getStrategies())
      if (strategy.use != Strategy::Use::Explicit)
        addCompiled(text, strategy.name);
    for (const char *strategy : {"ddp", "bytescheduler-a2a", "dear"})
      addCompiled(text, std::string(strategy) + "{updates=late}");
  }
  void addByHand(size_t count);
  std::optional<Verdict> tryMutant(ModuleOp original);
  void tryExport(ModuleOp module);

  MLIRContext context{MLIRContext::Threading::DISABLED};
  Random random;
  std::vector<OwningOpRef<ModuleOp>> originals;
  /// Of what the proof accepts: how many the writer of plans takes, and what it
  /// says of the others.
  int64_t exported = 0;
  std::map<std::string, int64_t> notExported;
};
} // namespace

std::optional<std::string> ScheduleProofTest::run(StringRef pipeline,
                                                  ModuleOp module) {
  std::string first;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (first.empty())
      first = diagnostic.str();
    return success();
  });
  PassManager manager(&context, ModuleOp::getOperationName());
  manager.enableVerifier(false);
  if (failed(parsePassPipeline(pipeline, manager, llvm::errs())))
    return std::string("the pipeline doesn't parse");
  // parsePassPipeline on a manager of modules takes the anchor or leaves it
  // out.
  if (failed(manager.run(module)))
    return first;
  return std::nullopt;
}

/// What a strategy makes of an imported step must pass both judges.
void ScheduleProofTest::addCompiled(StringRef text, StringRef strategy) {
  OwningOpRef<ModuleOp> module = parse(text);
  ASSERT_TRUE(module) << text.str();
  // Some strategies need servers; the others leave them alone.
  for (auto cluster : module->getOps<ClusterOp>())
    cluster.setServersOnAttr(AxesAttr::get(
        &context, StringAttr::get(&context, cluster.getAxis(0).getName())));
  llvm::Expected<std::string> pipeline = expandStrategy(strategy);
  ASSERT_TRUE(static_cast<bool>(pipeline));
  auto error = run(*pipeline, *module);
  // Servers would have to keep ranks along other axes than the data's apart.
  if (error && StringRef(*error).contains("can't be left to servers"))
    return;
  ASSERT_FALSE(error) << strategy.str() << ": " << *error << "\n" << text.str();
  auto fault = findScheduleFault(stepOf(*module), random);
  EXPECT_FALSE(fault) << strategy.str() << ": " << *fault << "\n" << text.str();
  originals.push_back(std::move(module));
}

/// Steps that both judges find good; nobody accepts what the oracle refuses.
void ScheduleProofTest::addByHand(size_t count) {
  int64_t refused = 0, racing = 0;
  for (size_t added = 0; added < count;) {
    std::string text = generateSchedule(random);
    OwningOpRef<ModuleOp> module = parse(text);
    ASSERT_TRUE(module) << text;
    auto error = prove(*module);
    auto fault = findScheduleFault(stepOf(*module), random);
    EXPECT_FALSE(fault && !error) << *fault << "\n" << text;
    refused += error && !fault;
    if (error && !fault && std::getenv("BAGUA_SHOW"))
      std::cerr << "--- " << *error << "\n" << text;
    racing += fault.has_value();
    if (error || fault)
      continue;
    originals.push_back(std::move(module));
    ++added;
  }
  std::cout << "scheduled by hand: " << count << " without a race, " << racing
            << " with, " << refused << " refused without one\n";
}

/// The reasons for which export, and the loader that it asks, refuse what the
/// proof accepts. Any other is a hole in the proof, or a fault of theirs.
static bool isKnownRefusal(StringRef rule) {
  static constexpr StringRef kKnown[] = {
      // Steps by hand keep values in memory that only the program has. The
      // proof lets an `after` wait for them, since it reads no bytes; a plan
      // can wait only for tensors.
      "after: has a value in memory that the runtime never sees",
      // A mean that was moved away from its gradient's place. The proof asks
      // what bytes the program reads; a plan, of which tensor they are.
      "compute: uses a value that the runtime computes, but that has no name",
      // Steps that no strategy has made promise nothing, and the proof takes
      // no promises into account.
      "expected a step with a contract, as bagua-relax writes it, found none",
      // A value that was put where a tensor of another kind lies. To the proof
      // a tensor is bytes, which have neither type nor layout, and no end.
      "makes a plan that the runtime would refuse: invalid plan: value N: "
      "element type or layout differs from tensor N's",
      "makes a plan that the runtime would refuse: invalid plan: value N: "
      "expected elements inside tensor N of N bytes, found N bytes at N",
  };
  return llvm::is_contained(kKnown, rule);
}

void ScheduleProofTest::tryExport(ModuleOp module) {
  std::string first;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (first.empty())
      first = diagnostic.str();
    return success();
  });
  if (failed(exportPlan(module)))
    ++notExported[ruleOf(first)];
  else
    ++exported;
}

std::optional<Verdict> ScheduleProofTest::tryMutant(ModuleOp original) {
  OwningOpRef<ModuleOp> mutant = original.clone();
  StepOp step = stepOf(*mutant);
  std::optional<ScheduleMutation> mutation = mutateSchedule(step, random);
  if (!mutation)
    return std::nullopt;
  Verdict verdict;
  verdict.kind = verdict.fault = stringifyScheduleMutation(*mutation).str();
  {
    ScopedDiagnosticHandler quiet(&context,
                                  [](Diagnostic &) { return success(); });
    verdict.isRefusedByVerifier = failed(verify(*mutant));
  }
  if (verdict.isRefusedByVerifier) {
    verdict.isHarmful = verdict.isAccepted = false;
    return verdict;
  }
  auto error = prove(*mutant);
  auto fault = findScheduleFault(step, random);
  verdict.isAccepted = !error;
  verdict.isHarmful = fault.has_value();
  verdict.message = error.value_or("");
  if (verdict.isAccepted)
    tryExport(*mutant);
  if (std::getenv("BAGUA_SHOW") && verdict.isHarmful == verdict.isAccepted) {
    std::cerr << "=== " << (verdict.isHarmful ? "missed " : "false ")
              << verdict.fault << ": " << fault.value_or(verdict.message)
              << "\n";
    step.dump();
  }
  return verdict;
}

TEST_F(ScheduleProofTest, AcceptsNoHarmfulMutant) {
  for (const Example &example : loadExamples()) {
    if (example.name == "as-imported")
      addCompiledByAll(example.text);
    if (example.name == "ddp-scheduled") {
      OwningOpRef<ModuleOp> module = parse(example.text);
      ASSERT_TRUE(module);
      auto error = prove(*module);
      EXPECT_FALSE(error) << *error;
      originals.push_back(std::move(module));
    }
  }
  for (int i = 0; i < 40; ++i)
    addCompiledByAll(generateImported(random));
  size_t compiled = originals.size();
  addByHand(300);
  auto pickOriginal = [&]() -> ModuleOp {
    size_t index = random.chance(25)
                       ? random.below(compiled)
                       : compiled + random.below(originals.size() - compiled);
    return *originals[index];
  };
  ProofReport report("schedule");
  while (report.mutants() < mutantCount() && !HasFatalFailure())
    if (auto verdict = tryMutant(pickOriginal()))
      report.add(*verdict);
  std::cout << report.str() << "originals compiled by strategies: " << compiled
            << "\naccepted mutants that are exported: " << exported << "\n";
  for (const auto &[rule, count] : notExported) {
    std::cout << "  " << count << " not: " << rule << "\n";
    EXPECT_TRUE(isKnownRefusal(rule)) << rule;
  }
  EXPECT_GE(exported, report.mutants() / 20);
  EXPECT_EQ(report.missed(), 0);
  EXPECT_GE(report.harmful() * 100, report.mutants() * 30);
  for (auto kind : {ScheduleMutation::UseName, ScheduleMutation::PutLast,
                    ScheduleMutation::ChangeLate})
    EXPECT_GE(report.harmfulOf(stringifyScheduleMutation(kind)), 100)
        << stringifyScheduleMutation(kind).str();
}
