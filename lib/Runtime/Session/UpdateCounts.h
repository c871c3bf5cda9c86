//===- UpdateCounts.h - How often a run has updated a state ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An update's bias correction depends on the number of updates that its state
// has had. If a plan has several steps, that is not the number of iterations.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_SESSION_UPDATECOUNTS_H
#define BAGUA_LIB_RUNTIME_SESSION_UPDATECOUNTS_H

#include "bagua/Runtime/Plan.h"
#include "bagua/Runtime/PlanGenerated.h"
#include "bagua/Support/StepsInFlight.h"

#include <array>
#include <cstdint>
#include <vector>

namespace bagua::runtime {

/// Counts, for each step of a plan of several steps, the iterations that have
/// run it. For a plan of one step it does nothing.
class UpdateCounts {
public:
  explicit UpdateCounts(const Plan &plan);

  /// Counts from iteration 0 to `iteration`, which is opened next.
  void start(int64_t iteration);
  /// For the program's thread, before it opens an iteration of the plan's step
  /// `step`; iterations are opened in order.
  void open(int64_t iteration, uint32_t step);
  /// How many iterations before `iteration`, which is in flight, have run one
  /// of the steps. Any thread.
  int64_t before(int64_t iteration, const std::vector<uint32_t> &steps) const;

  /// The steps that update an optimizer's state which the instruction uses.
  std::vector<uint32_t>
  stepsThatUpdate(const fb::Instruction &instruction) const;

private:
  const Plan &plan;
  /// By step of the plan: the iterations that have run it so far.
  std::vector<int64_t> counts;
  std::array<std::vector<int64_t>, kStepsInFlight> opened;
  /// By tensor: the steps that update it, ascending, if it is an optimizer's
  /// state.
  std::vector<std::vector<uint32_t>> updating;
};

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_SESSION_UPDATECOUNTS_H
