//===- Coarsening.h - Which compute ops become one ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An exported step has tens of thousands of ops. Communication depends only on
// the points where it can start (a gradient is ready) and where it must have
// ended (a state or a collective's result is first used). Compute between two
// such points is one piece.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_SCHEDULING_SEARCH_COARSENING_H
#define BAGUA_SCHEDULING_SEARCH_COARSENING_H

#include <cstdint>
#include <vector>

namespace bagua {

/// One op of a step, in program order.
struct CoarseningOp {
  /// The phase of compute: only ops of one class merge; an op of class -1 never
  /// does.
  int32_t mergeClass;
  /// The op makes something that communication waits for.
  bool endsCluster;
  /// The op is the first to use something that communication brings.
  bool startsCluster;
};

/// The cluster of each op, numbered from 0 in program order. A cluster is a run
/// of neighbours, so it is convex whatever the data flow. Minimal in number
/// among the solutions that keep program order and all cuts. O(n).
std::vector<int32_t> coarsen(const std::vector<CoarseningOp> &ops);

} // namespace bagua

#endif // BAGUA_SCHEDULING_SEARCH_COARSENING_H
