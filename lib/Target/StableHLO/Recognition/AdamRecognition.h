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

#include "StableHLO/Recognition/UpdateMatch.h"

#include <optional>

namespace bagua::importer {

/// Whether Adam updates the param and two moments with the gradient.
std::optional<UpdateMatch> matchAdam(const UpdateCandidate &candidate);

/// Whether `direction` is the param's change by Adam with a learning rate of
/// -1, its decay included. The match has neither rate nor rule.
std::optional<UpdateMatch> matchAdamDirection(const UpdateCandidate &candidate,
                                              ValueId direction);

} // namespace bagua::importer

#endif // BAGUA_LIB_TARGET_STABLEHLO_RECOGNITION_ADAMRECOGNITION_H
