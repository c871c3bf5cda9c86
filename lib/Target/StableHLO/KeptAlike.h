//===- KeptAlike.h - What a step keeps alike on all ranks -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A pmap gives each rank its own copy of every argument, and no text says
// whether the copies are equal.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_TARGET_STABLEHLO_KEPTALIKE_H
#define BAGUA_LIB_TARGET_STABLEHLO_KEPTALIKE_H

#include "Graph.h"

namespace bagua::importer {

/// An argument as the analysis sees it, by index into the graph's arguments.
struct Copy {
  /// Index into the graph's outputs; kNone for what is no state.
  int32_t output = kNone;
  /// Ranks have it alike if the step says nothing else: a state, or a number.
  /// A batch differs.
  bool mayBeAlike = false;
};

/// For each argument the axes over which the step keeps the ranks' own copies
/// (Argument::own) of it alike. A state is kept alike over an axis if its next
/// value is computed from results of reductions or gathers over the axis, and
/// from nothing else in which ranks differ. What such a next value uses without
/// a reduction in between (a step counter, a learning rate) is kept alike with
/// it. What enters it through reductions alone (a key for dropout) is not.
std::vector<AxisMask> findKeptAlike(const Graph &graph,
                                    llvm::ArrayRef<Copy> copies);

} // namespace bagua::importer

#endif // BAGUA_LIB_TARGET_STABLEHLO_KEPTALIKE_H
