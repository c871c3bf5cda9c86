//===- Provenance.h - Which gradient and which state an update uses -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Agreement alone does not see two gradients of one shape exchanged. This part
// of the graph proof does: the next value of a param comes from the param
// itself and from its own gradient, element by element, once. Where a step
// records what its states meant when its communication was decided
// (`bagua.meaning`), every pass in between is also held to that.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_DIALECT_BAGUA_PROVENANCE_H
#define BAGUA_DIALECT_BAGUA_PROVENANCE_H

#include "bagua/Dialect/Bagua/FactAnalysis.h"

#include <set>
#include <vector>

namespace bagua {

/// Consecutive elements of a value, and the params whose gradients may be in
/// them.
struct GradientRun {
  int64_t count;
  std::set<llvm::StringRef> params;
};
using GradientRuns = std::vector<GradientRun>;

/// Of each of some values of a step, the runs in order. `facts` must have run,
/// without an error. Fails where an op says nothing of its meaning.
llvm::FailureOr<std::vector<GradientRuns>>
collectGradients(StepOp step, const FactAnalysis &facts,
                 llvm::ArrayRef<mlir::Value> values);

/// Writes kMeaningAttr. Fails where the analyses do.
llvm::LogicalResult recordMeaning(StepOp step);

/// Checks params' and optimizer states' next values, and kMeaningAttr if there
/// is one. `facts` must have run, without an error.
llvm::LogicalResult verifyProvenance(StepOp step, const FactAnalysis &facts);

} // namespace bagua

#endif // BAGUA_DIALECT_BAGUA_PROVENANCE_H
