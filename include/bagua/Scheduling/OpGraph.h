//===- OpGraph.h - One step's ops as index arrays -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What scheduling needs to know of a step: which ops the program runs and which
// the runtime, what each waits for, what it costs, and which state it reads and
// leaves behind. Passes read a step into it; a search makes one from a plan of
// the communication alone.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_SCHEDULING_OPGRAPH_H
#define BAGUA_SCHEDULING_OPGRAPH_H

#include "bagua/Scheduling/CollectiveCost.h"
#include "bagua/Scheduling/TaskGraph.h"

#include <map>
#include <tuple>

namespace bagua {

enum class GraphOpKind : uint8_t {
  /// The program runs it; the runtime all others.
  Compute,
  Collective,
  /// An optimizer's update, in place of the state that it updates.
  Update,
  /// What moves or converts a rank's own elements.
  Local,
};

struct GraphOp {
  GraphOpKind kind = GraphOpKind::Compute;
  /// One of its results is a gradient.
  bool makesGradient = false;
  /// Of compute: whether the program may run it in the next step (LateOps.h).
  bool mayBeLate = false;
  /// Of all but collectives.
  double ns = 0;
  /// It runs on servers, not on the ranks that compute.
  bool isOnServers = false;
  /// Of collectives.
  CollectiveCall call = {};
  /// The operand that is written to memory in the end, as an index into the
  /// op's operands: the gradient of an update. Before it stand the states that
  /// the update overwrites.
  int32_t writtenOperand = 0;
};

/// Ops in a topological order; operands are ops or states. A state is whatever
/// the step finds when it begins, its batch included.
class OpGraph {
public:
  /// An operand: an op's number, or a state's.
  static int32_t state(int32_t number) { return ~number; }
  static bool isState(int32_t operand) { return operand < 0; }
  static int32_t stateOf(int32_t operand) { return ~operand; }

  /// Appends an op; returns its number.
  int32_t add(const GraphOp &op, const std::vector<int32_t> &operands);

  int32_t size() const { return static_cast<int32_t>(ops.size()); }
  const GraphOp &operator[](int32_t op) const { return ops[op]; }
  void setMayBeLate(int32_t op) { ops[op].mayBeLate = true; }
  /// An op's operands, in order.
  struct Range {
    const int32_t *first, *last;
    const int32_t *begin() const { return first; }
    const int32_t *end() const { return last; }
    int32_t operator[](size_t index) const { return first[index]; }
  };
  Range operandsOf(int32_t op) const {
    return {operands.data() + firstOperand[op],
            operands.data() + firstOperand[op + 1]};
  }

  /// By state: the op whose result is its next value; -1 where the step leaves
  /// it alone.
  std::vector<int32_t> yields;

private:
  std::vector<GraphOp> ops;
  std::vector<int32_t> operands;
  std::vector<int32_t> firstOperand = {0};
};

/// Whose links a price names: those of all servers, or of one of each kind,
/// dedicated or co-located, that stands for all. The second is as good for the
/// step's time where no tensor lies on one server alone, and a thousand servers
/// cost no more than one.
enum class ServerLinks { Each, OneOfAKind };

/// Prices, each computed once.
class CollectivePrices {
public:
  explicit CollectivePrices(const ClusterModel &cluster,
                            ServerLinks serverLinks = ServerLinks::Each)
      : cluster(cluster), serverLinks(serverLinks) {}

  const CollectiveCost &of(const CollectiveCall &call);
  const ClusterModel &getCluster() const { return cluster; }

private:
  const ClusterModel &cluster;
  ServerLinks serverLinks;
  std::map<std::tuple<Collective, AxisSet, int64_t, AxisSet, int64_t>,
           CollectiveCost>
      known;
};

/// Who runs when: of each op its stream, and the order in which ops are
/// launched.
struct LaunchSchedule {
  struct Stream {
    std::string name;
    bool isProgram;
  };
  std::vector<Stream> streams;
  /// By op.
  std::vector<int32_t> streamOf;
  std::vector<int32_t> order;
  /// By op: of one that the program runs in the next step, the op of that step
  /// that it runs right before; else -1. Such ops come last in the order.
  std::vector<int32_t> lateBefore;
  /// What an op waits for besides its operands: an op of the runtime's for
  /// others, one of the program's for states that the previous step left.
  struct Delay {
    int32_t op;
    std::vector<int32_t> after;
  };
  std::vector<Delay> delays;

  /// What is wrong with it for the graph: an op that is missing or stands
  /// before what it uses or waits for, or is on a stream of the other side's.
  std::optional<std::string> verify(const OpGraph &graph) const;
};

/// What the simulator plays: tasks in launch order, a late op where the program
/// runs it, so that its task is of the step after the one that it belongs to.
struct PricedTasks {
  TaskGraph graph;
  /// By task: its op.
  std::vector<int32_t> ops;
  /// By rank 0 in a step.
  double bytesSent = 0;
};
PricedTasks tasksOf(const OpGraph &step, const LaunchSchedule &schedule,
                    CollectivePrices &prices);

} // namespace bagua

#endif // BAGUA_SCHEDULING_OPGRAPH_H
