//===- UpdateCounts.cpp - How often a run has updated a state -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Counts by steps of the plan.
//
//===----------------------------------------------------------------------===//
#include "Session/UpdateCounts.h"

#include "Plan/Opcodes.h"
#include "Plan/PhaseTable.h"

#include <algorithm>
#include <set>

namespace bagua::runtime {
namespace {

/// Calls `visit` with the optimizer's states among an instruction's values: a
/// param may have updates by other moments as well.
template <typename Visit>
void forEachState(const Plan &plan, const flatbuffers::Vector<uint32_t> *values,
                  Visit visit) {
  if (!values)
    return;
  for (uint32_t value : *values)
    if (int32_t tensor = plan.root().values()->Get(value)->tensor();
        tensor >= 0 &&
        plan.root().tensors()->Get(tensor)->role() == fb::Role::Optimizer)
      visit(tensor);
}

bool hasSeveralSteps(const Plan &plan) {
  return plan.root().steps()->size() > 1;
}

} // namespace

UpdateCounts::UpdateCounts(const Plan &loaded)
    : plan(loaded), counts(loaded.root().steps()->size()),
      updating(loaded.root().tensors()->size()) {
  opened.fill(counts);
  if (!hasSeveralSteps(plan))
    return;
  for (uint32_t step = 0; step < counts.size(); ++step)
    for (const fb::Instruction *op :
         *plan.root().steps()->Get(step)->instructions())
      if (kindOf(op->opcode()) == InstructionKind::Update)
        forEachState(plan, op->outputs(), [&](int32_t tensor) {
          if (updating[tensor].empty() || updating[tensor].back() != step)
            updating[tensor].push_back(step);
        });
}

void UpdateCounts::start(int64_t iteration) {
  if (hasSeveralSteps(plan))
    counts = iterationsByStep(plan.root(), iteration);
}

void UpdateCounts::open(int64_t iteration, uint32_t step) {
  std::vector<int64_t> &side =
      opened[static_cast<size_t>(iteration) % kStepsInFlight];
  std::copy(counts.begin(), counts.end(), side.begin());
  ++counts[step];
}

int64_t UpdateCounts::before(int64_t iteration,
                             const std::vector<uint32_t> &steps) const {
  const std::vector<int64_t> &side =
      opened[static_cast<size_t>(iteration) % kStepsInFlight];
  int64_t sum = 0;
  for (uint32_t step : steps)
    sum += side[step];
  return sum;
}

std::vector<uint32_t>
UpdateCounts::stepsThatUpdate(const fb::Instruction &instruction) const {
  std::set<uint32_t> steps;
  auto add = [&](int32_t tensor) {
    steps.insert(updating[tensor].begin(), updating[tensor].end());
  };
  forEachState(plan, instruction.inputs(), add);
  forEachState(plan, instruction.outputs(), add);
  return {steps.begin(), steps.end()};
}

} // namespace bagua::runtime
