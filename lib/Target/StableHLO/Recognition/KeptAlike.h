//===- KeptAlike.h - Values that a step keeps alike on all ranks ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A pmap gives each rank its own copy of every argument, and no text says
// whether the copies are equal.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_TARGET_STABLEHLO_RECOGNITION_KEPTALIKE_H
#define BAGUA_LIB_TARGET_STABLEHLO_RECOGNITION_KEPTALIKE_H

#include "StableHLO/Graph/Graph.h"

namespace bagua::importer {

/// An argument of the analysis, by index into the graph's arguments.
struct Copy {
  /// Index into the graph's outputs; kNone if the argument is no state.
  int32_t output = kNone;
  /// Ranks agree on the argument unless the step shows otherwise: it is a
  /// state, or a number. A batch differs.
  bool mayBeAlike = false;
};

/// For each argument, the axes over which the step keeps the ranks' own copies
/// (Argument::own) of it alike. A state is kept alike over an axis if its next
/// value is computed from results of reductions or gathers over the axis, and
/// from no other value in which ranks differ. A value that such a next value
/// uses without a reduction in between (a step counter, a learning rate) is
/// kept alike with it. A value that enters it through reductions alone (a key
/// for dropout) is not.
std::vector<AxisMask> findKeptAlike(const Graph &graph,
                                    llvm::ArrayRef<Copy> copies);

} // namespace bagua::importer

#endif // BAGUA_LIB_TARGET_STABLEHLO_RECOGNITION_KEPTALIKE_H
