//===- UpdateMatch.h - Recognising updates by their results ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The question to a matcher of one optimizer, and its answer.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_TARGET_STABLEHLO_RECOGNITION_UPDATEMATCH_H
#define BAGUA_LIB_TARGET_STABLEHLO_RECOGNITION_UPDATEMATCH_H

#include "StableHLO/Graph/Graph.h"

#include <optional>

namespace bagua::importer {

/// A state's value in the step, and its next value.
struct StateValues {
  ValueId old = kNone;
  ValueId next = kNone;
};

/// A param that may be updated with a gradient.
struct UpdateCandidate {
  const Graph &graph;
  StateValues param;
  /// The optimizer's states of the param's type from which the param's next
  /// value is computed.
  llvm::ArrayRef<StateValues> moments;
  /// Scalars of the optimizer.
  llvm::ArrayRef<StateValues> counts;
  ValueId grad = kNone;
};

struct UpdateMatch {
  /// The moments are the update's in this order.
  llvm::SmallVector<unsigned, 2> moments;
  /// The value of a learning rate that is not a literal; kNone for a literal.
  ValueId rate = kNone;
  /// The update, without its states and gradient.
  Update update;
  /// Values that the update computes itself, besides elementwise ones.
  std::vector<ValueId> inner;
};

/// Whether an optimizer updates the param with the gradient; nothing if not.
using UpdateMatcher =
    std::optional<UpdateMatch> (*)(const UpdateCandidate &candidate);

} // namespace bagua::importer

#endif // BAGUA_LIB_TARGET_STABLEHLO_RECOGNITION_UPDATEMATCH_H
