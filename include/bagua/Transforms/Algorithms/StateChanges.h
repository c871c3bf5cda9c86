//===- StateChanges.h - What a step between iterations promises -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A step that runs between iterations has no gradients. Its contract says what
// becomes of each state.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_TRANSFORMS_ALGORITHMS_STATECHANGES_H
#define BAGUA_TRANSFORMS_ALGORITHMS_STATECHANGES_H

#include "bagua/Dialect/Bagua/Bagua.h"

namespace bagua {

/// A relation for each state that the step scales or broadcasts; none for a
/// state that it leaves alone. Emits an error that names a state with which it
/// does anything else. The step must run between iterations.
llvm::FailureOr<llvm::SmallVector<mlir::Attribute>>
promiseStateChanges(StepOp step);

} // namespace bagua

#endif // BAGUA_TRANSFORMS_ALGORITHMS_STATECHANGES_H
