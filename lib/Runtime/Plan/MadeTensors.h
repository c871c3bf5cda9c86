//===- MadeTensors.h - The tensors that a step makes ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A step makes a tensor if it writes to just that tensor, by its number or
// place. It may also write to bytes of another one, by mistake.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_PLAN_MADETENSORS_H
#define BAGUA_LIB_RUNTIME_PLAN_MADETENSORS_H

#include "bagua/Runtime/Plan.h"
#include "bagua/Runtime/PlanGenerated.h"

#include <vector>

namespace bagua::runtime {

/// By tensor: whether an instruction of the step has a result that is the
/// tensor or a part of it, by its number or at just its place in an arena.
std::vector<bool> findMade(const Plan &plan, const fb::Step &step);

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_PLAN_MADETENSORS_H
