//===- StableHLOImport.cpp - Exported training steps to bagua.step --------===//
//
// The stages in order: read, flatten, pair state, find gradients, recognise
// updates, fold means, infer agreement, emit.
//
//===----------------------------------------------------------------------===//
#include "bagua/Target/StableHLOImport.h"

#include "Collectives.h"
#include "Emit.h"
#include "Flatten.h"
#include "ImportedStep.h"
#include "Reader.h"
#include "Rewrites.h"

using namespace mlir;
using namespace bagua;
using namespace bagua::importer;

OwningOpRef<ModuleOp>
bagua::importStableHLO(llvm::SourceMgr &sources, MLIRContext *context,
                       const StableHLOImportOptions &options,
                       StableHLOImportInfo *info) {
  context->loadDialect<BaguaDialect>();
  OwningOpRef<ModuleOp> module = readModule(sources, context);
  if (!module)
    return nullptr;
  if (!(options.sizeScale > 0)) {
    emitError(module->getLoc())
        << "expected a size scale above 0, found " << options.sizeScale;
    return nullptr;
  }
  Mapping mapping;
  if (!options.mapping.empty()) {
    FailureOr<Mapping> parsed =
        parseMapping(context, options.mapping, options.mappingName);
    if (failed(parsed))
      return nullptr;
    mapping = *parsed;
  }
  FailureOr<Graph> graph = flatten(*module);
  // Exporters know where ops come from, but not where the step does.
  if (succeeded(graph) && isa<UnknownLoc>(graph->loc)) {
    auto *file = sources.getMemoryBuffer(sources.getMainFileID());
    graph->loc =
        FileLineColLoc::get(context, file->getBufferIdentifier(), 0, 0);
  }
  ImportedStep model;
  if (failed(graph) || failed(findState(*graph, mapping, model)))
    return nullptr;
  foldReshapeRoundTrips(*graph);
  if (failed(findGradients(*graph, mapping, model)))
    return nullptr;
  if (info)
    info->allReducesFound = model.allReduces;
  recogniseUpdates(*graph, model);
  if (failed(foldMeans(*graph, model.dataAxes)))
    return nullptr;
  graph->removeDeadOps();
  if (failed(inferAgreement(*graph, model)))
    return nullptr;
  return emitStep(context, *graph, model, options);
}
