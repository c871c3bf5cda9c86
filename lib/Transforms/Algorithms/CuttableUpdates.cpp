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

/// Finds the ops that make an update's norms; false if they are others than the
/// update is defined by, or something else uses what they make.
static bool findNorms(UpdateOp update, UpdateOps &ops) {
  auto makerOf = [](Value norm) {
    return norm.hasOneUse() ? norm.getDefiningOp<SquaredNormOp>() : nullptr;
  };
  ops.paramNorm = makerOf(update.getNorms()[0]);
  ops.directionNorm = makerOf(update.getNorms()[1]);
  if (!ops.paramNorm || !ops.directionNorm ||
      ops.paramNorm.getInput() != update.getStates()[0])
    return false;
  auto direction = ops.directionNorm.getInput().getDefiningOp<DirectionOp>();
  ops.direction = direction;
  return direction && direction->hasOneUse() &&
         direction.getRuleAttr() == update.getRuleAttr() &&
         direction.getConstants() == update.getConstants() &&
         direction.getBiasCorrection() == update.getBiasCorrection() &&
         direction.getStates() == update.getStates() &&
         direction.getGrad() == update.getGrad();
}

std::optional<UpdateOps> CuttableUpdates::find(Value gradient) const {
  UpdateOps ops;
  for (Operation *user : gradient.getUsers())
    if (auto stepOp = dyn_cast<StepOpInterface>(user);
        stepOp && stepOp.isUpdate())
      ops.update = stepOp;
  if (!ops.update)
    return std::nullopt;
  if (auto update = dyn_cast<UpdateOp>(*ops.update);
      update && !update.getNorms().empty() && !findNorms(update, ops))
    return std::nullopt;
  auto users = llvm::to_vector(gradient.getUsers());
  return users.size() == (ops.hasNorms() ? 2 : 1) && canCut(ops, gradient)
             ? std::optional(ops)
             : std::nullopt;
}

bool CuttableUpdates::canCut(const UpdateOps &ops, Value gradient) const {
  StepOpInterface update = ops.update;
  unsigned count = update.getStateCount();
  if (!update.isElementwise() || update->getOperand(count) != gradient ||
      !contract.allow(update) || whyNotOwned(step, states, update))
    return false;
  // The states and the gradient are cut; only norms and the rate may follow
  // them.
  if (update->getNumOperands() > count + 2 + (ops.hasNorms() ? 2 : 0))
    return false;
  auto isOwn = [&](Operation *user) {
    return user == update || (ops.hasNorms() && user == ops.direction);
  };
  for (unsigned i = 0; i < update->getNumResults(); ++i) {
    auto state = dyn_cast<BlockArgument>(update->getOperand(i));
    if (!state || getLayout(cast<RankedTensorType>(state.getType())) ||
        next.of(state) != update->getResult(i))
      return false;
    if (i == 0)
      continue;
    if (!llvm::all_of(state.getUsers(), isOwn) ||
        !update->getResult(i).hasOneUse())
      return false;
    ArgumentAttr info = StepOp(step).getArgument(state.getArgNumber());
    if (info.getRole() != Role::Optimizer || info.getPlace())
      return false;
  }
  return true;
}
