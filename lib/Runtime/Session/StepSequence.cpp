//===- StepSequence.cpp - Where a run's instructions are in its steps -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The beginnings of the newest steps, in a ring.
//
//===----------------------------------------------------------------------===//
#include "Session/StepSequence.h"

#include <utility>

namespace bagua::runtime {

void StepSequence::start(std::vector<StreamPrograms> newPrograms) {
  programs = std::move(newPrograms);
  for (Entry &entry : entries)
    entry.begins = std::vector<std::atomic<uint64_t>>(launchStream() + 1);
  count.store(0, std::memory_order_release);
}

void StepSequence::open(int64_t step, uint32_t program) {
  Entry &entry = entries[static_cast<size_t>(step) % kKept];
  Entry &next = entries[static_cast<size_t>(step + 1) % kKept];
  entry.program.store(program, std::memory_order_relaxed);
  const StreamPrograms &added = programs[program];
  for (uint32_t i = 0; i < entry.begins.size(); ++i) {
    const size_t length =
        i == launchStream() ? added.launches.size() : added.streams[i].size();
    next.begins[i].store(entry.begins[i].load(std::memory_order_relaxed) +
                             length,
                         std::memory_order_relaxed);
  }
  count.store(step + 1, std::memory_order_release);
}

bool StepSequence::isChange(int64_t step) const {
  if (step == 0)
    return false;
  const StreamPrograms &programs = programOf(step);
  return !programs.leadUsers.empty() ||
         programs.step != programOf(step - 1).step;
}

} // namespace bagua::runtime
