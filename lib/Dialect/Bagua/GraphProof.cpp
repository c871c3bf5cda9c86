//===- GraphProof.cpp - The proof of a module at graph level --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Proves each step, then the agreement that rows of a phase table leave for
// each other.
//
//===----------------------------------------------------------------------===//
#include "bagua/Dialect/Bagua/GraphProof.h"

#include "bagua/Dialect/Bagua/FactAnalysis.h"
#include "bagua/Dialect/Bagua/Provenance.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace bagua;

namespace {
/// The facts of each state between the rows of a phase table.
class TrainingAnalysis {
public:
  explicit TrainingAnalysis(TrainingOp training) : training(training) {}

  LogicalResult run();

private:
  using Agreement = llvm::StringMap<Facts>;

  LogicalResult enter(PhaseOp phase, FactAnalysis &analysis);
  void leave(PhaseOp phase, FactAnalysis &analysis, Agreement &into);

  TrainingOp training;
  Agreement known;
};

/// The gradients from which the optimizer's states and residuals are computed.
class GradientOwners {
public:
  LogicalResult meet(PhaseOp phase);

private:
  struct Owner {
    GradientRuns gradients;
    PhaseOp phase;
  };
  llvm::StringMap<Owner> owners;
};
} // namespace

/// Whether there is an element at which both have gradients, and none in
/// common.
static bool areDisjoint(const GradientRuns &lhs, const GradientRuns &rhs) {
  size_t i = 0, j = 0;
  int64_t usedOfLhs = 0, usedOfRhs = 0; // within runs i and j
  while (i < lhs.size() && j < rhs.size()) {
    const GradientRun &a = lhs[i], &b = rhs[j];
    auto isShared = [&](StringRef param) { return b.params.count(param) > 0; };
    if (!a.params.empty() && !b.params.empty() &&
        llvm::none_of(a.params, isShared))
      return true;
    int64_t count = std::min(a.count - usedOfLhs, b.count - usedOfRhs);
    auto advance = [count](const GradientRun &run, int64_t &used, size_t &at) {
      used += count;
      if (used < run.count)
        return;
      used = 0;
      ++at;
    };
    advance(a, usedOfLhs, i);
    advance(b, usedOfRhs, j);
  }
  return false;
}

/// Checks states that rows share by name: a row must not take for one param's
/// gradient a state that another row left for another param's.
LogicalResult GradientOwners::meet(PhaseOp phase) {
  StepOp step = phase.lookupStep();
  SmallVector<Value> values;
  SmallVector<StringRef> names;
  for (auto [next, argument] :
       llvm::zip_equal(step.getYield().getValues(), step.getStateArguments())) {
    ArgumentAttr info = step.getArgument(argument);
    bool isResidual = info.getRole() == Role::Residual;
    if (!isResidual && info.getRole() != Role::Optimizer)
      continue;
    values.push_back(
        isResidual ? getFedBack(step.getBody().getArgument(argument)) : next);
    names.push_back(info.getName().getValue());
  }
  if (values.empty())
    return success();
  FactAnalysis facts(step);
  if (failed(facts.run()))
    return failure();
  auto gradients = collectGradients(step, facts, values);
  if (failed(gradients))
    return failure();
  for (auto [name, runs] : llvm::zip_equal(names, *gradients)) {
    auto [entry, isNew] = owners.try_emplace(name, Owner{runs, phase});
    if (isNew || !areDisjoint(entry->second.gradients, runs))
      continue;
    InFlightDiagnostic diagnostic =
        phase.emitOpError() << "expected state '" << name
                            << "' to be computed from the same gradients in "
                               "each row, found other gradients in step '"
                            << step.getSymName() << "'";
    diagnostic.attachNote(entry->second.phase.getLoc()) << "the other row";
    return diagnostic;
  }
  return success();
}

/// Checks that a row declares at most the agreement that is known. For a state
/// that no row before it names, the program's promise is known.
LogicalResult TrainingAnalysis::enter(PhaseOp phase, FactAnalysis &analysis) {
  StepOp step = phase.lookupStep();
  for (unsigned argument : step.getStateArguments()) {
    ArgumentAttr info = step.getArgument(argument);
    if (info.getRole() == Role::Residual || info.getRole() == Role::Replica)
      continue; // they declare nothing
    Facts declared = analysis.declaredFacts(argument);
    auto [entry, isNew] =
        known.try_emplace(info.getName().getValue(), declared);
    for (unsigned axis = 0; !isNew && axis < declared.size(); ++axis) {
      Fact proved = entry->second[axis];
      if (declared[axis] == Fact::Replicated && proved != Fact::Replicated)
        return phase.emitOpError()
               << "declares state '" << info.getName().getValue() << "' "
               << stringifyFact(declared[axis]) << " over axis '"
               << analysis.getContext().axisNames[axis]
               << "', but the rows that run before it leave it "
               << stringifyFact(proved);
    }
  }
  return success();
}

