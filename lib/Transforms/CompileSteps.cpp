//===- CompileSteps.cpp - bagua-compile-steps -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiles each step by a strategy of its own. The proof at graph level is of
// the whole module, because rows of a training rely on each other.
//
//===----------------------------------------------------------------------===//
#include "bagua/Transforms/Bridge/StepStrategies.h"
#include "bagua/Transforms/Bridge/StrategyPipeline.h"
#include "bagua/Transforms/Passes.h"

#include "mlir/IR/Builders.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

namespace bagua {
#define GEN_PASS_DEF_COMPILESTEPSPASS
#include "bagua/Transforms/Passes.h.inc"
} // namespace bagua

using namespace mlir;
using namespace bagua;

namespace {
struct CompileStepsPass
    : public bagua::impl::CompileStepsPassBase<CompileStepsPass> {
  using CompileStepsPassBase::CompileStepsPassBase;

  void runOnOperation() override {
    if (failed(compile()))
      signalPassFailure();
  }

private:
  LogicalResult compile() {
    ModuleOp module = getOperation();
    llvm::Expected<SmallVector<CompiledStep>> list = expandStepList(strategies);
    if (!list)
      return module.emitError() << llvm::toString(list.takeError());
    SmallVector<StepStrategy> entries;
    for (const CompiledStep &compiled : *list)
      entries.push_back(compiled.entry);
    FailureOr<SmallVector<StepOp>> steps = findSteps(module, entries);
    if (failed(steps))
      return failure();
    for (auto [compiled, step] : llvm::zip_equal(*list, *steps)) {
      step->setAttr("bagua.strategy",
                    StringAttr::get(&getContext(), compiled.entry.strategy));
      if (failed(run(compiled.graphLevel, step)))
        return failure();
    }
    if (failed(run(kProofAtGraphLevel, module)))
      return failure();
    for (auto [compiled, step] : llvm::zip_equal(*list, *steps))
      if (failed(run(compiled.scheduledLevel, step)))
        return failure();
    return run(kProofOfStates, module);
  }

  LogicalResult run(StringRef pipeline, Operation *op) {
    OpPassManager manager(op->getName().getStringRef());
    return failure(failed(parsePassPipeline(pipeline, manager)) ||
                   failed(runPipeline(manager, op)));
  }
};
} // namespace
