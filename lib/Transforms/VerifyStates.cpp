//===- VerifyStates.cpp - bagua-verify-states -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares where and when scheduled steps have the states that they share.
//
//===----------------------------------------------------------------------===//
#include "bagua/Transforms/Passes.h"
#include "bagua/Transforms/Utils/StepQueries.h"

#include "llvm/ADT/StringSet.h"

namespace bagua {
#define GEN_PASS_DEF_VERIFYSTATESPASS
#include "bagua/Transforms/Passes.h.inc"
} // namespace bagua

using namespace mlir;
using namespace bagua;

static bool isInArena(PlaceAttr place) {
  return place && place.getKind() == PlaceKind::Arena;
}

/// The arenas in which a step has values.
static llvm::StringSet<> arenasOf(StepOp step) {
  llvm::StringSet<> arenas;
  step.getBody().walk([&](Operation *op) {
    for (Value result : op->getResults())
      if (PlaceAttr place = getPlace(result); isInArena(place))
        arenas.insert(place.getName().getValue());
  });
  return arenas;
}

/// The place of the state of this name; null if the runtime does not touch it.
static PlaceAttr placeOf(StepOp step, StringAttr state) {
  for (unsigned index : step.getStateArguments())
    if (step.getArgument(index).getName() == state)
      return step.getArgument(index).getPlace();
  return nullptr;
}

/// Checks that `other` finds the states that lie in arenas of `step` there, or
/// uses none of these arenas.
static LogicalResult verifyPair(StepOp step, StepOp other) {
  llvm::StringSet<> arenas = arenasOf(other);
  for (unsigned index : step.getStateArguments()) {
    ArgumentAttr info = step.getArgument(index);
    PlaceAttr place = info.getPlace();
    if (!isInArena(place))
      continue;
    PlaceAttr found = placeOf(other, info.getName());
    if (found == place ||
        (!found && !arenas.contains(place.getName().getValue())))
      continue;
    InFlightDiagnostic diagnostic =
        other.emitError() << "expected state '" << info.getName().getValue()
                          << "' in one place in all steps, found it in arena '"
                          << place.getName().getValue() << "' in step '"
                          << step.getSymName() << "' and "
                          << (isInArena(found) ? "elsewhere in it"
                              : found          ? "in the program's own tensor"
                                      : "that arena used for other values")
                          << " in step '" << other.getSymName() << "'";
    diagnostic.attachNote(step.getLoc())
        << "step '" << step.getSymName() << "' is here";
    return diagnostic;
  }
  return success();
}

/// Checks that no late compute of an iteration needs a state that a step
/// between iterations changes: it would run behind that step.
static LogicalResult verifyInTime(StepOp between, StepOp iteration) {
  llvm::StringSet<> changed;
  for (auto [next, index] : llvm::zip_equal(between.getYield().getValues(),
                                            between.getStateArguments()))
    if (next != between.getBody().getArgument(index))
      changed.insert(between.getArgument(index).getName().getValue());
  for (auto compute : iteration.getBody().front().getOps<ComputeOp>()) {
    if (!compute.getLate())
      continue;
    for (Value operand : compute->getOperands()) {
      auto argument = dyn_cast<BlockArgument>(operand);
      if (!argument)
        continue;
      StringRef name =
          iteration.getArgument(argument.getArgNumber()).getName().getValue();
      if (!changed.contains(name))
        continue;
      InFlightDiagnostic diagnostic =
          compute.emitOpError()
          << "expected compute that uses state '" << name
          << "' before the iteration ends, because step '"
          << between.getSymName() << "' changes it then, found late compute";
      diagnostic.attachNote(between.getLoc())
          << "step '" << between.getSymName() << "' is here";
      return diagnostic;
    }
  }
  return success();
}

namespace {
struct VerifyStatesPass
    : public bagua::impl::VerifyStatesPassBase<VerifyStatesPass> {
  void runOnOperation() override {
    for (auto step : getOperation().getOps<StepOp>())
      for (auto other : getOperation().getOps<StepOp>())
        if (step != other && (failed(verifyPair(step, other)) ||
                              (step.runsBetweenIterations() &&
                               failed(verifyInTime(step, other)))))
          return signalPassFailure();
    markAllAnalysesPreserved();
  }
};
} // namespace
