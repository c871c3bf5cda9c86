//===- Relax.cpp - bagua-relax --------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Applies an algorithm's row, and writes the contract that it promises.
//
//===----------------------------------------------------------------------===//
#include "bagua/Dialect/Bagua/Provenance.h"
#include "bagua/Transforms/Algorithms/Contract.h"
#include "bagua/Transforms/Algorithms/Relaxations.h"
#include "bagua/Transforms/Algorithms/StateChanges.h"
#include "bagua/Transforms/Algorithms/UnreducedArithmetic.h"
#include "bagua/Transforms/Passes.h"
#include "bagua/Transforms/Utils/Report.h"

#include "mlir/IR/Builders.h"

namespace bagua {
#define GEN_PASS_DEF_RELAXPASS
#include "bagua/Transforms/Passes.h.inc"
} // namespace bagua

using namespace mlir;
using namespace bagua;

namespace {
struct RelaxPass : public bagua::impl::RelaxPassBase<RelaxPass> {
  using RelaxPassBase::RelaxPassBase;

  void runOnOperation() override {
    StepOp step = getOperation();
    const Relaxation *relaxation = algorithm.row;
    if (!step->hasAttr(kContractAttr)) {
      FactAnalysis unreduced(step);
      if (failed(unreduced.run()))
        return signalPassFailure();
      giveUnreduced(step, unreduced);
    }
    FactAnalysis facts(step);
    if (failed(facts.run()))
      return signalPassFailure();
    SmallVector<OpResult> gradients = relaxation->findGradients(step, facts);
    if (step->hasAttr(kContractAttr))
      return keepContract(step, *relaxation, gradients);
    FailureOr<SmallVector<Attribute>> contract =
        step.runsBetweenIterations() ? promiseStateChanges(step)
                                     : apply(step, facts, gradients);
    if (failed(contract))
      return signalPassFailure();
    step->setAttr(kContractAttr, ArrayAttr::get(&getContext(), *contract));
    if (relaxation->name != kDataParallel)
      step->setAttr(kRelaxationAttr,
                    StringAttr::get(&getContext(), relaxation->name));
    // bagua-verify-graph compares the results of later passes with this record.
    if (failed(recordMeaning(step)))
      return signalPassFailure();
    report(gradients, contract->size());
  }

private:
  /// Rewrites an iteration by the algorithm, and returns its contract.
  SmallVector<Attribute> apply(StepOp step, const FactAnalysis &facts,
                               ArrayRef<OpResult> gradients) {
    SmallVector<Attribute> contract =
        algorithm.row->promise(step, facts, gradients);
    algorithm.row->rewrite(step, facts, gradients);
    contract.append(promiseUpdates(step));
    return contract;
  }

  /// Keeps the contract of a step that has one. A contract says what the step
  /// meant when its communication was decided; a new contract would hide what
  /// has been lost since.
  void keepContract(StepOp step, const Relaxation &relaxation,
                    ArrayRef<OpResult> gradients) {
    auto written = step->getAttrOfType<StringAttr>(kRelaxationAttr);
    std::string found = written ? written.str() : std::string(kDataParallel);
    if (found != relaxation.name) {
      step.emitError() << "expected a contract of algorithm '"
                       << StringRef(relaxation.name) << "', found one of '"
                       << found << "'";
      return signalPassFailure();
    }
    if (gradients.empty()) {
      // Records the step's present meaning if no pass has recorded one.
      if (!step->hasAttr(kMeaningAttr) && failed(recordMeaning(step)))
        return signalPassFailure();
      return report({}, step->getAttrOfType<ArrayAttr>(kContractAttr).size());
    }
    InFlightDiagnostic diagnostic =
        step.emitError() << "expected a step without a contract, or with all "
                            "gradients reduced, found a contract and the "
                            "gradient of '"
                         << getGradientParam(gradients.front()).getValue()
                         << "', which is not";
    diagnostic.attachNote(gradients.front().getLoc())
        << "the gradient is made here";
    signalPassFailure();
  }

  void report(ArrayRef<OpResult> gradients, size_t relations) {
    Report *report = getReport(&getContext());
    if (!report)
      return;
    llvm::json::Array reduced;
    for (OpResult gradient : gradients)
      reduced.push_back(gradientName(getGradientParam(gradient)));
    report->add(
        getOperation(), getArgument(),
        llvm::json::Object{{"algorithm", std::string(algorithm.row->name)},
                           {"reduced", std::move(reduced)},
                           {"relations", static_cast<int64_t>(relations)}});
  }
};
} // namespace
