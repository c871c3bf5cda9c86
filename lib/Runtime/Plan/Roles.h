//===- Roles.h - What the roles of a plan's tensors mean ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For the verifier, the session and the state that it saves.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_PLAN_ROLES_H
#define BAGUA_LIB_RUNTIME_PLAN_ROLES_H

#include "bagua/Runtime/PlanGenerated.h"

namespace bagua::runtime {

/// Param, Optimizer, Buffer, Residual or Replica: what a step finds as the one
/// before it left it.
bool isState(fb::Role role);

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_PLAN_ROLES_H
