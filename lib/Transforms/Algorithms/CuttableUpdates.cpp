//===- CuttableUpdates.cpp - Updates that can run part by part ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Conditions on an update, its states and the contract.
//
//===----------------------------------------------------------------------===//
#include "bagua/Transforms/Algorithms/CuttableUpdates.h"

#include "bagua/Dialect/Bagua/Layouts.h"
#include "bagua/Transforms/Algorithms/Ownership.h"

using namespace mlir;
using namespace bagua;

Operation *bagua::onlyUserOf(Value value) {
  return value.hasOneUse() ? *value.getUsers().begin() : nullptr;
}

bool CuttableUpdates::canCut(Operation *update, Value gradient) const {
  auto stepOp = dyn_cast_or_null<StepOpInterface>(update);
  unsigned count = stepOp ? stepOp.getStateCount() : 0;
  if (count == 0 || !stepOp.isElementwise() ||
      update->getOperand(count) != gradient || !contract.allow(stepOp) ||
      whyNotOwned(step, states, stepOp))
    return false;
  // The states and the gradient are cut; only the rate may follow them.
  if (update->getNumOperands() > count + 2)
    return false;
  for (unsigned i = 0; i < update->getNumResults(); ++i) {
    auto state = dyn_cast<BlockArgument>(update->getOperand(i));
    if (!state || getLayout(cast<RankedTensorType>(state.getType())) ||
        next.of(state) != update->getResult(i))
      return false;
    if (i == 0)
      continue;
    if (!state.hasOneUse() || !update->getResult(i).hasOneUse())
      return false;
    ArgumentAttr info = StepOp(step).getArgument(state.getArgNumber());
    if (info.getRole() != Role::Optimizer || info.getPlace())
      return false;
  }
  return true;
}