void TrainingAnalysis::leave(PhaseOp phase, FactAnalysis &analysis,
                             Agreement &into) {
  StepOp step = phase.lookupStep();
  for (auto [value, argument] :
       llvm::zip_equal(step.getYield().getValues(), step.getStateArguments()))
    into[step.getArgument(argument).getName().getValue()] =
        analysis.factsOf(value);
}

namespace {
/// In which order the rows of a phase table find states.
struct RowOrder {
  explicit RowOrder(TrainingOp training);

  /// Rows that run alone, by time. A row that an `at` row interrupts stands on
  /// both sides of it.
  SmallVector<PhaseOp> alone;
  /// Rows that run in turns after those: each may find what any of them left.
  SmallVector<PhaseOp> alternating;
};
} // namespace

static bool communicates(PhaseOp row) {
  return llvm::any_of(row.lookupStep().getBody().front(), [](Operation &op) {
    auto stepOp = dyn_cast<StepOpInterface>(op);
    return stepOp && stepOp.getGroupAxes();
  });
}

/// The first rows with `until` run alone, one after the other. A row with
/// `every` ends that, because it runs in turns with all rows behind it. So does
/// a row without a collective if there are background rows, which may run
/// beside it.
RowOrder::RowOrder(TrainingOp training) {
  auto rows = llvm::to_vector(training.getBody().front().getOps<PhaseOp>());
  bool hasBackground =
      llvm::any_of(rows, [](PhaseOp row) { return row.isBackground(); });
  SmallVector<PhaseOp> between;
  llvm::copy_if(rows, std::back_inserter(between),
                [](PhaseOp row) { return row.getIteration().has_value(); });
  llvm::stable_sort(between, [](PhaseOp a, PhaseOp b) {
    return *a.getIteration() < *b.getIteration();
  });
  size_t ran = 0; // how many of `between` stand in `alone`
  auto isBelow = [&](int64_t iteration) {
    return ran < between.size() && *between[ran].getIteration() < iteration;
  };
  auto runUpTo = [&](int64_t iteration) {
    while (isBelow(iteration + 1))
      alone.push_back(between[ran++]);
  };
  int64_t begin = 0; // where the next row that runs alone begins
  runUpTo(begin);
  bool isInTurns = false;
  for (PhaseOp row : rows) {
    if (row.getIteration())
      continue;
    bool isForeground = !row.isBackground();
    isInTurns |= isForeground &&
                 (!row.getUntilAttr() || (hasBackground && !communicates(row)));
    if (!isForeground || isInTurns) {
      alternating.push_back(row);
      continue;
    }
    auto end = static_cast<int64_t>(*row.getUntil());
    if (end <= begin)
      continue; // never runs
    alone.push_back(row);
    while (isBelow(end)) {
      runUpTo(*between[ran].getIteration());
      alone.push_back(row);
    }
    begin = end;
    runUpTo(begin);
  }
  alternating.append(between.begin() + ran, between.end());
}

LogicalResult TrainingAnalysis::run() {
  RowOrder order(training);
  for (PhaseOp phase : order.alone) {
    FactAnalysis analysis(phase.lookupStep());
    if (failed(analysis.run()) || failed(enter(phase, analysis)))
      return failure();
    leave(phase, analysis, known);
  }
  llvm::MapVector<PhaseOp, std::unique_ptr<FactAnalysis>> alternating;
  for (PhaseOp phase : order.alternating) {
    auto &analysis = alternating[phase];
    analysis = std::make_unique<FactAnalysis>(phase.lookupStep());
    if (failed(analysis->run()) || failed(enter(phase, *analysis)))
      return failure();
  }
  // Every alternating row finds the states that any other one leaves.
  for (auto &[phase, analysis] : alternating) {
    Agreement left;
    leave(phase, *analysis, left);
    for (auto &entry : left) {
      auto [slot, isNew] = known.try_emplace(entry.getKey(), entry.getValue());
      if (!isNew)
        slot->second = joinFacts(slot->second, entry.getValue());
    }
  }
  for (auto &[phase, analysis] : alternating)
    if (failed(enter(phase, *analysis)))
      return failure();
  return success();
}

LogicalResult bagua::verifyGraph(ModuleOp module) {
  for (auto step : module.getOps<StepOp>()) {
    FactAnalysis analysis(step);
    if (failed(analysis.run()) || failed(analysis.verifyYield()) ||
        failed(verifyResiduals(step)) ||
        failed(verifyOwnCommunication(step, analysis.getContext())) ||
        failed(verifyPushes(step)) || failed(verifyIncrements(step)) ||
        failed(verifyProvenance(step, analysis)))
      return failure();
  }
  for (auto training : module.getOps<TrainingOp>()) {
    if (failed(TrainingAnalysis(training).run()))
      return failure();
    // The steps of `at` rows compute no gradients.
    GradientOwners owners;
    for (auto phase : training.getBody().front().getOps<PhaseOp>())
      if (!phase.getIteration() && failed(owners.meet(phase)))
        return failure();
  }
  return success();
}
