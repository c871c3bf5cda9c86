//===- ImportedStep.h - What the values of a step mean --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Roles, names and pairs of state, and gradients: what analysis adds to the
// flat graph, and all that emission needs besides it.
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
  /// Before reduction.
  ValueId value = kNone;
  /// What the exported step reduces it over; all data axes where it has no
  /// collectives.
  AxisMask reduced = 0;
};

/// A reduction of the module that stays one.
struct KeptReduction {
  OpId op = kNone;
  /// Index into the step's arguments: the one param of its size that it
  /// reaches; kNone where there is none.
  int32_t param = kNone;
  /// Why it is not a gradient's.
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
  /// The step belongs to the exported number of ranks.
  bool dependsOnMesh = false;
};

/// Pairs arguments with their next values, and gives roles and names. Removes
/// the leading 1 of a stacked step's state. An error names what is unpaired.
mlir::LogicalResult findState(Graph &graph, const Mapping &mapping,
                              ImportedStep &model);

/// The result that a mapping names; an error where there is none.
mlir::FailureOr<unsigned> findOutput(const Graph &graph,
                                     const Position &position);

/// Finds which reductions are the means of gradients, and takes these away; the
/// others stay what they are. In a step without any it finds the gradient of
/// every param whose next value depends on the batch.
mlir::LogicalResult findGradients(Graph &graph, const Mapping &mapping,
                                  ImportedStep &model);

/// The axes over which ranks disagree about an op's result, by those of its
/// operands.
AxisMask disagreementOf(const Graph &graph, const FlatOp &op, ValueId result,
                        llvm::ArrayRef<AxisMask> of);

/// For each of the step's arguments the axes over which ranks disagree about it
/// after any number of steps of the module as it is; 0 where it is no state.
std::vector<AxisMask> findDisagreement(const Graph &graph,
                                       const ImportedStep &model);

/// Sets `varies` of every state: the least sets such that all are yielded as
/// declared, once gradients are reduced. Reductions of what ranks have alike
/// become factors.
mlir::LogicalResult inferAgreement(Graph &graph, ImportedStep &model);

/// Replaces recognised updates by Sgd and Adam ops.
void recogniseUpdates(Graph &graph, const ImportedStep &model);

/// Values that depend on a batch argument. O(ops).
std::vector<bool> dependentsOfBatch(const Graph &graph,
                                    const ImportedStep &model);

/// Values that depend on what the program communicates by itself, in regions.
std::vector<bool> afterOwnCommunication(const Graph &graph);

/// Values from which `root` is computed element by element, `root` included, in
/// no order.
std::vector<ValueId> elementwiseRegion(const Graph &graph, ValueId root);

} // namespace bagua::importer

#endif // BAGUA_LIB_TARGET_STABLEHLO_IMPORTEDSTEP_H
