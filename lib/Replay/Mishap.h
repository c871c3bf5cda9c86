//===- Mishap.h - A process that ends in the middle of a step -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For tests of how runs end.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_REPLAY_MISHAP_H
#define BAGUA_LIB_REPLAY_MISHAP_H

#include "bagua/Replay/Replay.h"

#include <functional>
#include <string>

namespace bagua::replay {

/// Makes the mishap happen to this process; `say` is called with the time on
/// the monotonic clock first. Returns only if the process can continue.
void happen(Mishap::Kind kind,
            const std::function<void(const std::string &)> &say);

} // namespace bagua::replay

#endif // BAGUA_LIB_REPLAY_MISHAP_H
