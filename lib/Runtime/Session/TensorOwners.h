//===- TensorOwners.h - Who has what of a plan's tensors ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a session knows of the program's part from the plan alone: which state
// the plan's instructions update, which it is the program's to update, what the
// program reads of the former, and what it may have elsewhere in each step.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_SESSION_TENSOROWNERS_H
#define BAGUA_LIB_RUNTIME_SESSION_TENSOROWNERS_H

#include "bagua/Runtime/Plan.h"

#include <vector>

namespace bagua::runtime {

/// By tensor: whether it is state that instructions write to and the program
/// doesn't give. Linear in the plan's size, but for a sort.
std::vector<bool> findUpdatedByRuntime(const Plan &plan);

/// By tensor: whether the program's work, where the plan knows it, waits for
/// it.
std::vector<bool> findReadByProgram(const Plan &plan);

/// By tensor: whether the program may have it at another address in each step:
/// it gives it, it is no state, and no instruction touches it before that.
std::vector<bool> findMovable(const Plan &plan);

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_SESSION_TENSOROWNERS_H
