//===- UpdateChecks.cpp - The table of optimizers' checks -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A line for each check.
//
//===----------------------------------------------------------------------===//
#include "Updates/UpdateCheck.h"

#include <cassert>

namespace bagua::replay {

extern const UpdateCheck kAdamCheck;
extern const UpdateCheck kSgdCheck;

static const UpdateCheck *const kChecks[] = {
    &kAdamCheck,
    &kSgdCheck,
};

const UpdateCheck &updateCheckOf(UpdateRule rule) {
  for (const UpdateCheck *check : kChecks)
    if (check->rule == rule)
      return *check;
  assert(false && "expected a check for every rule that is promised");
  return *kChecks[0];
}

} // namespace bagua::replay
