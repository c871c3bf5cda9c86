//===- TaskGraph.h - One step as tasks on streams and links ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the simulator plays: the tasks of one step, in issue order, with the
// stream each is on, the links it occupies and the tasks it waits for, in this
// step or in earlier ones. Plain index arrays.
//
// One worker stands for all, for all run the same step: a link is the one that
// this worker sends through or receives by, with the traffic of all workers
// that share it counted in.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_SCHEDULING_TASKGRAPH_H
#define BAGUA_SCHEDULING_TASKGRAPH_H

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace bagua {

/// How tasks of different streams share a link.
enum class LinkSharing {
  /// All that are active get the same fraction of what they could have alone.
  Fair,
  /// The one that came first has it until it ends.
  Fifo,
};

struct LinkModel {
  LinkSharing sharing = LinkSharing::Fair;
  /// What is left of its rate while the program computes: a bus that compute
  /// uses, too, or copies that the device has to make.
  double overlappedRate = 1;
  /// So long from the start of each of the program's ops.
  double overlappedNs = std::numeric_limits<double>::infinity();
  /// What is left of its rate while more than one message is in flight there:
  /// threads that take turns on few cores.
  double concurrentRate = 1;
};

/// What one task occupies of a link: `ns` at the link's full rate.
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
  /// The program's compute: it slows down beside communication.
  bool isCompute = false;
  /// By ascending priority among those that could start, instead of in issue
  /// order.
  bool byPriority = false;
  /// More than one task may be in flight, of at most so many bytes together; 0
  /// is one at a time. A task that is larger than the credit goes alone.
  int64_t creditBytes = 0;
  /// And at most so many tasks; 0: any number.
  int32_t maxInFlight = 0;
};

/// Tasks are numbered in issue order.
struct Task {
  int32_t stream = 0;
  /// A computation's duration, or what passes before a message's bytes flow.
  double fixedNs = 0;
  /// Counted against the stream's credit.
  int64_t bytes = 0;
  /// Smaller starts first on streams that go by it.
  int32_t priority = 0;
  /// It shares the program's device evenly with its compute.
  bool usesDevice = false;
};

class TaskGraph {
public:
  std::vector<StreamModel> streams;
  std::vector<LinkModel> links;
  /// By how much compute takes longer while bytes flow.
  double communicationSlowdown = 1;
  /// What a stream that stood still takes before its next task begins.
  double wakeNs = 0;

  /// Appends a task; returns its number.
  int32_t add(const Task &task, const std::vector<LinkUse> &uses,
              const std::vector<TaskDependency> &dependencies);

  void setPriority(int32_t task, int32_t priority) {
    tasks[task].priority = priority;
  }

  int32_t size() const { return static_cast<int32_t>(tasks.size()); }
  /// Of links, by all tasks.
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

  /// What is wrong with the graph: a number out of range, a negative time, a
  /// dependency on a later task of the same step, no task at all. Nothing if it
  /// is sound.
  std::optional<std::string> check() const;

private:
  std::vector<Task> tasks;
  std::vector<LinkUse> uses;
  std::vector<TaskDependency> dependencies;
  std::vector<int32_t> firstUse = {0}, firstDependency = {0};
};

} // namespace bagua

#endif // BAGUA_SCHEDULING_TASKGRAPH_H
