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

/// Has it happen to this process, which says when by the monotonic clock
/// first; returns only where the process goes on.
void happen(Mishap::Kind kind,
            const std::function<void(const std::string &)> &say);

} // namespace bagua::replay

#endif // BAGUA_LIB_REPLAY_MISHAP_H
