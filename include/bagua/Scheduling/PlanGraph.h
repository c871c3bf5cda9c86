//===- PlanGraph.h - What a plan of communication leads to ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One walk over the messages of a plan, and what is made of it without IR: the
// step's graph as the passes write it, its time, and the bytes of its arenas.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_SCHEDULING_PLANGRAPH_H
#define BAGUA_SCHEDULING_PLANGRAPH_H

#include "bagua/Scheduling/CommunicationPlan.h"
#include "bagua/Scheduling/OpGraph.h"

namespace bagua {

/// All_reduces of the step that travel as one bucket.
struct MessageGroup {
  /// Their numbers in the step's graph; the bucket stands where the last does.
  std::vector<int32_t> reduces;
  /// The bucket's, in its own element type.
  int64_t bytes = 0;
  int64_t parts = 1;
};

/// How a group of one message is reduced whose updates run on parts, between
/// the halves of the all_reduce. A bucket of several tensors is striped: each
/// of them is padded to equal parts, so that a rank has a part of each.
struct CutUpdates {
  struct Tensor {
    const CuttableUpdate *update;
    int64_t elementBytes;
    /// Elements that a rank has of it: at first, and after each scatter.
    std::vector<int64_t> counts;
  };
  std::vector<Tensor> tensors;
  /// From whole gradients to parts, and from parts of params to whole ones. A
  /// cast that begins or ends the first is of what the bucket then holds.
  std::vector<MessageStep> toParts, toWholes;
};

/// What a walk over a plan tells: of each group its begin, the steps of each of
/// its parts in order or how it is cut, and its end.
class MessageVisitor {
public:
  virtual ~MessageVisitor() = default;
  virtual void begin(const MessageGroup &group) = 0;
  virtual void visitMessage(const std::vector<MessageStep> &steps) = 0;
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

/// What bagua-place will lay of each bucket into the runtime's arenas: all of
/// it where it has several gradients or parts, narrowed copies, and what the
/// phases of a form leave on a rank or server.
std::vector<int64_t> arenaBytesOfBuckets(const CommunicationProblem &problem,
                                         const CommunicationPlan &plan);
/// The size of the arenas, with the other all_reduces and all else in them.
int64_t arenaBytes(const CommunicationProblem &problem,
                   const CommunicationPlan &plan);

/// Schedules and simulates a sound plan.
struct PlanTime {
  double stepNs;
  /// What it took to find out: tasks and their uses of links, as often as they
  /// were played.
  int64_t work;
  /// As many as the whole step has.
  int64_t collectives;
};
PlanTime simulatePlan(const CommunicationProblem &problem,
                      const CommunicationPlan &plan, CollectivePrices &prices);
} // namespace bagua

#endif // BAGUA_SCHEDULING_PLANGRAPH_H
