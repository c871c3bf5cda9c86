//===- ScheduleOracle.h - A scheduled step, executed on bytes -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Unrolls a scheduled step twice, closes its order by Floyd and Warshall, and
// executes linear extensions of it on a symbolic memory, byte by byte. Shares
// no code with the compiler but the IR's accessors.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_UNITTESTS_PROOFS_SCHEDULEORACLE_H
#define BAGUA_UNITTESTS_PROOFS_SCHEDULEORACLE_H

#include "Random.h"

#include "bagua/Dialect/Bagua/Bagua.h"

#include <optional>
#include <string>

namespace bagua::proofs {

/// Why a scheduled step is wrong; nothing if it is not: a circular wait, two
/// conflicting accesses that some linear extension has in either order, an op
/// that overwrites what it reads, or a read of other bytes than its operand's
/// in one of the extensions tried.
std::optional<std::string> findScheduleFault(StepOp step, Random &random);

} // namespace bagua::proofs

#endif // BAGUA_UNITTESTS_PROOFS_SCHEDULEORACLE_H
