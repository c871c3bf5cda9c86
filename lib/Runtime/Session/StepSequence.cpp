//===- StepSequence.cpp - Where a run's instructions are in its steps -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The beginnings of the newest steps, in a ring.
//
//===----------------------------------------------------------------------===//
#include "Session/StepSequence.h"

#include <algorithm>
#include <utility>

namespace bagua::runtime {

void StepSequence::start(std::vector<StreamPrograms> newPrograms) {
  programs = std::move(newPrograms);
  for (Entry &entry : entries)
    entry.begins =
        std::vector<std::atomic<uint64_t>>(programs.front().streams.size());
  count.store(0, std::memory_order_release);
}

void StepSequence::open(int64_t step, uint32_t program) {
  Entry &entry = entries[static_cast<size_t>(step) % kKept];
  Entry &next = entries[static_cast<size_t>(step + 1) % kKept];
  entry.program.store(program, std::memory_order_relaxed);
  for (size_t i = 0; i < entry.begins.size(); ++i)
    next.begins[i].store(entry.begins[i].load(std::memory_order_relaxed) +
                             programs[program].streams[i].size(),
                         std::memory_order_relaxed);
  count.store(step + 1, std::memory_order_release);
}

Position StepSequence::positionOf(uint32_t stream, uint64_t sequence) const {
  int64_t step =
      std::max<int64_t>(count.load(std::memory_order_acquire) - 1, 0);
  const int64_t oldest = std::max<int64_t>(step - kStepsInFlight, 0);
  while (step > oldest && beginOf(stream, step) > sequence)
    --step;
  const uint64_t begin = beginOf(stream, step);
  return {step, static_cast<uint32_t>(sequence - std::min(begin, sequence))};
}

bool StepSequence::isChange(int64_t step) const {
  if (step == 0)
    return false;
  const StreamPrograms &programs = programOf(step);
  return !programs.leadUsers.empty() ||
         programs.step != programOf(step - 1).step;
}

} // namespace bagua::runtime
