//===- StateAgreement.h - Where ranks agree on values ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which axes ranks differ over in a value, by data flow alone.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_TARGET_STABLEHLO_RECOGNITION_STATEAGREEMENT_H
#define BAGUA_LIB_TARGET_STABLEHLO_RECOGNITION_STATEAGREEMENT_H

#include "StableHLO/Recognition/ImportedStep.h"

namespace bagua::importer {

/// The axes over which ranks disagree about an op's result, given those of its
/// operands.
AxisMask disagreementOf(const Graph &graph, const FlatOp &op, ValueId result,
                        llvm::ArrayRef<AxisMask> of);

/// The axes over which ranks disagree after any number of steps of the
/// unchanged module.
struct Disagreement {
  /// About each of the step's arguments; 0 for one that is no state.
  std::vector<AxisMask> arguments;
  /// About each value of the graph.
  std::vector<AxisMask> values;
};
Disagreement findDisagreement(const Graph &graph, const ImportedStep &model);

/// Sets `varies` of every state: the least sets such that all states are
/// yielded as declared, once gradients are reduced. Reductions of values on
/// which ranks agree become factors.
mlir::LogicalResult inferAgreement(Graph &graph, ImportedStep &model);

/// Values that depend on the program's own communication, in regions.
std::vector<bool> afterOwnCommunication(const Graph &graph);

} // namespace bagua::importer

#endif // BAGUA_LIB_TARGET_STABLEHLO_RECOGNITION_STATEAGREEMENT_H
