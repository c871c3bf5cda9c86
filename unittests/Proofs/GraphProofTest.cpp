//===- GraphProofTest.cpp - The graph proof against brute force -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Valid steps are mutated at random; the oracle runs original and mutant on
// every rank and says which mutants are harmful. None of those may be accepted.
//
//===----------------------------------------------------------------------===//
#include "Examples.h"
#include "GraphGenerator.h"
#include "GraphMutator.h"
#include "GraphOracle.h"
#include "ProofReport.h"

#include "bagua/Dialect/Bagua/FactAnalysis.h"
#include "bagua/Dialect/Bagua/GraphProof.h"
#include "bagua/Dialect/Bagua/Provenance.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

#include <iostream>

using namespace mlir;
using namespace bagua;
using namespace bagua::proofs;

namespace {
/// Seeds of the inputs on which two steps are compared.
constexpr uint64_t kTrials[] = {11, 12, 13};

/// A valid module, and what its steps compute.
struct Original {
  OwningOpRef<ModuleOp> module;
  std::string name;
  std::vector<std::vector<GraphOutcome>> outcomes; // of each step and trial
  bool isExact;                                    // each of its steps
};

/// Whether the proof can know what a step computes from its marks alone: exact
/// data parallelism. Params that may differ between ranks can be mixed in many
/// ways, and what a lossy method's arithmetic should be is nobody's to say
/// (docs/Proofs.md).
bool isExact(StepOp step) {
  for (unsigned argument : step.getStateArguments()) {
    AxesAttr varies = step.getArgument(argument).getVaries();
    for (StringAttr axis : step.getDataAxes().getNames())
      if (varies && varies.contains(axis))
        return false;
  }
  return llvm::none_of(step.getBody().front(), [](Operation &op) {
    return isa<EncodeOp, MatmulOp, LinearOp, AdamApplyOp>(op);
  });
}

bool isOfResiduals(GraphMutation mutation) {
  return mutation == GraphMutation::DropResidual ||
         mutation == GraphMutation::RepeatResidual ||
         mutation == GraphMutation::WithholdResidual ||
         mutation == GraphMutation::SpoilResidual ||
         mutation == GraphMutation::ExchangeResiduals;
}

/// Faults that make another step as valid as the original: in the program's own
/// compute and in what that uses. What is owed of a residual is known in any
/// step.
bool makesAnotherStep(const Original &original, const GraphFault &fault) {
  if (isOfResiduals(fault.mutation))
    return false;
  return !original.isExact || fault.isInProgram || fault.op == "compute";
}

/// The kinds that CompoundFaults.h adds, of which the report has to have made
/// enough.
constexpr GraphMutation kCompound[] = {
    GraphMutation::KeepOneCopy,       GraphMutation::MixRanks,
    GraphMutation::RoundTerms,        GraphMutation::LaunderTerms,
    GraphMutation::ComputeOnParts,    GraphMutation::HideReduction,
    GraphMutation::DropResidual,      GraphMutation::RepeatResidual,
    GraphMutation::WithholdResidual,  GraphMutation::SpoilResidual,
    GraphMutation::ExchangeResiduals, GraphMutation::PushTwice,
    GraphMutation::AddToStates,       GraphMutation::LoseUpdate,
    GraphMutation::ExchangeTwins};

class GraphProofTest : public testing::Test {
protected:
  GraphProofTest() { context.loadDialect<BaguaDialect>(); }

  /// Parses and runs; null if the module does not verify or pass the proof.
  std::optional<Original> prepare(StringRef name, StringRef text);
  std::vector<Original> loadOriginals(size_t count, Random &random);
  std::optional<Verdict> tryMutant(Original &original, bool recordsMeaning,
                                   Random &random);
  void runMutants(ProofReport &report, bool recordsMeaning, int64_t count);

  /// The first error of what `check` emits; nothing if it succeeds.
  template <typename Check> std::optional<std::string> errorOf(Check check) {
    std::string first;
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
      if (first.empty())
        first = diagnostic.str();
      return success();
    });
    if (succeeded(check()))
      return std::nullopt;
    return first;
  }

  MLIRContext context{MLIRContext::Threading::DISABLED};
};
} // namespace

std::optional<Original> GraphProofTest::prepare(StringRef name,
                                                StringRef text) {
  Original original;
  original.name = name.str();
  original.isExact = true;
  original.module = parseSourceString<ModuleOp>(text, &context);
  if (!original.module) {
    ADD_FAILURE() << name.str() << " doesn't parse\n" << text.str();
    return std::nullopt;
  }
  if (auto error = errorOf([&] { return verifyGraph(*original.module); })) {
    ADD_FAILURE() << name.str() << ": " << *error << "\n" << text.str();
    return std::nullopt;
  }
  for (auto step : original.module->getOps<StepOp>()) {
    tagCompute(step);
    original.isExact &= isExact(step);
    std::vector<GraphOutcome> &outcomes = original.outcomes.emplace_back();
    for (uint64_t trial : kTrials) {
      outcomes.push_back(runStep(step, trial));
      EXPECT_TRUE(outcomes.back().isDefined) << name.str() << "\n"
                                             << text.str();
    }
  }
  return original;
}

