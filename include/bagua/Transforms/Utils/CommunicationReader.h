//===- CommunicationReader.h - What a search of plans needs of a step -----===//
//
// From a step whose gradients are reduced to the problem of planning that.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_TRANSFORMS_UTILS_COMMUNICATIONREADER_H
#define BAGUA_TRANSFORMS_UTILS_COMMUNICATIONREADER_H

#include "bagua/Dialect/Bagua/Bagua.h"
#include "bagua/Scheduling/CommunicationPlan.h"

#include "mlir/IR/BuiltinOps.h"

namespace bagua {

/// Of the module's only step, after bagua-relax. Emits errors.
llvm::FailureOr<CommunicationProblem> readCommunication(mlir::ModuleOp module);

} // namespace bagua

#endif // BAGUA_TRANSFORMS_UTILS_COMMUNICATIONREADER_H
