//===- Recognise.h - What the ops of a graph are to a training step -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The third stage of the import, recognition: takes the graph and the user's
// mapping, and gives the meanings of the graph's values. It also rewrites the
// graph: gradients lose their reductions, updates become one op each, and a sum
// that is divided becomes a mean. --dump-after=recognition prints both.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_TARGET_STABLEHLO_RECOGNITION_RECOGNISE_H
#define BAGUA_LIB_TARGET_STABLEHLO_RECOGNITION_RECOGNISE_H

#include "StableHLO/Reading/Mapping.h"
#include "StableHLO/Recognition/ImportedStep.h"

#include "llvm/Support/raw_ostream.h"

namespace bagua::importer {

/// An error names what the step lacks, such as an argument without a pair.
mlir::FailureOr<ImportedStep> recognise(Graph &graph, const Mapping &mapping);

/// Prints the recognised roles of arguments, gradients, and reductions of no
/// gradient. Prints the graph after them. No program parses this text.
void dumpModel(llvm::raw_ostream &output, const Graph &graph,
               const ImportedStep &model);

} // namespace bagua::importer

#endif // BAGUA_LIB_TARGET_STABLEHLO_RECOGNITION_RECOGNISE_H
