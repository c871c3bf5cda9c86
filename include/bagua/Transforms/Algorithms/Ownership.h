//===- Ownership.h - What the runtime can keep of a step's arithmetic -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The runtime computes states in their own memory, and can give the program
// only results that have a name. A step may ask for more (a state's old value
// beside its new one, one value as two states); then the program has to compute
// it.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_TRANSFORMS_ALGORITHMS_OWNERSHIP_H
#define BAGUA_TRANSFORMS_ALGORITHMS_OWNERSHIP_H

#include "bagua/Dialect/Bagua/Bagua.h"

#include <optional>
#include <string>

namespace bagua {

/// Why the runtime can't leave the results of `op`, arithmetic on whole
/// tensors, where the program and the next step look for them; nothing if it
/// can. `states` are the step's state arguments. O(users of its states * ops)
/// at worst.
std::optional<std::string>
whyNotOwned(StepOp step, llvm::ArrayRef<unsigned> states, StepOpInterface op);

} // namespace bagua

#endif // BAGUA_TRANSFORMS_ALGORITHMS_OWNERSHIP_H
