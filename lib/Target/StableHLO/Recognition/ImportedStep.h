//===- ImportedStep.h - The meanings of a step's values -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Roles, names and pairs of state, and gradients: analysis adds these to the
// flat graph, and emission needs nothing else besides it.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_TARGET_STABLEHLO_IMPORTEDSTEP_H
#define BAGUA_LIB_TARGET_STABLEHLO_IMPORTEDSTEP_H

#include "Graph.h"
#include "Mapping.h"

namespace bagua::importer {

struct StepArgument {
  /// Index into the graph's arguments.
  unsigned argument = 0;
  Role role = Role::Batch;
  std::string name;
  /// Axes over which ranks disagree about a state.
  AxisMask varies = 0;
  /// Index into the graph's outputs; kNone for batch and input.
  int32_t output = kNone;

  bool isState() const { return output != kNone; }
};

struct Gradient {
  /// Index into the step's arguments.
  unsigned param = 0;
  /// The value before reduction.
  ValueId value = kNone;
  /// The axes over which the exported step reduces it; all data axes if the
  /// step has no collectives.
  AxisMask reduced = 0;
};

/// A reduction of the module that is kept.
struct KeptReduction {
  OpId op = kNone;
  /// The only param of its size that it reaches, as an index into the step's
  /// arguments; kNone if there is none.
  int32_t param = kNone;
  /// Why it is not the reduction of a gradient.
  std::string reason;
};

struct ImportedStep {
  /// In the exported function's order.
  std::vector<StepArgument> arguments;
  AxisMask dataAxes = 0;
  std::vector<Gradient> gradients;
  std::vector<KeptReduction> kept;
  /// all_reduces of the exported step, gradients' included.
  int64_t allReduces = 0;
  /// The step is valid only for the exported number of ranks.
  bool dependsOnMesh = false;
};

/// Pairs arguments with their next values, and gives roles and names. Removes
/// the leading 1 of a stacked step's state. An error names an argument without
/// a pair.
mlir::LogicalResult findState(Graph &graph, const Mapping &mapping,
                              ImportedStep &model);

/// The result that a mapping names; an error if there is none.
mlir::FailureOr<unsigned> findOutput(const Graph &graph,
                                     const Position &position);

/// Finds the reductions that are means of gradients, and removes them; the
/// others stay. In a step without any, finds the gradient of every param whose
/// next value depends on the batch.
mlir::LogicalResult findGradients(Graph &graph, const Mapping &mapping,
                                  ImportedStep &model);

/// The axes over which ranks disagree about an op's result, given those of its
/// operands.
AxisMask disagreementOf(const Graph &graph, const FlatOp &op, ValueId result,
                        llvm::ArrayRef<AxisMask> of);

/// For each of the step's arguments, the axes over which ranks disagree about
/// it after any number of steps of the unchanged module; 0 if it is no state.
std::vector<AxisMask> findDisagreement(const Graph &graph,
                                       const ImportedStep &model);

/// Sets `varies` of every state: the least sets such that all states are
/// yielded as declared, once gradients are reduced. Reductions of values on
/// which ranks agree become factors.
mlir::LogicalResult inferAgreement(Graph &graph, ImportedStep &model);

/// Replaces recognised updates by Sgd and Adam ops.
void recogniseUpdates(Graph &graph, const ImportedStep &model);

/// Values that depend on a batch argument. O(ops).
std::vector<bool> dependentsOfBatch(const Graph &graph,
                                    const ImportedStep &model);

/// Values that depend on the program's own communication, in regions.
std::vector<bool> afterOwnCommunication(const Graph &graph);

/// The values from which `root` is computed element by element, including
/// `root`, in no order.
std::vector<ValueId> elementwiseRegion(const Graph &graph, ValueId root);

} // namespace bagua::importer

#endif // BAGUA_LIB_TARGET_STABLEHLO_IMPORTEDSTEP_H
