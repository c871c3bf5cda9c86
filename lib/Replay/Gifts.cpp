//===- Gifts.cpp - The tensors that ranks give in checked steps -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Values depend on the tensor's name and role, and on whether it is optional.
//
//===----------------------------------------------------------------------===//
#include "Gifts.h"

#include "CheckValues.h"

#include "bagua/Runtime/PlanGenerated.h"

namespace bagua::replay {

namespace fb = runtime::fb;

bool isAbsent(const runtime::Plan &plan, uint32_t number, int64_t rank,
              int64_t step) {
  const fb::Tensor &tensor = *plan.root().tensors()->Get(number);
  return tensor.optional() &&
         valueKey(tensor.name()->str() + " is absent", rank, step) % 3 == 0;
}

uint64_t giftKey(const runtime::Plan &plan, uint32_t number, int64_t rank,
                 int64_t step) {
  const fb::Tensor &tensor = *plan.root().tensors()->Get(number);
  if (isAbsent(plan, number, rank, step))
    return kZeros;
  return valueKey(tensor.name()->str(),
                  tensor.role() == fb::Role::Input ? 0 : rank, step);
}

} // namespace bagua::replay
