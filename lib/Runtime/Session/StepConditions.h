//===- StepConditions.h - The conditions of an instruction in a step ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The conditions of a stream's program hold for an iteration and the one before
// it, whatever their numbers. In a run they are of certain steps: tensors that
// are given in one, and streams that have completed a number of instructions
// since start().
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_SESSION_STEPCONDITIONS_H
#define BAGUA_LIB_RUNTIME_SESSION_STEPCONDITIONS_H

#include "Session/StepSequence.h"

#include <cstddef>
#include <cstdint>

namespace bagua::runtime {

/// The conditions at the beginning of a step that waits for all of the step
/// before (StepSequence::isChange). See findCondition().
template <typename OnTensor, typename OnStream>
bool findConditionOfChange(const StepSequence &sequences, uint32_t stream,
                           int64_t step, OnTensor onTensor, OnStream onStream) {
  const StreamPrograms &before = sequences.programOf(step - 1);
  for (uint32_t tensor = 0; tensor < before.firstWaiter.size(); ++tensor)
    if (before.firstWaiter[tensor] >= 0 && onTensor(tensor, step - 1))
      return true;
  for (uint32_t other = 0; other < before.streams.size(); ++other)
    if (const uint64_t target = sequences.beginOf(other, step);
        other != stream && target > 0 && onStream(other, target))
      return true;
  return false;
}

/// Calls `onTensor(tensor, step)` or `onStream(stream, target)` for each
/// condition of the instruction at a position of `stream`, until one of them
/// returns true; returns whether one did. The tensor that the program gives
/// last comes first.
template <typename OnTensor, typename OnStream>
bool findCondition(const StepSequence &sequences, uint32_t stream, Position at,
                   const Conditions &waits, OnTensor onTensor,
                   OnStream onStream) {
  for (size_t i = waits.ready.size(); i-- > 0;)
    if (onTensor(waits.ready[i], at.step))
      return true;
  for (StreamPoint point : waits.after)
    if (onStream(point.stream, sequences.countAt(point, at.step)))
      return true;
  const bool hasPrevious =
      !waits.readyPrevious.empty() || !waits.afterPrevious.empty();
  if (at.step == 0 || (at.slot > 0 && !hasPrevious))
    return false;
  // Instructions behind the first one of a stream come after what it awaits.
  if (sequences.isChange(at.step))
    return at.slot == 0 && findConditionOfChange(sequences, stream, at.step,
                                                 onTensor, onStream);
  for (size_t i = waits.readyPrevious.size(); i-- > 0;)
    if (onTensor(waits.readyPrevious[i], at.step - 1))
      return true;
  for (StreamPoint point : waits.afterPrevious)
    if (onStream(point.stream, sequences.countOfPrevious(point, at.step)))
      return true;
  return false;
}

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_SESSION_STEPCONDITIONS_H
