//===- Prefetching.h - When a program's own communication runs ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A step that keeps params in parts (ZeRO-3, Rajbhandari et al., SC 2020; FSDP,
// Zhao et al., VLDB 2023) gathers each layer's params right before they are
// used, and adds the pieces of gradients to its states right after they are
// scattered. Compute then waits for all of it.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_SCHEDULING_SEARCH_PREFETCHING_H
#define BAGUA_SCHEDULING_SEARCH_PREFETCHING_H

#include "bagua/Scheduling/Prices/OpGraph.h"

#include <optional>

namespace bagua {

/// A step before its gradients are reduced: its collectives are the program's
/// own, and all ops have durations.
struct PrefetchProblem {
  const OpGraph &step;
  /// By state: it is data of this iteration, and differs in the next.
  std::vector<bool> isBatch;
  /// By op: communication that the step does not have yet will wait for it.
  std::vector<bool> isAwaited;
};

struct Prefetch {
  /// All ops, by number.
  std::vector<int32_t> order;
  /// The most bytes that are gathered and not yet used.
  int64_t aheadBytes;
  /// The predicted time of the step without the communication that it does not
  /// have yet, in its old and its new order.
  double beforeNs;
  double afterNs;
};

/// An order in which collectives that need states alone run ahead of their use,
/// in the order of their first uses, with what they are computed from; and ops
/// that follow communication and lead to none come last, those that will wait
/// for the reduction of a gradient after the others. All other ops keep their
/// order, and what reads a state's old value stays before what makes the new
/// one. Of the limits on what is gathered ahead, the smallest counts whose time
/// is within 1 % of the best, as each byte takes memory (FSDP's rate limiter
/// has a fixed one). Nothing if no order is more than 1 % faster than that of
/// the step, or if a collective takes a state as it is that the step does not
/// change: then only the order of its users tells when its result may be
/// overwritten.
/// O(log(bytes) * ops).
std::optional<Prefetch> prefetch(const PrefetchProblem &problem,
                                 CollectivePrices &prices);

} // namespace bagua

#endif // BAGUA_SCHEDULING_SEARCH_PREFETCHING_H
