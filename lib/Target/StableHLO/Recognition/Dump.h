//===- Dump.h - What the importer works on, as text -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For people who look for the stage that took a step for something else than
// it is. Nothing reads this text.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_TARGET_STABLEHLO_DUMP_H
#define BAGUA_LIB_TARGET_STABLEHLO_DUMP_H

#include "ImportedStep.h"

#include "llvm/Support/raw_ostream.h"

namespace bagua::importer {

/// A line for each argument, op and output, values by their numbers in the
/// graph. Dead ops are left out.
void dumpGraph(llvm::raw_ostream &output, const Graph &graph);

/// What was recognised: roles of arguments, gradients, and reductions that are
/// nobody's gradient. Then the graph.
void dumpModel(llvm::raw_ostream &output, const Graph &graph,
               const ImportedStep &model);

} // namespace bagua::importer

#endif // BAGUA_LIB_TARGET_STABLEHLO_DUMP_H
