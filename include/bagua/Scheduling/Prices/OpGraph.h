//===- OpGraph.h - One step's ops as index arrays -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The facts about a step that scheduling needs: which ops the program runs and
// which the runtime, what each op waits for, what it costs, and which states it
// reads and leaves behind. Passes read a step into a graph; a search makes one
// from a plan of the communication alone.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_SCHEDULING_PRICES_OPGRAPH_H
#define BAGUA_SCHEDULING_PRICES_OPGRAPH_H

#include "bagua/Scheduling/Prices/CollectiveCost.h"
#include "bagua/Scheduling/Prices/TaskGraph.h"

#include <map>
#include <tuple>

namespace bagua {

enum class GraphOpKind : uint8_t {
  /// Run by the program; all other kinds are run by the runtime.
  Compute,
  Collective,
  /// An optimizer's update, in place of the state that it updates.
  Update,
  /// Moves or converts a rank's own elements.
  Local,
};

struct GraphOp {
  GraphOpKind kind = GraphOpKind::Compute;
  /// One of its results is a gradient.
  bool makesGradient = false;
  /// For compute: whether the program may run the op in the next step
  /// (LateOps.h).
  bool mayBeLate = false;
  /// The duration of all ops but collectives.
  double ns = 0;
  /// The op runs on servers, not on the ranks that compute.
  bool isOnServers = false;
  /// For collectives.
  SizedCollective call = {};
  /// The operand that the op writes to memory, as an index into its operands:
  /// for an update, its gradient. The operands before it are the states that
  /// the update overwrites.
  int32_t writtenOperand = 0;
};

/// Ops in a topological order; operands are ops or states. A state is any value
/// that the step finds when it begins, including its batch.
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
  void setNs(int32_t op, double ns) { ops[op].ns = ns; }
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

  /// By state: the op whose result is its next value; -1 if the step leaves the
  /// state unchanged.
  std::vector<int32_t> yields;

private:
  std::vector<GraphOp> ops;
  std::vector<int32_t> operands;
  std::vector<int32_t> firstOperand = {0};
};

/// Which servers' links a price names: those of all servers, or those of one
/// dedicated and one co-located server, each of which stands for all of its
/// kind. The second gives the same step time if no tensor lies on one server
/// alone, and a thousand servers then cost no more than one.
enum class ServerLinks { Each, OneOfAKind };

/// Prices of collectives, each computed once.
class CollectivePrices {
public:
  explicit CollectivePrices(const ClusterModel &cluster,
                            ServerLinks serverLinks = ServerLinks::Each)
      : cluster(cluster), serverLinks(serverLinks) {}

  const CollectiveCost &of(const SizedCollective &call);
  const ClusterModel &getCluster() const { return cluster; }

private:
  const ClusterModel &cluster;
  ServerLinks serverLinks;
  std::map<std::tuple<Collective, AxisSet, int64_t, AxisSet, int64_t>,
           CollectiveCost>
      known;
};

/// The stream of each op, and the order in which ops are launched.
struct LaunchSchedule {
  struct Stream {
    std::string name;
    bool isProgram;
  };
  std::vector<Stream> streams;
  /// The stream of each op.
  std::vector<int32_t> streamOf;
  std::vector<int32_t> order;
  /// By op: if the program runs the op in the next step, the op of that step
  /// right before which it runs; else -1. Such ops come last in the order.
  std::vector<int32_t> lateBefore;
  /// The waits of an op besides those for its operands. Ops of the runtime wait
  /// for other ops, ops of the program for states that the previous step left.
  struct Delay {
    int32_t op;
    std::vector<int32_t> after;
  };
  std::vector<Delay> delays;

  /// Describes what is wrong with the schedule for this graph: an op is
  /// missing, stands before an op that it uses or waits for, or is on a stream
  /// of the other side. Nothing if it is sound.
  std::optional<std::string> verify(const OpGraph &graph) const;
};

/// The input of the simulator: tasks in launch order. A late op stands where
/// the program runs it, so its task belongs to the step after the op's own.
struct PricedTasks {
  TaskGraph graph;
  /// The op of each task.
  std::vector<int32_t> ops;
  /// The bytes that rank 0 sends in a step.
  double bytesSent = 0;
};
PricedTasks tasksOf(const OpGraph &step, const LaunchSchedule &schedule,
                    CollectivePrices &prices);

} // namespace bagua

#endif // BAGUA_SCHEDULING_PRICES_OPGRAPH_H
