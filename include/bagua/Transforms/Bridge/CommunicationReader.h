//===- CommunicationReader.h - What a search of plans needs of a step -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads the problem of planning communication from a step whose gradients are
// reduced.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_TRANSFORMS_BRIDGE_COMMUNICATIONREADER_H
#define BAGUA_TRANSFORMS_BRIDGE_COMMUNICATIONREADER_H

#include "bagua/Dialect/Bagua/Bagua.h"
#include "bagua/Scheduling/Search/CommunicationPlan.h"

#include "mlir/IR/BuiltinOps.h"

namespace bagua {

/// The problem of the module's only step, after bagua-relax. `offersLate`: the
/// program may run its updates in the next step. Emits errors.
llvm::FailureOr<CommunicationProblem> readCommunication(mlir::ModuleOp module,
                                                        bool offersLate);

} // namespace bagua

#endif // BAGUA_TRANSFORMS_BRIDGE_COMMUNICATIONREADER_H
