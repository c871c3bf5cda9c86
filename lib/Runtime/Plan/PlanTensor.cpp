//===- PlanTensor.cpp - What a program may know of a plan's tensors -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Out of the plan's tables.
//
//===----------------------------------------------------------------------===//
#include "bagua/Runtime/PlanTensor.h"

#include "bagua/Runtime/PlanGenerated.h"

namespace bagua::runtime {

static_assert(
    static_cast<int>(TensorRole::Batch) == static_cast<int>(fb::Role::MIN) &&
    static_cast<int>(TensorRole::Param) == static_cast<int>(fb::Role::Param) &&
    static_cast<int>(TensorRole::Gradient) ==
        static_cast<int>(fb::Role::Gradient) &&
    static_cast<int>(TensorRole::Value) == static_cast<int>(fb::Role::MAX));

std::vector<PlanTensor> tensorsOf(const Plan &plan) {
  std::vector<PlanTensor> tensors;
  for (const fb::Tensor *tensor : *plan.root().tensors()) {
    PlanTensor &made = tensors.emplace_back();
    made.name = tensor->name()->str();
    made.role = static_cast<TensorRole>(tensor->role());
    made.type = static_cast<DataType>(tensor->type());
    if (tensor->shape())
      made.shape.assign(tensor->shape()->begin(), tensor->shape()->end());
    made.isGivenByProgram = tensor->given_by_program();
    made.isOptional = tensor->optional();
    made.isInArena = tensor->arena() >= 0;
  }
  return tensors;
}

} // namespace bagua::runtime
