//===- UpdateCounts.h - How often a run has updated a state ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An update's bias correction depends on the number of updates that its moments
// have had. If a plan has several steps, or takes over a state from a plan that
// has, that is not the number of iterations.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_SESSION_UPDATECOUNTS_H
#define BAGUA_LIB_RUNTIME_SESSION_UPDATECOUNTS_H

#include "bagua/Runtime/Plan.h"
#include "bagua/Support/StepsInFlight.h"

#include "absl/status/status.h"

#include <array>
#include <cstdint>
#include <vector>

namespace bagua::runtime {

/// Counts the iterations that have run each step of a plan.
class UpdateCounts {
public:
  explicit UpdateCounts(const Plan &plan);

  /// By tensor: how often the plan's table of phases says that it has been
  /// updated before `iteration`; 0 if it is no moment.
  std::vector<int64_t> expectBefore(int64_t iteration) const;
  /// Begins with the number of each tensor's updates so far. InvalidArgument if
  /// moments of one update have had different numbers.
  absl::Status start(std::vector<int64_t> updates);
  /// For the program's thread, before it opens an iteration of the plan's step
  /// `step`; iterations are opened in order.
  void open(int64_t iteration, uint32_t step);
  /// How often a tensor has been updated before `iteration`, which is in
  /// flight. Any thread.
  int64_t countBefore(int64_t iteration, uint32_t tensor) const;
  /// The same after all iterations that were opened.
  int64_t count(uint32_t tensor) const { return countBy(counts, tensor); }

  /// The moments of an update or a direction with a bias correction, by its
  /// number among the instructions of all steps. They have one count.
  const std::vector<uint32_t> &momentsOf(uint32_t instruction) const {
    return moments[instruction];
  }

private:
  int64_t countBy(const std::vector<int64_t> &iterations,
                  uint32_t tensor) const;

  const Plan &plan;
  /// By step of the plan: the iterations that have run it since start().
  std::vector<int64_t> counts;
  std::array<std::vector<int64_t>, kStepsInFlight> opened;
  /// By tensor: the steps that update it, ascending, and its updates before
  /// start().
  std::vector<std::vector<uint32_t>> updating;
  std::vector<int64_t> before;
  std::vector<std::vector<uint32_t>> moments;
};

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_SESSION_UPDATECOUNTS_H
