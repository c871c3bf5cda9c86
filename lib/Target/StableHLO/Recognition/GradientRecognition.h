//===- GradientRecognition.h - The gradient of each param -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tells the reductions of gradients from the others.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_TARGET_STABLEHLO_RECOGNITION_GRADIENTRECOGNITION_H
#define BAGUA_LIB_TARGET_STABLEHLO_RECOGNITION_GRADIENTRECOGNITION_H

#include "StableHLO/Reading/Mapping.h"
#include "StableHLO/Recognition/ImportedStep.h"

namespace bagua::importer {

/// Finds the reductions that are means of gradients, and removes them; the
/// others stay. In a step without any, finds the gradient of every param whose
/// next value depends on the batch.
mlir::LogicalResult findGradients(Graph &graph, const Mapping &mapping,
                                  ImportedStep &model);

} // namespace bagua::importer

#endif // BAGUA_LIB_TARGET_STABLEHLO_RECOGNITION_GRADIENTRECOGNITION_H
