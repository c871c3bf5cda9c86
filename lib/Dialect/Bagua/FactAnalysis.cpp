//===- FactAnalysis.cpp - One forward walk over a step --------------------===//
//
// Applies the rules of FactRules.cpp to steps and phase tables, and says in
// words where a proof fails.
//
//===----------------------------------------------------------------------===//
#include "bagua/Dialect/Bagua/FactAnalysis.h"

#include "bagua/Dialect/Bagua/Provenance.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace bagua;

Facts FactAnalysis::declaredFacts(unsigned argument) {
  ArgumentAttr info = step.getArgument(argument);
  switch (info.getRole()) {
  case Role::Batch: {
    Facts facts = context.varyingOn(info.getVaries());
    for (unsigned axis = 0; axis < context.axisCount(); ++axis)
      if (context.dataAxes[axis])
        facts[axis] = Fact::Varying;
    return facts;
  }
  case Role::Residual:
  case Role::Replica:
    return context.all(Fact::Varying);
  case Role::Input:
  case Role::Param:
  case Role::Optimizer:
  case Role::Buffer:
    return context.varyingOn(info.getVaries());
  }
  llvm_unreachable("all roles are handled");
}

LogicalResult FactAnalysis::run() {
  for (BlockArgument argument : step.getBody().getArguments())
    facts[argument] = declaredFacts(argument.getArgNumber());
  for (Operation &op : step.getBody().front()) {
    auto stepOp = dyn_cast<StepOpInterface>(op);
    if (!stepOp)
      continue; // the yield
    SmallVector<Facts> operands, results;
    for (Value operand : op.getOperands())
      operands.push_back(factsOf(operand));
    if (failed(stepOp.inferFacts(context, operands, results)))
      return failure();
    for (auto [result, fact] : llvm::zip_equal(op.getResults(), results))
      facts[result] = fact;
  }
  return success();
}

/// The value that brought the fact in: follows operands that are as bad, or bad
/// at all, to a gradient, an argument, or an op whose operands are replicated.
Value FactAnalysis::findOrigin(Value value, unsigned axis) {
  while (Operation *op = value.getDefiningOp()) {
    auto stepOp = cast<StepOpInterface>(op);
    unsigned index = cast<OpResult>(value).getResultNumber();
    if (stepOp.getResultName(index) && factsOf(value)[axis] == Fact::Pending)
      return value;
    auto isAsBad = [&](Value operand) {
      return factsOf(operand)[axis] == factsOf(value)[axis];
    };
    auto isBad = [&](Value operand) {
      return factsOf(operand)[axis] != Fact::Replicated;
    };
    // A varying operand tells more than a pending one that the op made varying.
    auto worst = llvm::find_if(op->getOperands(), isAsBad);
    if (worst == op->getOperands().end())
      worst = llvm::find_if(op->getOperands(), isBad);
    if (worst == op->getOperands().end())
      return value;
    value = *worst;
  }
  return value;
}

static void describeOrigin(InFlightDiagnostic &diagnostic, StepOp step,
                           Value origin, Fact fact, StringRef axis) {
  Diagnostic &note = diagnostic.attachNote(origin.getLoc());
  if (auto argument = dyn_cast<BlockArgument>(origin)) {
    note << "argument '"
         << step.getArgument(argument.getArgNumber()).getName().getValue()
         << "'";
  } else {
    auto op = cast<StepOpInterface>(origin.getDefiningOp());
    StringAttr name =
        op.getResultName(cast<OpResult>(origin).getResultNumber());
    if (name)
      note << "'" << name.getValue() << "'";
    else
      note << "this value";
  }
  note << " is " << stringifyFact(fact) << " over axis '" << axis << "'";
}

LogicalResult FactAnalysis::verifyYield() {
  YieldOp yield = step.getYield();
  for (auto [value, argument] :
       llvm::zip_equal(yield.getValues(), step.getStateArguments())) {
    Facts declared = declaredFacts(argument);
    for (unsigned axis = 0; axis < context.axisCount(); ++axis) {
      Fact found = factsOf(value)[axis];
      if (found <= declared[axis])
        continue;
      ArgumentAttr info = step.getArgument(argument);
      InFlightDiagnostic diagnostic =
          yield.emitOpError()
          << "expected state '" << info.getName().getValue() << "' "
          << stringifyFact(declared[axis]) << " over axis '"
          << context.axisNames[axis] << "', found " << stringifyFact(found);
      Value origin = findOrigin(value, axis);
      describeOrigin(diagnostic, step, origin, factsOf(origin)[axis],
                     context.axisNames[axis]);
      return diagnostic;
    }
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Trainings
//===----------------------------------------------------------------------===//

namespace {
/// What is known of each state between the rows of a phase table.
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
} // namespace

/// A row may declare at most what is known; of a state that no row before it
/// names, the program's promise is known.
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
      if (declared[axis] < proved)
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

/// Rows that run in turns with others: all but those at the start, and those
/// with `until` that nothing interrupts. A row of `every` before it does, and a
/// background row where the step has no collective.
static SmallVector<PhaseOp> findAlternating(TrainingOp training) {
  auto rows = training.getBody().front().getOps<PhaseOp>();
  bool isInterrupted =
      llvm::any_of(rows, [](PhaseOp row) { return row.isBackground(); });
  auto communicates = [](PhaseOp row) {
    return llvm::any_of(row.lookupStep().getBody().front(), [](Operation &op) {
      auto stepOp = dyn_cast<StepOpInterface>(op);
      return stepOp && stepOp.getGroupAxes();
    });
  };
  SmallVector<PhaseOp> alternating;
  bool isAfterEvery = false;
  for (PhaseOp row : rows) {
    isAfterEvery |= row.getEveryAttr() != nullptr;
    bool runsAlone =
        row.getAtStart() || (row.getUntilAttr() && !isAfterEvery &&
                             (!isInterrupted || communicates(row)));
    if (!runsAlone)
      alternating.push_back(row);
  }
  return alternating;
}

LogicalResult TrainingAnalysis::run() {
  llvm::MapVector<PhaseOp, std::unique_ptr<FactAnalysis>> alternating;
  for (PhaseOp phase : findAlternating(training))
    alternating[phase] = std::make_unique<FactAnalysis>(phase.lookupStep());
  for (auto phase : training.getBody().front().getOps<PhaseOp>()) {
    if (alternating.contains(phase))
      continue;
    FactAnalysis analysis(phase.lookupStep());
    if (failed(analysis.run()) || failed(enter(phase, analysis)))
      return failure();
    leave(phase, analysis, known);
  }
  for (auto &[phase, analysis] : alternating)
    if (failed(analysis->run()) || failed(enter(phase, *analysis)))
      return failure();
  // What one of them leaves, every other meets.
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
        failed(verifyProvenance(step, analysis)))
      return failure();
  }
  for (auto training : module.getOps<TrainingOp>())
    if (failed(TrainingAnalysis(training).run()))
      return failure();
  return success();
}
