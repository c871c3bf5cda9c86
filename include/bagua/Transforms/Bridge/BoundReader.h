//===- BoundReader.h - What a step leaves to decide -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads the problem of the lower bound from the IR.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_TRANSFORMS_BRIDGE_BOUNDREADER_H
#define BAGUA_TRANSFORMS_BRIDGE_BOUNDREADER_H

#include "bagua/Dialect/Bagua/Bagua.h"
#include "bagua/Scheduling/Prices/LowerBound.h"

namespace bagua {

/// The problem of a graph-level step after bagua-relax: its compute and its
/// gradients' all_reduces.
struct NamedBoundProblem {
  BoundProblem problem;
  /// The params of `problem.gradients`.
  std::vector<mlir::StringAttr> params;
};
/// Emits an error if the cluster isn't sound.
llvm::FailureOr<NamedBoundProblem> readBound(StepOp step);

} // namespace bagua

#endif // BAGUA_TRANSFORMS_BRIDGE_BOUNDREADER_H
