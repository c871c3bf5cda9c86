//===- Ownership.h - What the runtime can keep of a step's arithmetic -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The runtime computes states where they lie, and hands over what has a name. A
// step may ask for more than that (a state's old value beside its new one, one
// value as two states); then the program has to compute it.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_TRANSFORMS_UTILS_OWNERSHIP_H
#define BAGUA_TRANSFORMS_UTILS_OWNERSHIP_H

#include "bagua/Dialect/Bagua/Bagua.h"

#include <optional>
#include <string>

namespace bagua {

/// Why the runtime can't leave what an op makes where the program and the next
/// step look for it; nothing if it can. Of arithmetic on whole tensors.
/// `states` are the step's state arguments. O(users of its states * ops) at
/// worst.
std::optional<std::string>
whyNotOwned(StepOp step, llvm::ArrayRef<unsigned> states, StepOpInterface op);

} // namespace bagua

#endif // BAGUA_TRANSFORMS_UTILS_OWNERSHIP_H
