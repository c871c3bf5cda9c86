//===- Provenance.h - Which gradient and which state an update uses -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Agreement alone does not show that two gradients of one shape were exchanged.
// This part of the graph proof does: the next value of a param comes from the
// param itself and from its own gradient, element by element, once. If a step
// records the meaning of its states at the time when its communication was
// decided (`bagua.meaning`), the step after later passes is compared with that
// record, too.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_DIALECT_BAGUA_PROVENANCE_H
#define BAGUA_DIALECT_BAGUA_PROVENANCE_H

#include "bagua/Dialect/Bagua/FactAnalysis.h"

#include <set>
#include <vector>

namespace bagua {

/// Consecutive elements of a value, and the params whose gradients may be among
/// their sources.
struct GradientRun {
  int64_t count;
  std::set<llvm::StringRef> params;
};
using GradientRuns = std::vector<GradientRun>;

/// The runs of each value, in order. `facts` must have run, without an error.
/// Fails if an op defines no meaning.
llvm::FailureOr<std::vector<GradientRuns>>
collectGradients(StepOp step, const FactAnalysis &facts,
                 llvm::ArrayRef<mlir::Value> values);

/// Writes kMeaningAttr. Fails if an analysis fails.
llvm::LogicalResult recordMeaning(StepOp step);

/// Checks params' and optimizer states' next values, and kMeaningAttr if there
/// is one. `facts` must have run, without an error.
llvm::LogicalResult verifyProvenance(StepOp step, const FactAnalysis &facts);

} // namespace bagua

#endif // BAGUA_DIALECT_BAGUA_PROVENANCE_H
