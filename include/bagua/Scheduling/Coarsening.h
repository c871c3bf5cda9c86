//===- Coarsening.h - Which compute ops become one ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An exported step has tens of thousands of ops; what matters to communication
// is only where it can start (a gradient is ready) and where it must have ended
// (a state or a collective's result is first used). Between such points compute
// is one piece.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_SCHEDULING_COARSENING_H
#define BAGUA_SCHEDULING_COARSENING_H

#include <cstdint>
#include <vector>

namespace bagua {

/// One op of a step, in program order.
struct CoarseningOp {
  /// Only ops of one class merge: a phase of compute; -1 never merges.
  int32_t mergeClass;
  /// Something that communication waits for is ready after it.
  bool endsCluster;
  /// It is the first to use something that communication brings.
  bool startsCluster;
};

/// The cluster of each op, numbered from 0 in program order. A cluster is a run
/// of neighbours, so it is convex whatever the data flow. Minimal in number
/// among the solutions that keep program order and all cuts. O(n).
std::vector<int32_t> coarsen(const std::vector<CoarseningOp> &ops);

} // namespace bagua

#endif // BAGUA_SCHEDULING_COARSENING_H
