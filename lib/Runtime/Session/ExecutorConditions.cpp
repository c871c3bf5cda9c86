//===- ExecutorConditions.cpp - What an instruction waits for -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Looks for the first condition that does not hold, for a thread to wait for,
// and passes the conditions to queues that wait themselves. Nothing here waits.
//
//===----------------------------------------------------------------------===//
#include "Session/Executor.h"
#include "Session/StepConditions.h"

namespace bagua::runtime {

/// The collective that must be enqueued before the instruction at `at`, if
/// their order matters.
Executor::Blocker Executor::findLaunchBefore(Position at,
                                             int64_t launch) const {
  const uint32_t launching = sequences.launchStream();
  const uint64_t target = sequences.beginOf(launching, at.step) + launch;
  const uint64_t launched = launches.value();
  if (launched >= target)
    return {};
  const Position next = sequences.positionOf(launching, launched);
  const auto &order = sequences.programOf(next.step).launches;
  if (next.slot >= order.size())
    return {}; // long done, as in findBlocker()
  const StreamPoint first = order[next.slot];
  return {&launches, target, -1, first.stream,
          sequences.countAt(first, next.step) + 1};
}

/// The first condition that keeps an instruction from being enqueued. Its
/// position is right if it is still the stream's next afterwards.
Executor::Blocker Executor::findBlocker(const Stream &stream,
                                        Position at) const {
  const Slot *slot = slotAt(stream, at);
  if (!slot)
    return {}; // long done: awaitBlockers() finds that out
  const ScheduledInstruction &next = *slot->scheduled;
  Blocker blocker;
  auto onTensor = [&](uint32_t tensor, int64_t step) {
    const uint64_t count = countOf(step);
    if (isGiven(tensor, count))
      return false;
    blocker = {follows ? &promised[tensor] : &given[tensor], count, tensor, -1,
               0};
    return true;
  };
  auto onStream = [&](uint32_t other, uint64_t target) {
    Stream &of = *streams[other];
    if (isPassed(of, target, *stream.queue))
      return false;
    blocker = {&progressOf(of, *stream.queue), target, -1, other, target};
    return true;
  };
  if (!findCondition(sequences, stream.number, at, next.waits, onTensor,
                     onStream) &&
      ordersLaunches && next.launch >= 0)
    blocker = findLaunchBefore(at, next.launch);
  return blocker;
}

/// Has a stream's queue await what its next instruction waits for.
void Executor::followConditions(Stream &stream, Position at,
                                const Conditions &waits) {
  auto follow = [&](Timeline &timeline, uint64_t target) {
    if (!timeline.reached(target))
      stream.queue->follow(timeline, target);
    return false;
  };
  findCondition(
      sequences, stream.number, at, waits,
      [&](uint32_t tensor, int64_t step) {
        return follow(given[tensor], countOf(step));
      },
      [&](uint32_t other, uint64_t target) {
        return follow(streams[other]->completed, target);
      });
}

} // namespace bagua::runtime