/// All examples that the proof is for, then generated steps.
std::vector<Original> GraphProofTest::loadOriginals(size_t count,
                                                    Random &random) {
  std::vector<Original> originals;
  for (const Example &example : loadExamples()) {
    // As imported, it is refused until something reduces its gradients.
    bool isScheduled = StringRef(example.text).contains(" streams [");
    if (example.name == "as-imported" || isScheduled)
      continue;
    if (auto original = prepare(example.name, example.text))
      originals.push_back(std::move(*original));
    else
      ADD_FAILURE() << example.name << " can't be used";
  }
  while (originals.size() < count)
    if (auto original = prepare("generated", generateGraph(random)))
      originals.push_back(std::move(*original));
    else
      break;
  return originals;
}

std::optional<Verdict> GraphProofTest::tryMutant(Original &original,
                                                 bool recordsMeaning,
                                                 Random &random) {
  OwningOpRef<ModuleOp> mutant = original.module->clone();
  auto steps = llvm::to_vector(mutant->getOps<StepOp>());
  size_t index = random.below(steps.size());
  StepOp step = steps[index];
  std::optional<GraphFault> fault = mutateGraph(step, random);
  if (!fault || (!recordsMeaning && makesAnotherStep(original, *fault)))
    return std::nullopt;
  Verdict verdict;
  verdict.kind = stringifyGraphMutation(fault->mutation).str();
  verdict.fault =
      (stringifyGraphMutation(fault->mutation) + " (" + fault->op +
       (fault->isInProgram && fault->op != "compute" ? ", compute)" : ")"))
          .str();
  if (auto error = errorOf([&] { return verify(*mutant); })) {
    verdict.isHarmful = false; // it means nothing
    verdict.isAccepted = false;
    verdict.isRefusedByVerifier = true;
    verdict.message = *error;
    return verdict;
  }
  auto error = errorOf([&] { return verifyGraph(*mutant); });
  verdict.isAccepted = !error;
  verdict.message = error.value_or("");
  verdict.isHarmful = false;
  for (auto [trial, expected] :
       llvm::zip_equal(kTrials, original.outcomes[index]))
    if (!(runStep(step, trial) == expected)) {
      verdict.isHarmful = true;
      break;
    }
  if (verdict.isHarmful == verdict.isAccepted && std::getenv("BAGUA_SHOW")) {
    std::cerr << "=== " << original.name << " "
              << (verdict.isHarmful ? "missed " : "false ") << verdict.fault
              << "\n";
    step.dump();
  }
  return verdict;
}

void GraphProofTest::runMutants(ProofReport &report, bool recordsMeaning,
                                int64_t count) {
  Random random(seedBase() + (recordsMeaning ? 2 : 1));
  std::vector<Original> originals = loadOriginals(count / 20, random);
  ASSERT_FALSE(originals.empty());
  for (Original &original : originals)
    for (auto step : original.module->getOps<StepOp>())
      ASSERT_TRUE(!recordsMeaning || succeeded(recordMeaning(step)));
  while (report.mutants() < count)
    if (auto verdict = tryMutant(originals[random.below(originals.size())],
                                 recordsMeaning, random))
      report.add(*verdict);
  std::cout << report.str();
}

// Steps that record what they meant when their communication was decided.
TEST_F(GraphProofTest, AcceptsNoHarmfulMutantOfARecordedStep) {
  ProofReport report("graph, meaning recorded");
  runMutants(report, /*recordsMeaning=*/true, mutantCount());
  EXPECT_EQ(report.missed(), 0);
  EXPECT_GE(report.harmful() * 100, report.mutants() * 30);
  for (GraphMutation mutation : kCompound)
    EXPECT_GE(report.harmfulOf(stringifyGraphMutation(mutation)), 100)
        << stringifyGraphMutation(mutation).str();
}

// Steps written by hand, of which only the marks of gradients are known.
TEST_F(GraphProofTest, AcceptsNoHarmfulMutantOfAnUnrecordedStep) {
  ProofReport report("graph, marks alone");
  runMutants(report, /*recordsMeaning=*/false, mutantCount());
  EXPECT_EQ(report.missed(), 0);
  EXPECT_GE(report.harmful() * 100, report.mutants() * 30);
  for (GraphMutation mutation : llvm::drop_end(kCompound)) // twins: see above
    EXPECT_GE(report.harmfulOf(stringifyGraphMutation(mutation)), 100)
        << stringifyGraphMutation(mutation).str();
}
