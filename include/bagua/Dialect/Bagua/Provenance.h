//===- Provenance.h - Which gradient and which state an update uses -------===//
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

namespace bagua {

/// Writes kMeaningAttr. Fails where the analyses do.
llvm::LogicalResult recordMeaning(StepOp step);

/// Checks params' and optimizer states' next values, and kMeaningAttr if there
/// is one. `facts` must have run, without an error.
llvm::LogicalResult verifyProvenance(StepOp step, const FactAnalysis &facts);

} // namespace bagua

#endif // BAGUA_DIALECT_BAGUA_PROVENANCE_H
