//===- FoldReductions.h - Means and reduce_scatters -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Exporters write a mean as a sum and a division, and a reduce_scatter as a sum
// of which each rank takes its part.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_TARGET_STABLEHLO_RECOGNITION_FOLDREDUCTIONS_H
#define BAGUA_LIB_TARGET_STABLEHLO_RECOGNITION_FOLDREDUCTIONS_H

#include "StableHLO/Recognition/ImportedStep.h"

namespace bagua::importer {

/// Turns each remaining sum that is divided by its group's size into a mean
/// (the loss, metrics, statistics; gradients are gone by then). The division
/// disappears.
void foldMeans(Graph &graph);

/// Turns a sum of which each rank takes only the part at its own place into a
/// reduce_scatter; XLA's partitioner leaves that to later passes. A sum that
/// does not depend on the batch stays, because ranks may agree on its operand.
void foldReduceScatters(Graph &graph, const ImportedStep &model);

} // namespace bagua::importer

#endif // BAGUA_LIB_TARGET_STABLEHLO_RECOGNITION_FOLDREDUCTIONS_H
