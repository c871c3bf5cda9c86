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

/// Adds the optimizer's states among an instruction's values: a param may have
/// updates by other moments as well.
void addStates(const Plan &plan, const flatbuffers::Vector<uint32_t> *values,
               std::set<int32_t> &tensors) {
  if (!values)
    return;
  for (uint32_t value : *values)
    if (int32_t tensor = plan.root().values()->Get(value)->tensor();
        tensor >= 0 &&
        plan.root().tensors()->Get(tensor)->role() == fb::Role::Optimizer)
      tensors.insert(tensor);
}

} // namespace

UpdateCounts::UpdateCounts(const Plan &loaded)
    : plan(loaded), counts(loaded.root().steps()->size()) {
  opened.fill(counts);
}

void UpdateCounts::start(int64_t iteration) {
  std::fill(counts.begin(), counts.end(), 0);
  for (int64_t i = 0; i < iteration; ++i)
    ++counts[stepOf(plan.root(), i)];
}

void UpdateCounts::open(int64_t iteration) {
  std::vector<int64_t> &side =
      opened[static_cast<size_t>(iteration) % kStepsInFlight];
  std::copy(counts.begin(), counts.end(), side.begin());
  ++counts[stepOf(plan.root(), iteration)];
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
  std::set<int32_t> used;
  addStates(plan, instruction.inputs(), used);
  addStates(plan, instruction.outputs(), used);
  auto updatesOne = [&](const fb::Instruction *op) {
    std::set<int32_t> updated;
    if (kindOf(op->opcode()) == InstructionKind::Update)
      addStates(plan, op->outputs(), updated);
    return std::any_of(updated.begin(), updated.end(),
                       [&](int32_t tensor) { return used.count(tensor) > 0; });
  };
  std::vector<uint32_t> steps;
  for (uint32_t i = 0; i < plan.root().steps()->size(); ++i) {
    const auto &ops = *plan.root().steps()->Get(i)->instructions();
    if (std::any_of(ops.begin(), ops.end(), updatesOne))
      steps.push_back(i);
  }
  return steps;
}

} // namespace bagua::runtime
