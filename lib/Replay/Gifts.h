//===- Gifts.h - The tensors that ranks give in checked steps -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every rank knows what every other rank gave: it is a function of plan, rank
// and step.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_REPLAY_GIFTS_H
#define BAGUA_LIB_REPLAY_GIFTS_H

#include "bagua/Runtime/Plan.h"

#include <cstdint>

namespace bagua::replay {

/// Whether a rank leaves an optional tensor out, as about one in three.
bool isAbsent(const runtime::Plan &plan, uint32_t tensor, int64_t rank,
              int64_t step);

/// The key of the values (CheckValues.h) that the rank gives, or kZeros if it
/// leaves the tensor out. Inputs are equal on all ranks.
uint64_t giftKey(const runtime::Plan &plan, uint32_t tensor, int64_t rank,
                 int64_t step);

} // namespace bagua::replay

#endif // BAGUA_LIB_REPLAY_GIFTS_H
