//===- ImportedStep.h - The meanings of a step's values -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Roles, names and pairs of state, and gradients: recognition adds these to the
// graph, and writing needs nothing else besides it.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_TARGET_STABLEHLO_RECOGNITION_IMPORTEDSTEP_H
#define BAGUA_LIB_TARGET_STABLEHLO_RECOGNITION_IMPORTEDSTEP_H

#include "StableHLO/Graph/Graph.h"

#include "bagua/Dialect/Bagua/Bagua.h"

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

} // namespace bagua::importer

#endif // BAGUA_LIB_TARGET_STABLEHLO_RECOGNITION_IMPORTEDSTEP_H
