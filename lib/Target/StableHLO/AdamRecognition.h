//===- AdamRecognition.h - Adam by what it computes -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whatever way a framework writes Adam (bias corrections folded into the rate,
// into the denominator, moments by interpolation), it is one function of the
// param, the moments, the gradient and the count of steps.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_TARGET_STABLEHLO_ADAMRECOGNITION_H
#define BAGUA_LIB_TARGET_STABLEHLO_ADAMRECOGNITION_H

#include "Graph.h"

#include <optional>

namespace bagua::importer {

/// A state's value in the step, and its next value.
struct StateValues {
  ValueId old = kNone;
  ValueId next = kNone;
};

struct AdamMatch {
  /// Which of the moments is the first.
  bool isSwapped = false;
  /// A learning rate that is no literal; kNone for one that is.
  ValueId rate = kNone;
  /// States and gradient apart.
  Update update;
};

/// Whether the param and two moments are updated by Adam with the gradient
/// `grad`. `counts` are scalars of the optimizer.
std::optional<AdamMatch> matchAdam(const Graph &graph, StateValues param,
                                   StateValues first, StateValues second,
                                   llvm::ArrayRef<StateValues> counts,
                                   ValueId grad);

} // namespace bagua::importer

#endif // BAGUA_LIB_TARGET_STABLEHLO_ADAMRECOGNITION_H
