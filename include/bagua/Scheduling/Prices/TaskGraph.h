//===- TaskGraph.h - One step as tasks on streams and links ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The input of the simulator: the tasks of one step, in issue order, with the
// stream of each task, the links it occupies and the tasks it waits for, in
// this step or in earlier ones. Plain index arrays.
//
// One worker stands for all workers, because all run the same step. A link is
// the one through which this worker sends or receives; the traffic of all
// workers that share the link is counted in.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_SCHEDULING_PRICES_TASKGRAPH_H
#define BAGUA_SCHEDULING_PRICES_TASKGRAPH_H

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace bagua {

/// How tasks of different streams share a link.
enum class LinkSharing {
  /// All active tasks get the same fraction of the rate that they would have
  /// alone.
  Fair,
  /// The task that came first has the link until it ends.
  Fifo,
};

struct LinkModel {
  LinkSharing sharing = LinkSharing::Fair;
  /// The part of the rate that is left while the program computes: compute uses
  /// the same bus, or the device has to make copies.
  double overlappedRate = 1;
  /// How long `overlappedRate` lasts from the start of each of the program's
  /// ops.
  double overlappedNs = std::numeric_limits<double>::infinity();
  /// The part of the rate that is left while more than one message is in flight
  /// on the link: threads take turns on few cores.
  double concurrentRate = 1;
};

/// The part of a link that one task occupies: `ns` at the link's full rate.
struct LinkUse {
  int32_t link;
  double ns;
};

/// `stepsBack` is 0 for a task of the same step, 1 for the previous step's.
struct TaskDependency {
  int32_t task;
  int32_t stepsBack;
};

/// In which order a stream starts its tasks, and how many at once.
struct StreamModel {
  std::string name;
  /// The stream is the program's compute, which slows down beside
  /// communication.
  bool isCompute = false;
  /// Tasks that could start do so by ascending priority instead of in issue
  /// order.
  bool byPriority = false;
  /// Several tasks may be in flight, of at most so many bytes together; 0 is
  /// one at a time. A task that is larger than the credit goes alone.
  int64_t creditBytes = 0;
  /// The most tasks in flight with a credit; 0: any number.
  int32_t maxInFlight = 0;
};

/// Tasks are numbered in issue order.
struct Task {
  int32_t stream = 0;
  /// A computation's duration, or the time before a message's bytes flow.
  double fixedNs = 0;
  /// Bytes that count against the stream's credit.
  int64_t bytes = 0;
  /// On streams by priority, a task of a smaller number starts first.
  int32_t priority = 0;
  /// The task shares the program's device evenly with compute.
  bool usesDevice = false;
};

class TaskGraph {
public:
  std::vector<StreamModel> streams;
  std::vector<LinkModel> links;
  /// The factor by which compute takes longer while bytes flow.
  double communicationSlowdown = 1;
  /// The time that an idle stream takes before its next task begins.
  double wakeNs = 0;

  /// Appends a task; returns its number.
  int32_t add(const Task &task, const std::vector<LinkUse> &uses,
              const std::vector<TaskDependency> &dependencies);

  void setPriority(int32_t task, int32_t priority) {
    tasks[task].priority = priority;
  }

  int32_t size() const { return static_cast<int32_t>(tasks.size()); }
  /// The number of uses of links by all tasks.
  int64_t useCount() const { return static_cast<int64_t>(uses.size()); }
  const Task &operator[](int32_t task) const { return tasks[task]; }

  /// Half-open ranges of a task's entries.
  const LinkUse *usesBegin(int32_t task) const {
    return uses.data() + firstUse[task];
  }
  const LinkUse *usesEnd(int32_t task) const {
    return uses.data() + firstUse[task + 1];
  }
  const TaskDependency *dependenciesBegin(int32_t task) const {
    return dependencies.data() + firstDependency[task];
  }
  const TaskDependency *dependenciesEnd(int32_t task) const {
    return dependencies.data() + firstDependency[task + 1];
  }

  /// Describes what is wrong with the graph: a number out of range, a negative
  /// time, a dependency on a later task of the same step, no task at all.
  /// Nothing if it is sound.
  std::optional<std::string> check() const;

private:
  std::vector<Task> tasks;
  std::vector<LinkUse> uses;
  std::vector<TaskDependency> dependencies;
  std::vector<int32_t> firstUse = {0}, firstDependency = {0};
};

} // namespace bagua

#endif // BAGUA_SCHEDULING_PRICES_TASKGRAPH_H
