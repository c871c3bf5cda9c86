//===- UpdateRecognition.h - Optimizers of the IR -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds the updates of params that the runtime could do as well.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_TARGET_STABLEHLO_RECOGNITION_UPDATERECOGNITION_H
#define BAGUA_LIB_TARGET_STABLEHLO_RECOGNITION_UPDATERECOGNITION_H

#include "StableHLO/Recognition/ImportedStep.h"

namespace bagua::importer {

/// Replaces recognised updates by Sgd and Adam ops.
void recogniseUpdates(Graph &graph, const ImportedStep &model);

} // namespace bagua::importer

#endif // BAGUA_LIB_TARGET_STABLEHLO_RECOGNITION_UPDATERECOGNITION_H
