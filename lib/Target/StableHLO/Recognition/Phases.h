//===- Phases.h - Forward, backward, update -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds the phase of every op by data flow.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_TARGET_STABLEHLO_RECOGNITION_PHASES_H
#define BAGUA_LIB_TARGET_STABLEHLO_RECOGNITION_PHASES_H

#include "StableHLO/Recognition/ImportedStep.h"

namespace bagua::importer {

/// The phase of each op. Update: the op depends on a gradient, or it depends on
/// no batch and leads only to state. Forward: it leads to an output that is no
/// state (the loss), or depends on the batch and leads to no gradient.
/// Backward: any other op that leads to a gradient. A step that returns no loss
/// has no such mark; there the exporter's scopes decide.
std::vector<PhaseKind> inferPhases(const Graph &graph,
                                   const ImportedStep &model);

} // namespace bagua::importer

#endif // BAGUA_LIB_TARGET_STABLEHLO_RECOGNITION_PHASES_H
