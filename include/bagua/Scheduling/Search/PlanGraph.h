//===- PlanGraph.h - The graph, time and memory of a plan -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One walk over the messages of a plan, and three results computed from it
// without IR: the step's graph as the passes write it, its time, and the bytes
// of its arenas.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_SCHEDULING_SEARCH_PLANGRAPH_H
#define BAGUA_SCHEDULING_SEARCH_PLANGRAPH_H

#include "bagua/Scheduling/Prices/OpGraph.h"
#include "bagua/Scheduling/Search/CommunicationPlan.h"

namespace bagua {

/// All_reduces of the step that travel as one bucket.
struct MessageGroup {
  /// Their numbers in the step's graph; the bucket stands in the place of the
  /// last one.
  std::vector<int32_t> reduces;
  /// The bytes of the bucket, in its own element type.
  int64_t bytes = 0;
  int64_t parts = 1;
};

/// How a group of one message is reduced if its updates run on parts, between
/// the halves of the all_reduce. A bucket of several tensors is striped: each
/// tensor is padded to equal parts, so that each rank has a part of each
/// tensor.
struct CutUpdates {
  struct Tensor {
    const CuttableUpdate *update;
    int64_t elementBytes;
    /// Elements of the tensor that a rank has: at first, and after each
    /// scatter.
    std::vector<int64_t> counts;
  };
  std::vector<Tensor> tensors;
  /// Steps from whole gradients to parts, and from parts of params to whole
  /// params. A cast at either end of the first list converts what the bucket
  /// then holds.
  std::vector<MessageStage> toParts, toWholes;
};

/// Receives a walk over a plan: for each group its begin, then the stages of
/// each part in order (or how the group is cut), and its end.
class MessageVisitor {
public:
  virtual ~MessageVisitor() = default;
  virtual void begin(const MessageGroup &group) = 0;
  virtual void visitMessage(const std::vector<MessageStage> &stages) = 0;
  virtual void visitCut(const CutUpdates &cut) = 0;
  virtual void end() = 0;
};

/// Visits the buckets of a sound plan in its order, then the step's other
/// all_reduces.
void forEachMessage(const CommunicationProblem &problem,
                    const CommunicationPlan &plan, MessageVisitor &visitor);

/// The step with the plan's communication in place of the all_reduces, as the
/// passes write it. O(n log n).
OpGraph applyPlan(const CommunicationProblem &problem,
                  const CommunicationPlan &plan);

/// The bytes of each bucket that bagua-place will lay into the runtime's
/// arenas: the whole bucket if it has several gradients or parts, narrowed
/// copies, and what the phases of a form leave on a rank or server.
std::vector<int64_t> arenaBytesOfBuckets(const CommunicationProblem &problem,
                                         const CommunicationPlan &plan);
/// The size of the arenas, for buckets, the other all_reduces and all else.
int64_t arenaBytes(const CommunicationProblem &problem,
                   const CommunicationPlan &plan);

/// The time of a sound plan, which simulatePlan schedules and simulates.
struct PlanTime {
  double stepNs;
  /// The work of the simulation: tasks and their uses of links, times the
  /// number of steps that were played.
  int64_t work;
  /// The number of collectives in the whole step.
  int64_t collectives;
};
PlanTime simulatePlan(const CommunicationProblem &problem,
                      const CommunicationPlan &plan, CollectivePrices &prices);
} // namespace bagua

#endif // BAGUA_SCHEDULING_SEARCH_PLANGRAPH_H
