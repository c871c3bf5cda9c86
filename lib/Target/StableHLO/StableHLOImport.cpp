//===- StableHLOImport.cpp - Exported training steps to bagua.step --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The stages in order: reading, graph, recognition, writing.
//
//===----------------------------------------------------------------------===//
#include "bagua/Target/StableHLOImport.h"

#include "StableHLO/Graph/Flatten.h"
#include "StableHLO/Import.h"
#include "StableHLO/Reading/Mapping.h"
#include "StableHLO/Reading/Reader.h"
#include "StableHLO/Reading/Scope.h"
#include "StableHLO/Recognition/Recognise.h"

#include "bagua/Dialect/Bagua/GraphProof.h"
#include "bagua/Target/SizeScale.h"

using namespace mlir;
using namespace bagua;
using namespace bagua::importer;

static FailureOr<Mapping> readMapping(MLIRContext *context,
                                      const StableHLOImportOptions &options) {
  if (options.mapping.empty())
    return Mapping();
  return parseMapping(context, options.mapping, options.mappingName);
}

/// Calls `write` with the stream, if the stage is the one to be seen.
template <typename Write>
static void dumpAfter(const StableHLOImportOptions &options, ImportStage stage,
                      Write write) {
  if (options.dump && options.dumpAfter == stage)
    write(*options.dump);
}

std::unique_ptr<Import>
bagua::importer::runImport(llvm::SourceMgr &sources, MLIRContext *context,
                           const StableHLOImportOptions &options) {
  context->loadDialect<BaguaDialect>();
  OwningOpRef<ModuleOp> module = readModule(sources, context);
  if (!module)
    return nullptr;
  if (failed(checkSizeScale(options.sizeScale, module->getLoc())))
    return nullptr;
  FailureOr<Mapping> mapping = readMapping(context, options);
  if (failed(mapping))
    return nullptr;
  dumpAfter(options, ImportStage::Reading,
            [&](llvm::raw_ostream &output) { dumpModule(output, *module); });
  FailureOr<Graph> graph = flatten(*module, {options.hoists, options.unrolls});
  // Exporters give locations of ops, but not of the step.
  if (succeeded(graph) && isa<UnknownLoc>(graph->loc)) {
    auto *file = sources.getMemoryBuffer(sources.getMainFileID());
    graph->loc =
        FileLineColLoc::get(context, file->getBufferIdentifier(), 0, 0);
  }
  if (failed(graph))
    return nullptr;
  dumpAfter(options, ImportStage::Graph,
            [&](llvm::raw_ostream &output) { dumpGraph(output, *graph); });
  FailureOr<ImportedStep> model = recognise(*graph, *mapping);
  if (failed(model))
    return nullptr;
  dumpAfter(options, ImportStage::Recognition, [&](llvm::raw_ostream &output) {
    dumpModel(output, *graph, *model);
  });
  auto planned = llvm::count_if(model->kept, [&](const KeptReduction &kept) {
    return isReduction(graph->ops[kept.op].kind);
  });
  if (model->gradients.empty() && planned)
    emitWarning(graph->loc)
        << "found " << planned
        << " reductions, but no reduction of a gradient; the reductions are "
           "planned as they are, and --summary gives the reasons";
  FailureOr<EmittedStep> step = emitStep(context, *graph, *model, options);
  if (failed(step))
    return nullptr;
  for (auto made : step->module->getOps<StepOp>())
    if (failed(verifyOwnCommunication(made, FactContext(made))))
      return nullptr;
  dumpAfter(options, ImportStage::Writing,
            [&](llvm::raw_ostream &output) { step->module->print(output); });
  return std::make_unique<Import>(Import{std::move(module), std::move(*graph),
                                         std::move(*model), std::move(*step)});
}

static std::string textOf(const Graph &graph, const KeptReduction &kept) {
  const FlatOp &op = graph.ops[kept.op];
  std::string text, scope = scopeOf(op.loc);
  llvm::raw_string_ostream(text)
      << (op.kind == OpKind::ReduceScatter ? "reduce_scatter" : "all_reduce")
      << ' ' << reduceKindName(op.collective.kind) << " over "
      << graph.mesh.only(op.collective.axes).str() << " of "
      << graph.values[op.results[0]].type
      << (scope.empty() ? "" : " '" + scope + "'") << ": "
      << (isReduction(op.kind)
              ? kept.reason
              : "its operand is the same on all ranks of the group, so no "
                "reduction is left");
  return text;
}

OwningOpRef<ModuleOp>
bagua::importStableHLO(llvm::SourceMgr &sources, MLIRContext *context,
                       const StableHLOImportOptions &options,
                       StableHLOImportInfo *info) {
  std::unique_ptr<Import> result = runImport(sources, context, options);
  if (!result)
    return nullptr;
  if (info) {
    info->allReducesFound = result->model.allReduces;
    for (const KeptReduction &kept : result->model.kept)
      info->keptReductions.push_back(textOf(result->graph, kept));
  }
  return std::move(result->emitted.module);
}
