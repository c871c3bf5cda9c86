//===- TensorOwners.h - The owners of a plan's tensors --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Facts about the program's part that follow from the plan alone: which state
// the plan's instructions update, which of it the program reads, and which
// tensors the program may have at another address in each step.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_SESSION_TENSOROWNERS_H
#define BAGUA_LIB_RUNTIME_SESSION_TENSOROWNERS_H

#include "bagua/Runtime/Plan.h"
#include "bagua/Runtime/PlanGenerated.h"

#include <vector>

namespace bagua::runtime {

/// By tensor: whether it is state that instructions write to and the program
/// doesn't give. Linear in the plan's size, except for a sort.
std::vector<bool> findUpdatedByRuntime(const Plan &plan);

/// By tensor: whether work of the program in a step waits for it, if the plan
/// knows that work.
std::vector<bool> findReadByProgram(const Plan &plan, const fb::Step &step);

/// By tensor: whether the program may have it at another address in each step.
/// It may if it gives the tensor, the tensor is no state, and no instruction
/// touches it before it is given.
std::vector<bool> findMovable(const Plan &plan);

/// By tensor: whether an instruction of any step touches it.
std::vector<bool> findUsed(const Plan &plan);

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_SESSION_TENSOROWNERS_H
