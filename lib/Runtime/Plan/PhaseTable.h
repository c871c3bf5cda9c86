//===- PhaseTable.h - Which step of a plan runs when ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The plan's table of phases. Iterations are the steps that the program counts,
// from 0.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_PLAN_PHASETABLE_H
#define BAGUA_LIB_RUNTIME_PLAN_PHASETABLE_H

#include "bagua/Runtime/PlanGenerated.h"

#include <cstdint>
#include <string>
#include <vector>

namespace bagua::runtime {

/// The number of the step that an iteration runs.
uint32_t stepOf(const fb::Plan &plan, int64_t iteration);

/// The steps of `at` rows that run right before an iteration, in the order of
/// the rows.
std::vector<uint32_t> stepsBefore(const fb::Plan &plan, int64_t iteration);

/// The iterations before which `at` rows run, ascending.
std::vector<int64_t> iterationsWithStepsBefore(const fb::Plan &plan);

/// By step: whether it runs in or before one of the first `iterations`.
std::vector<bool> stepsWithin(const fb::Plan &plan, int64_t iterations);

/// By step: how many of the first `iterations` run it; `at` rows don't count.
std::vector<int64_t> iterationsByStep(const fb::Plan &plan, int64_t iterations);

/// Whether the step runs in iterations, and not only before one.
bool runsInIterations(const fb::Plan &plan, uint32_t step);

/// For people: when a row's step runs. For example "until 1000".
std::string describePhase(const fb::Phase &phase);

/// The strategy's text of the only step, or `@step=text` of each.
std::string strategiesOf(const fb::Plan &plan);

/// The instructions of a step that touch a tensor; null if there are none.
const flatbuffers::Vector<uint32_t> *usersOf(const fb::Step &step,
                                             uint32_t tensor);
/// Whether any instruction of the step touches the tensor.
bool isUsedIn(const fb::Step &step, uint32_t tensor);

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_PLAN_PHASETABLE_H
