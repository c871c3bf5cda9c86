//===- LowerBound.h - What no lossless schedule can beat ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A bound of the steady-state step time from the step and the cluster alone. It
// shares no code with the simulator or the prices of collectives: it is what
// both are judged by.
//
// Four limits, none of which a schedule of the same compute can avoid
// (docs/Scheduling.md, "What no schedule can beat"):
//
//   compute  the device does one op after the other, and waits where an op
//            needs what is reduced of an earlier one's result; updates may be
//            spread over all ranks and servers, and servers compute nothing;
//   links    to sum S bytes over K groups of ranks, 2 (K-1) S bytes must leave
//            these groups, through the links that they have (Patarasuk and
//            Yuan, JPDC 2009); where servers may sum, each group sends and
//            receives S at least. A link of which compute leaves a part has
//            that part alone for as long as compute takes;
//   latency  before bytes flow over a link their message's latency has passed;
//   cycle    a gradient crosses the network between its backward and its next
//            forward: for any op u that needs parameters and any later op p,
//            all gradients not ready before p and needed up to u cross between
//            the end of p in one step and the start of u in the next, and are
//            updated there.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_SCHEDULING_LOWERBOUND_H
#define BAGUA_SCHEDULING_LOWERBOUND_H

#include "bagua/Scheduling/ClusterModel.h"

namespace bagua {

/// A gradient that has to be reduced.
struct BoundGradient {
  int64_t bytes = 0;
  AxisSet over = 0;
  /// The op that makes it.
  int32_t readyAfter = 0;
  /// The first op of the next step that needs what it updates; -1 for none.
  int32_t neededBy = -1;
  /// On a whole tensor, of what reads its mean on the way to what is needed
  /// first.
  int64_t updateNs = 0;
};

/// An op that needs a reduction of what an earlier op makes.
struct BoundWait {
  int32_t op = 0;
  int32_t after = 0;
  int64_t bytes = 0;
  AxisSet over = 0;
};

struct BoundProblem {
  ClusterModel cluster;
  /// Durations of forward and backward compute, in the program's order.
  std::vector<int64_t> computeNs;
  /// Of compute that may run at any time.
  int64_t anyTimeNs = 0;
  /// Of all that reads means, on whole tensors.
  int64_t updatesNs = 0;
  /// And other tensors that have to be reduced, whose sums no later step needs.
  std::vector<BoundGradient> gradients;
  /// By ascending op; `gradients` have their traffic.
  std::vector<BoundWait> waits;

  /// What is wrong with it; nothing if it is sound.
  std::optional<std::string> check() const;
};

struct LowerBound {
  double ns = 0;
  /// What binds: `compute`, `links along node`, or `cycle of 'conv1'`, by the
  /// gradient's number.
  enum class Binding { Compute, Links, Cycle } binding = Binding::Compute;
  /// The innermost axis whose links are full (Links); the gradient that is
  /// needed last (Cycle).
  int32_t index = -1;
  /// Each limit by itself.
  double computeNs = 0, linksNs = 0, cycleNs = 0;
};

/// O(ops needing parameters * (gradients * axes, and with waits ops)). Tight
/// where communication can be cut as finely as one likes and takes no latency.
LowerBound lowerBound(const BoundProblem &problem);

} // namespace bagua

#endif // BAGUA_SCHEDULING_LOWERBOUND_H
