//===- LowerBound.h - What no lossless schedule can beat ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A lower bound of the steady-state step time, from the step and the cluster
// alone. It shares no code with the simulator or the prices of collectives,
// because both are judged by it.
//
// Four limits, none of which a schedule of the same compute can avoid
// (docs/Scheduling.md, "What no schedule can beat"):
//
//   compute  the device runs one op after the other, and waits where an op
//            needs the reduction of an earlier op's result; updates may be
//            spread over all ranks and servers, and servers compute nothing
//            else;
//   links    to sum S bytes over K groups of ranks, 2 (K-1) S bytes must leave
//            these groups, through the links that they have (Patarasuk and
//            Yuan, JPDC 2009); where servers may sum, each group sends and
//            receives S at least. A link whose rate compute reduces has the
//            reduced rate for as long as compute takes;
//   latency  a message's latency passes before its bytes flow over a link;
//   cycle    a gradient crosses the network between its backward and its next
//            forward: for any op u that needs params and any later op p, all
//            gradients not ready before p and needed up to u cross between the
//            end of p in one step and the start of u in the next, and are
//            updated there.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_SCHEDULING_PRICES_LOWERBOUND_H
#define BAGUA_SCHEDULING_PRICES_LOWERBOUND_H

#include "bagua/Scheduling/Prices/ClusterModel.h"

namespace bagua {

/// A gradient that has to be reduced.
struct BoundGradient {
  int64_t bytes = 0;
  AxisSet over = 0;
  /// The op that makes it.
  int32_t readyAfter = 0;
  /// The first op of the next step that needs a param that it updates; -1 for
  /// none.
  int32_t neededBy = -1;
  /// The time, on whole tensors, of the ops that read its mean on the way to
  /// the param that is needed first.
  int64_t updateNs = 0;
};

/// An op that needs a reduction of an earlier op's result.
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
  /// The time of compute that may run at any time.
  int64_t anyTimeNs = 0;
  /// The time of all ops that read means, on whole tensors.
  int64_t updatesNs = 0;
  /// Gradients, and other tensors that have to be reduced but whose sums no
  /// later step needs.
  std::vector<BoundGradient> gradients;
  /// By ascending op. `gradients` has their traffic.
  std::vector<BoundWait> waits;

  /// Describes what is wrong with the problem; nothing if it is sound.
  std::optional<std::string> check() const;
};

struct LowerBound {
  double ns = 0;
  /// The limit that binds. Reports write `compute`, `links along node`, or
  /// `cycle of 'conv1'`.
  enum class Binding { Compute, Links, Cycle } binding = Binding::Compute;
  /// For Links the innermost axis whose links are full, for Cycle the number of
  /// the gradient that is needed last.
  int32_t index = -1;
  /// Each limit by itself.
  double computeNs = 0, linksNs = 0, cycleNs = 0;
};

/// O(ops needing params * (gradients * axes, and with waits ops)). The bound is
/// tight if communication can be cut as finely as one likes and has no latency.
LowerBound lowerBound(const BoundProblem &problem);

} // namespace bagua

#endif // BAGUA_SCHEDULING_PRICES_LOWERBOUND_H
