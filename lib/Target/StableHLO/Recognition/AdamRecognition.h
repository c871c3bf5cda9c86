//===- AdamRecognition.h - Recognising Adam by its results ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// However a framework writes Adam (bias corrections folded into the rate or
// into the denominator, moments by interpolation), it is one function of the
// param, the moments, the gradient and the count of steps.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_TARGET_STABLEHLO_RECOGNITION_ADAMRECOGNITION_H
#define BAGUA_LIB_TARGET_STABLEHLO_RECOGNITION_ADAMRECOGNITION_H

#include "StableHLO/Graph/Graph.h"

#include <optional>

namespace bagua::importer {

/// A state's value in the step, and its next value.
struct StateValues {
  ValueId old = kNone;
  ValueId next = kNone;
};

struct AdamMatch {
  /// The second of the given moments is Adam's first.
  bool isSwapped = false;
  /// The value of a learning rate that is not a literal; kNone for a literal.
  ValueId rate = kNone;
  /// The update, without its states and gradient.
  Update update;
};

/// Whether Adam updates the param and two moments with the gradient `grad`.
/// `counts` are scalars of the optimizer. Nothing if not.
std::optional<AdamMatch> matchAdam(const Graph &graph, StateValues param,
                                   StateValues first, StateValues second,
                                   llvm::ArrayRef<StateValues> counts,
                                   ValueId grad);

} // namespace bagua::importer

#endif // BAGUA_LIB_TARGET_STABLEHLO_RECOGNITION_ADAMRECOGNITION_H
