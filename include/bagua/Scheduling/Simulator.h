//===- Simulator.h - How long a step takes --------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plays a task graph step after step, by discrete events, until the time from
// one step's start to the next one's no longer changes. The step's end is no
// barrier: what the next step needs is what its tasks depend on.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_SCHEDULING_SIMULATOR_H
#define BAGUA_SCHEDULING_SIMULATOR_H

#include "bagua/Scheduling/TaskGraph.h"

namespace bagua {

/// When one task of one step ran.
struct TaskTimes {
  double startNs = 0;
  double endNs = 0;
  /// What it started right after: a task of the same stream or one that it
  /// depends on, and how many steps back; -1 for the first.
  int32_t cause = -1;
  int32_t causeStepsBack = 0;
};

struct Simulation {
  /// From one step's start to the next one's, once that is steady.
  double stepNs = 0;
  /// Of one step in which the program's compute stood still, waiting.
  double exposedNs = 0;
  /// Of one step in which bytes flowed over each link, and each stream had a
  /// task.
  std::vector<double> linkBusyNs, streamBusyNs;
  /// Of the last step that was played whole, by task; times since its start.
  std::vector<TaskTimes> tasks;
  /// Tasks of that step, from its start to its last end, each the cause of the
  /// next one's start. Where the chain goes back into an earlier step, it ends.
  std::vector<int32_t> criticalPath;
  /// Steps until the period was steady; kMaxSimulatedSteps if it never was, and
  /// stepNs is then a mean.
  int steps = 0;
};

inline constexpr int kMaxSimulatedSteps = 64;

/// Plays a sound graph. Of the messages that a queue has in flight (one stream
/// with credit, or streams `x`, `x.1`, `x.2`) the first has a link to itself,
/// as down one connection, so that its bytes hide the latency of the next;
/// different queues share. Deterministic: no hash order, and ties go by stream.
/// O(tasks * steps * streams), about 10^7 tasks a second with few streams.
Simulation simulate(const TaskGraph &graph);

} // namespace bagua

#endif // BAGUA_SCHEDULING_SIMULATOR_H
