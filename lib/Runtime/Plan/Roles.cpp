//===- Roles.cpp - What the roles of a plan's tensors mean ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A switch without a default, so that a new role has to say.
//
//===----------------------------------------------------------------------===//
#include "Roles.h"

namespace bagua::runtime {

bool isState(fb::Role role) {
  switch (role) {
  case fb::Role::Param:
  case fb::Role::Optimizer:
  case fb::Role::Buffer:
  case fb::Role::Residual:
  case fb::Role::Replica:
    return true;
  case fb::Role::Batch:
  case fb::Role::Input:
  case fb::Role::Gradient:
  case fb::Role::Value:
    return false;
  }
  return false;
}

} // namespace bagua::runtime
