//===- UpdateCounts.cpp - How often a run has updated a state -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Counts by steps of the plan.
//
//===----------------------------------------------------------------------===//
#include "Session/UpdateCounts.h"

#include "Plan/FieldChecks.h"
#include "Plan/Opcodes.h"
#include "Plan/PhaseTable.h"
#include "bagua/Runtime/Moments.h"

#include <algorithm>
#include <utility>

namespace bagua::runtime {

UpdateCounts::UpdateCounts(const Plan &loaded)
    : plan(loaded), counts(loaded.root().steps()->size()),
      updating(loaded.root().tensors()->size()), before(updating.size()) {
  opened.fill(counts);
  for (uint32_t step = 0; step < counts.size(); ++step) {
    const fb::Step &planned = *plan.root().steps()->Get(step);
    auto found = findMoments(plan.root(), planned);
    for (uint32_t i = 0; i < found.size(); ++i) {
      const fb::Instruction &op = *planned.instructions()->Get(i);
      if (kindOf(op.opcode()) == InstructionKind::Update)
        for (uint32_t tensor : found[i])
          if (updating[tensor].empty() || updating[tensor].back() != step)
            updating[tensor].push_back(step);
      moments.emplace_back();
      if (op.bias_correction() != fb::BiasCorrection::None)
        moments.back() = std::move(found[i]);
    }
  }
}

std::vector<int64_t> UpdateCounts::expectBefore(int64_t iteration) const {
  const std::vector<int64_t> ran = iterationsByStep(plan.root(), iteration);
  std::vector<int64_t> expected(updating.size());
  for (uint32_t i = 0; i < expected.size(); ++i)
    for (uint32_t step : updating[i])
      expected[i] += ran[step];
  return expected;
}

absl::Status UpdateCounts::start(std::vector<int64_t> updates) {
  auto name = [&](uint32_t tensor) {
    return nameOf(plan.root().tensors()->Get(tensor)->name());
  };
  for (const std::vector<uint32_t> &list : moments)
    for (uint32_t tensor : list)
      if (updates[tensor] != updates[list.front()])
        return invalid(absl::StrCat(
            "expected the moments '", name(list.front()), "' and '",
            name(tensor), "' of one update to have had as many updates, found ",
            updates[list.front()], " and ", updates[tensor]));
  before = std::move(updates);
  return absl::OkStatus();
}

void UpdateCounts::open(int64_t iteration, uint32_t step) {
  std::vector<int64_t> &side =
      opened[static_cast<size_t>(iteration) % kStepsInFlight];
  std::copy(counts.begin(), counts.end(), side.begin());
  ++counts[step];
}

int64_t UpdateCounts::countBy(const std::vector<int64_t> &iterations,
                              uint32_t tensor) const {
  int64_t sum = before[tensor];
  for (uint32_t step : updating[tensor])
    sum += iterations[step];
  return sum;
}

int64_t UpdateCounts::countBefore(int64_t iteration, uint32_t tensor) const {
  return countBy(opened[static_cast<size_t>(iteration) % kStepsInFlight],
                 tensor);
}

} // namespace bagua::runtime
