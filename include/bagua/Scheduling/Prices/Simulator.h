//===- Simulator.h - How long a step takes --------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plays a task graph step after step, by discrete events, until the time from
// one step's start to the next one's no longer changes. The end of a step is no
// barrier: tasks of the next step wait only for the tasks that they depend on.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_SCHEDULING_PRICES_SIMULATOR_H
#define BAGUA_SCHEDULING_PRICES_SIMULATOR_H

#include "bagua/Scheduling/Prices/TaskGraph.h"

namespace bagua {

/// When one task of one step ran.
struct TaskTimes {
  double startNs = 0;
  double endNs = 0;
  /// The task after which this one started at once, a task of the same stream
  /// or a dependency, and how many steps back it is; -1 for the first task.
  int32_t cause = -1;
  int32_t causeStepsBack = 0;
};

struct Simulation {
  /// The time from one step's start to the next one's, in the steady state.
  double stepNs = 0;
  /// The time of one step in which the program's compute waited.
  double exposedNs = 0;
  /// In one step: the time for which each link was busy at its full rate, and
  /// the time in which each stream had a task in flight.
  std::vector<double> linkBusyNs, streamBusyNs;
  /// The times of each task of the last step that was played whole, since its
  /// start.
  std::vector<TaskTimes> tasks;
  /// Tasks of that step up to its last end, each the cause of the next one's
  /// start. The path begins where a cause lies in an earlier step.
  std::vector<int32_t> criticalPath;
  /// Steps until the period was steady; kMaxSimulatedSteps if it never was, in
  /// which case stepNs is a mean.
  int steps = 0;
};

inline constexpr int kMaxSimulatedSteps = 64;

/// Plays a sound graph. Among the messages that a queue has in flight (one
/// stream with credit, or streams `x`, `x.1`, `x.2`) the first has a link to
/// itself, as if all went down one connection, so that its bytes hide the
/// latency of the next; different queues share links. Deterministic: there is
/// no hash order, and ties go by stream. O(tasks * steps * streams), about 10^7
/// tasks a second with few streams.
Simulation simulate(const TaskGraph &graph);

} // namespace bagua

#endif // BAGUA_SCHEDULING_PRICES_SIMULATOR_H
