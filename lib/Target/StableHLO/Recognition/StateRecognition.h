//===- StateRecognition.h - States, their roles and names -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds which results are the next values of which arguments.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_TARGET_STABLEHLO_RECOGNITION_STATERECOGNITION_H
#define BAGUA_LIB_TARGET_STABLEHLO_RECOGNITION_STATERECOGNITION_H

#include "StableHLO/Reading/Mapping.h"
#include "StableHLO/Recognition/ImportedStep.h"

namespace bagua::importer {

/// Pairs arguments with their next values, and gives roles and names. Removes
/// the leading 1 of a stacked step's state. An error names an argument without
/// a pair.
mlir::LogicalResult findState(Graph &graph, const Mapping &mapping,
                              ImportedStep &model);

/// The result that a mapping names; an error if there is none.
mlir::FailureOr<unsigned> findOutput(const Graph &graph,
                                     const Position &position);

/// Values that depend on a batch argument. O(ops).
std::vector<bool> dependentsOfBatch(const Graph &graph,
                                    const ImportedStep &model);

/// The values from which `root` is computed element by element, including
/// `root`, in no order.
std::vector<ValueId> elementwiseRegion(const Graph &graph, ValueId root);

} // namespace bagua::importer

#endif // BAGUA_LIB_TARGET_STABLEHLO_RECOGNITION_STATERECOGNITION_H
