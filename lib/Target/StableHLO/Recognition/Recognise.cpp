//===- Recognise.cpp - The third stage of the import ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The order in which things are recognised: state, the forms of reductions,
// gradients, updates, means, and where ranks agree.
//
//===----------------------------------------------------------------------===//
#include "StableHLO/Recognition/Recognise.h"

#include "StableHLO/Graph/Flatten.h"
#include "StableHLO/Recognition/FlatBuckets.h"
#include "StableHLO/Recognition/FoldReductions.h"
#include "StableHLO/Recognition/GradientRecognition.h"
#include "StableHLO/Recognition/Rewrites.h"
#include "StableHLO/Recognition/StateAgreement.h"
#include "StableHLO/Recognition/StateRecognition.h"
#include "StableHLO/Recognition/UpdateRecognition.h"

using namespace mlir;
using namespace bagua;
using namespace bagua::importer;

FailureOr<ImportedStep> bagua::importer::recognise(Graph &graph,
                                                   const Mapping &mapping) {
  ImportedStep model;
  if (failed(findState(graph, mapping, model)))
    return failure();
  foldReshapeRoundTrips(graph);
  splitBuckets(graph, model);
  foldReduceScatters(graph, model);
  if (failed(findGradients(graph, mapping, model)))
    return failure();
  recogniseUpdates(graph, model);
  foldMeans(graph);
  graph.removeDeadOps();
  if (failed(inferAgreement(graph, model)))
    return failure();
  return model;
}

void bagua::importer::dumpModel(llvm::raw_ostream &output, const Graph &graph,
                                const ImportedStep &model) {
  output << "step, data parallel over " << graph.mesh.only(model.dataAxes).str()
         << '\n';
  for (const StepArgument &argument : model.arguments) {
    output << "  " << stringifyRole(argument.role) << " \"" << argument.name
           << "\" %" << graph.arguments[argument.argument].value;
    if (argument.isState())
      output << ", next value output " << argument.output;
    if (argument.varies)
      output << ", varies over " << graph.mesh.only(argument.varies).str();
    output << '\n';
  }
  for (const Gradient &gradient : model.gradients)
    output << "  gradient of \"" << model.arguments[gradient.param].name
           << "\" %" << gradient.value << ", reduced over "
           << graph.mesh.only(gradient.reduced).str() << '\n';
  for (const KeptReduction &kept : model.kept) {
    output << "  no gradient's: ";
    llvm::interleaveComma(graph.ops[kept.op].results, output,
                          [&](ValueId value) { output << '%' << value; });
    output << ": " << kept.reason << '\n';
  }
  dumpGraph(output, graph);
}
