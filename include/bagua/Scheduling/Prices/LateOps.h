//===- LateOps.h - What the program can put off to its next step ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The program may run an update right before the next op that needs its result,
// rather than at the end of its own step. Communication then goes on beside the
// forward compute in between (docs/Semantics.md, "Late updates").
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_SCHEDULING_PRICES_LATEOPS_H
#define BAGUA_SCHEDULING_PRICES_LATEOPS_H

#include "bagua/Scheduling/Prices/OpGraph.h"

namespace bagua {

/// By op: the op of the next step right before which the op runs; -1 for all
/// that run in their own step. An op is late if it may be (GraphOp::mayBeLate)
/// and
/// - waits for communication, itself or through other late ops;
/// - makes only values that late ops use, or states that only late ops and
///   forward and backward compute read;
/// - reads no state that an op which isn't late writes, or that the runtime
///   reads;
/// - has a first user (an op that reads such a state, or an op whose results
///   take the place of its operands), or follows a late op that has one.
/// An op runs no later than the users of its results and the ops that overwrite
/// what it reads. O(rounds * (ops + operands)); in each round a reason passes
/// from one op to the next.
std::vector<int32_t> findLateOps(const OpGraph &step);

/// The program's late ops in the order in which it runs them.
std::vector<int32_t> orderLateOps(const std::vector<int32_t> &before);

/// The order in which the program and the streams reach their ops in a step: a
/// launch order has late ops last, this order has each late op right before the
/// op that `before` names.
std::vector<int32_t> executionOrder(const std::vector<int32_t> &launchOrder,
                                    const std::vector<int32_t> &before);

} // namespace bagua

#endif // BAGUA_SCHEDULING_PRICES_LATEOPS_H
