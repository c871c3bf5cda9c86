//===- LateOps.h - What the program can put off to its next step ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An update that the program runs right before the next op that needs what it
// makes, rather than at the end of its own step, lets communication go on
// beside the forward compute in between (docs/Semantics.md, "Late updates").
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_SCHEDULING_LATEOPS_H
#define BAGUA_SCHEDULING_LATEOPS_H

#include "bagua/Scheduling/OpGraph.h"

namespace bagua {

/// By op, the op of the next step that it runs right before; -1 for all that
/// run in their own step. Late are those ops that may be (GraphOp::mayBeLate)
/// and
/// - wait for communication, themselves or by other late ops;
/// - make only what late ops use, or what the step leaves as a state that late
///   ops and forward and backward compute alone read;
/// - read no state that an op which isn't late leaves behind, or that the
///   runtime reads;
/// - have a first user (an op that reads such a state, or one whose results
///   take the place of what they read), or follow a late op that has one.
/// An op runs no later than what uses its results or overwrites what it reads.
/// O(rounds * (ops + operands)) with as many rounds as reasons pass from op to
/// op.
std::vector<int32_t> findLateOps(const OpGraph &step);

/// The program's late ops in the order in which it runs them.
std::vector<int32_t> orderLateOps(const std::vector<int32_t> &before);

/// A launch order in which late ops come last, as the program and the streams
/// come to their ops in a step: each late op right before the op that `before`
/// says.
std::vector<int32_t> executionOrder(const std::vector<int32_t> &launchOrder,
                                    const std::vector<int32_t> &before);

} // namespace bagua

#endif // BAGUA_SCHEDULING_LATEOPS_H
