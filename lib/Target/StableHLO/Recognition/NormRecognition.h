//===- NormRecognition.h - Recognising trust ratios -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// However a framework writes the factor of LAMB and LARS, it is one function of
// the squared norms of a param and of a direction.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_TARGET_STABLEHLO_RECOGNITION_NORMRECOGNITION_H
#define BAGUA_LIB_TARGET_STABLEHLO_RECOGNITION_NORMRECOGNITION_H

#include "StableHLO/Recognition/UpdateMatch.h"

namespace bagua::importer {

/// `coefficient norm(param) / (norm(direction) + eps)`, or 1 if one of the
/// norms is 0.
struct TrustRatio {
  /// The scalar.
  ValueId value = kNone;
  ValueId direction = kNone;
  double coefficient = 1;
  double eps = 0;
  /// The values through which the ratio is computed.
  std::vector<ValueId> inner;
};

/// Whether a scalar is a trust ratio of the param.
std::optional<TrustRatio> matchTrustRatio(const Graph &graph, ValueId param,
                                          ValueId value);

/// The trust ratios among the scalars from which the param's next value is
/// computed.
std::vector<TrustRatio> findTrustRatios(const UpdateCandidate &candidate);

/// LAMB is recognised by its direction, which is Adam's with a rate of 1, and
/// LARS by what its momentum takes up.
std::optional<UpdateMatch> matchLamb(const UpdateCandidate &candidate);
std::optional<UpdateMatch> matchLars(const UpdateCandidate &candidate);

} // namespace bagua::importer

#endif // BAGUA_LIB_TARGET_STABLEHLO_RECOGNITION_NORMRECOGNITION_H
