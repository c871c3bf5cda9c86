//===- StableHLOExport.cpp - Planned steps to StableHLO -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Imports the module again, and writes the planned step into it.
//
//===----------------------------------------------------------------------===//
#include "bagua/Target/StableHLOExport.h"

#include "StableHLO/Import.h"
#include "StableHLO/Writing/WriteBack.h"

using namespace mlir;
using namespace bagua;
using namespace bagua::importer;

OwningOpRef<ModuleOp>
bagua::exportStableHLO(ModuleOp module, llvm::SourceMgr &original,
                       const StableHLOImportOptions &options) {
  auto steps = module.getOps<StepOp>();
  if (!llvm::hasSingleElement(steps)) {
    module.emitError() << "expected one step to write back, found "
                       << std::distance(steps.begin(), steps.end());
    return nullptr;
  }
  StepOp step = *steps.begin();
  StableHLOImportOptions again = options;
  again.cluster = step.lookupCluster();
  again.hoists = !step->hasAttr(kNotHoistedAttr);
  again.unrolls = !step->hasAttr(kNotUnrolledAttr);
  std::unique_ptr<Import> import;
  {
    // The import already gave its remarks when the step was made.
    ScopedDiagnosticHandler quiet(module.getContext(),
                                  [](Diagnostic &diagnostic) {
                                    return success(diagnostic.getSeverity() ==
                                                   DiagnosticSeverity::Remark);
                                  });
    import = runImport(original, module.getContext(), again);
  }
  if (!import)
    return nullptr;
  int64_t devices = import->graph.deviceCount();
  if (devices != step.lookupCluster().getWorkerCount()) {
    step.emitError() << "expected a plan for the " << devices
                     << " devices of the module, found one for "
                     << step.lookupCluster().getWorkerCount();
    return nullptr;
  }
  if (failed(writeBack(step, import->graph, import->model, import->emitted)))
    return nullptr;
  return std::move(import->original);
}
