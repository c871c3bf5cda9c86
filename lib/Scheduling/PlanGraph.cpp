//===- PlanGraph.cpp - What a plan of communication leads to --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The walk over a plan's messages, and its visitors.
//
//===----------------------------------------------------------------------===//
#include "bagua/Scheduling/PlanGraph.h"

#include "bagua/Scheduling/ServerBalance.h"
#include "bagua/Scheduling/Simulator.h"
#include "bagua/Support/Parts.h"

#include <algorithm>
#include <cassert>
#include <numeric>
#include <queue>

using namespace bagua;

//===----------------------------------------------------------------------===//
// The walk
//===----------------------------------------------------------------------===//

namespace {
/// A message of a group.
struct GroupMessage {
  Message message;
  AllReduceForm form;

  bool isServed() const {
    return shapeOf(form.kind).summedBy == SummedBy::Servers;
  }
};

struct PlannedGroup {
  MessageGroup group;
  std::vector<GroupMessage> messages;
};
} // namespace

static AllReduceForm formOf(const ClusterModel &cluster, FormKind kind,
                            const Message &message) {
  return formOfKind(cluster, message.bytesOnWire(), message.over, kind);
}

/// Calls `visit` with each group of the plan.
template <typename Visit>
static void forEachGroup(const CommunicationProblem &problem,
                         const CommunicationPlan &plan, Visit visit) {
  std::vector<int32_t> order = planOrder(problem.bucketing);
  auto next = order.begin();
  PlannedGroup planned;
  for (const PlannedBucket &bucket : plan.buckets) {
    const StepGradient &like = problem.gradients[*next];
    int64_t count = 0;
    planned.group = {{}, 0, bucket.parts};
    for (int32_t i = 0; i < bucket.gradients; ++i, ++next) {
      planned.group.reduces.push_back(problem.gradients[*next].op);
      count += problem.gradients[*next].count;
    }
    planned.group.bytes = count * like.elementBytes;
    planned.messages.clear();
    for (int64_t part = 0; part < bucket.parts; ++part) {
      Message message =
          messageOf(bucket, like, countOfPart(count, bucket.parts, part));
      planned.messages.push_back(
          {message,
           formOf(problem.cluster, bucket.form.ofPart(part), message)});
    }
    visit(planned);
  }
  const PlannedBucket otherwise{1, 1, {}, commonWire(plan.buckets)};
  for (size_t i = 0; i < problem.others.size(); ++i) {
    const PlannedBucket &decided =
        plan.others.empty() ? otherwise : plan.others[i];
    const StepReduce &reduce = problem.others[i];
    Message message = reduce.message;
    if (reduce.isNarrowable)
      message.wire = decided.wire;
    planned.group = {{reduce.op}, message.bytes(), 1};
    planned.messages = {
        {message, formOf(problem.cluster, decided.form.ofPart(0), message)}};
    visit(planned);
  }
}

/// The server of each message that servers sum, in the order of the walk. What
/// is equally large is assigned in the order of the step.
static std::vector<int64_t> assignServers(const CommunicationProblem &problem,
                                          const CommunicationPlan &plan) {
  struct Pushed {
    int32_t place;
    int64_t bytes;
  };
  std::vector<Pushed> pushed;
  forEachGroup(problem, plan, [&](const PlannedGroup &planned) {
    for (const GroupMessage &entry : planned.messages)
      if (entry.isServed())
        pushed.push_back(
            {planned.group.reduces.back(),
             servedBytes(problem.cluster, entry.message, entry.form)});
  });
  std::vector<size_t> order(pushed.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return pushed[a].place < pushed[b].place;
  });
  std::vector<int64_t> bytes;
  bytes.reserve(order.size());
  for (size_t index : order)
    bytes.push_back(pushed[index].bytes);
  std::vector<int64_t> assigned =
      balanceServers(bytes, serverCapacities(problem.cluster));
  std::vector<int64_t> servers(pushed.size());
  for (size_t i = 0; i < order.size(); ++i)
    servers[order[i]] = assigned[i];
  return servers;
}

void bagua::forEachMessage(const CommunicationProblem &problem,
                           const CommunicationPlan &plan,
                           MessageVisitor &visitor) {
  std::vector<int64_t> servers;
  if (plan.isBalanced)
    servers = assignServers(problem, plan);
  auto server = servers.begin();
  forEachGroup(problem, plan, [&](const PlannedGroup &planned) {
    visitor.begin(planned.group);
    for (const GroupMessage &entry : planned.messages) {
      bool isAssigned = entry.isServed() && server != servers.end();
      visitor.visitMessage(expandMessage(problem.cluster, entry.message,
                                         entry.form,
                                         isAssigned ? *server++ : -1));
    }
    visitor.end();
  });
}

//===----------------------------------------------------------------------===//
// Visitors
//===----------------------------------------------------------------------===//

namespace {
/// A new graph under construction: the base's ops but for the all_reduces, and
/// more, each with a place in the base's order.
class PlanApplier : public MessageVisitor {
public:
  PlanApplier(const CommunicationProblem &problem,
              const CommunicationPlan &plan)
      : problem(problem), plan(plan),
        base(plan.isUpdatedByRuntime ? problem.byRuntime : problem.byProgram),
        replacedBy(base.size(), -1) {}

  OpGraph write() {
    forEachMessage(problem, plan, *this);
    return sort();
  }

  void begin(const MessageGroup &group) override;
  void visitMessage(const std::vector<MessageStep> &steps) override;
  void end() override;

private:
  struct NewOp {
    GraphOp op;
    /// Ops of the base, then new ones; states.
    std::vector<int32_t> operands;
    int32_t place;
  };
  int32_t add(GraphOp op, std::vector<int32_t> operands);
  int32_t addLocal(int64_t movedBytes, std::vector<int32_t> operands);
  OpGraph sort();

  const CommunicationProblem &problem;
  const CommunicationPlan &plan;
  const OpGraph &base;
  std::vector<NewOp> added;
  /// Of an all_reduce: what gives its result now.
  std::vector<int32_t> replacedBy;
  /// The all_reduces of the group that is visited.
  std::vector<int32_t> reduces;
  bool isCut = false;
  /// Where its ops belong, what its messages are made of, and their results.
  int32_t place = 0;
  int32_t whole = 0;
  std::vector<int32_t> results;
};
} // namespace

int32_t PlanApplier::add(GraphOp op, std::vector<int32_t> operands) {
  added.push_back({op, std::move(operands), place});
  return base.size() + static_cast<int32_t>(added.size()) - 1;
}

int32_t PlanApplier::addLocal(int64_t movedBytes,
                              std::vector<int32_t> operands) {
  GraphOp op;
  op.kind = GraphOpKind::Local;
  op.ns = problem.cluster.localNs(kOtherWork, movedBytes);
  return add(op, std::move(operands));
}

/// What lies in a bucket lies there from the start, so concat and split move
/// nothing.
void PlanApplier::begin(const MessageGroup &group) {
  reduces = group.reduces;
  isCut = group.parts > 1;
  place = reduces.back();
  std::vector<int32_t> from;
  from.reserve(reduces.size());
  for (int32_t reduce : reduces)
    from.push_back(base.operandsOf(reduce)[0]);
  whole = from.size() > 1 ? addLocal(0, from) : from.front();
  if (isCut)
    whole = addLocal(0, {whole});
  results.clear();
}

void PlanApplier::visitMessage(const std::vector<MessageStep> &steps) {
  int32_t value = whole;
  for (const MessageStep &step : steps) {
    if (step.kind != MessageStep::Kind::Collective) {
      value = addLocal(step.movedBytes, {value});
      continue;
    }
    GraphOp op;
    op.kind = GraphOpKind::Collective;
    op.call = step.call;
    value = add(op, {value});
  }
  results.push_back(value);
}

void PlanApplier::end() {
  int32_t value = isCut ? addLocal(0, results) : results.front();
  if (reduces.size() > 1)
    value = addLocal(0, {value});
  for (int32_t reduce : reduces)
    replacedBy[reduce] = value;
}

/// Numbers all ops anew: of those whose operands are there, the first in place.
OpGraph PlanApplier::sort() {
  int32_t baseSize = base.size();
  int32_t size = baseSize + static_cast<int32_t>(added.size());
  std::vector<std::vector<int32_t>> operands(size);
  auto resolve = [&](int32_t operand) {
    bool isReplaced =
        operand >= 0 && operand < baseSize && replacedBy[operand] >= 0;
    return isReplaced ? replacedBy[operand] : operand;
  };
  std::vector<int32_t> missing(size, 0), firstUser(size + 1, 0);
  for (int32_t op = 0; op < size; ++op) {
    if (op < baseSize && replacedBy[op] >= 0)
      continue;
    if (op < baseSize)
      operands[op].assign(base.operandsOf(op).begin(),
                          base.operandsOf(op).end());
    else
      operands[op] = std::move(added[op - baseSize].operands);
    for (int32_t &operand : operands[op]) {
      operand = resolve(operand);
      if (OpGraph::isState(operand))
        continue;
      ++missing[op];
      ++firstUser[operand + 1];
    }
  }
  std::partial_sum(firstUser.begin(), firstUser.end(), firstUser.begin());
  std::vector<int32_t> users(firstUser.back()),
      next(firstUser.begin(), firstUser.end() - 1);
  for (int32_t op = 0; op < size; ++op)
    for (int32_t operand : operands[op])
      if (!OpGraph::isState(operand))
        users[next[operand]++] = op;

  using Entry = std::pair<int32_t, int32_t>; // place, number
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  auto push = [&](int32_t op) {
    ready.emplace(op < baseSize ? op : added[op - baseSize].place, op);
  };
  for (int32_t op = 0; op < size; ++op)
    if (missing[op] == 0 && (op >= baseSize || replacedBy[op] < 0))
      push(op);
  OpGraph result;
  std::vector<int32_t> numbers(size, -1);
  while (!ready.empty()) {
    int32_t op = ready.top().second;
    ready.pop();
    for (int32_t &operand : operands[op])
      if (!OpGraph::isState(operand))
        operand = numbers[operand];
    numbers[op] = result.add(op < baseSize ? base[op] : added[op - baseSize].op,
                             operands[op]);
    for (int32_t i = firstUser[op]; i < firstUser[op + 1]; ++i)
      if (--missing[users[i]] == 0)
        push(users[i]);
  }
  for (int32_t from : base.yields)
    result.yields.push_back(from < 0 ? -1 : numbers[resolve(from)]);
  return result;
}

OpGraph bagua::applyPlan(const CommunicationProblem &problem,
                         const CommunicationPlan &plan) {
  return PlanApplier(problem, plan).write();
}

namespace {
/// Counts what each group takes of the arenas.
class ArenaCounter : public MessageVisitor {
public:
  void begin(const MessageGroup &group) override {
    isMade = group.reduces.size() > 1 || group.parts > 1;
    bytes.push_back(isMade ? arenaAligned(group.bytes) : 0);
  }
  void visitMessage(const std::vector<MessageStep> &steps) override {
    // A sum on a root lies where what is summed does, unless that is the
    // program's.
    bool isOwn = isMade || steps.front().kind == MessageStep::Kind::Narrow;
    for (const MessageStep &step : steps)
      if (!isOwn || step.call.collective != Collective::Reduce)
        bytes.back() += arenaAligned(step.keptBytes);
  }
  void end() override {}

  /// By group.
  std::vector<int64_t> bytes;

private:
  /// The runtime has made the bucket.
  bool isMade = false;
};
} // namespace

std::vector<int64_t>
bagua::arenaBytesOfBuckets(const CommunicationProblem &problem,
                           const CommunicationPlan &plan) {
  ArenaCounter counter;
  counter.bytes.reserve(plan.buckets.size() + plan.others.size());
  forEachMessage(problem, plan, counter);
  counter.bytes.resize(plan.buckets.size());
  return std::move(counter.bytes);
}

int64_t bagua::arenaBytes(const CommunicationProblem &problem,
                          const CommunicationPlan &plan) {
  ArenaCounter counter;
  forEachMessage(problem, plan, counter);
  return std::accumulate(counter.bytes.begin(), counter.bytes.end(),
                         plan.isUpdatedByRuntime ? problem.otherBytesByRuntime
                                                 : problem.otherBytesByProgram);
}

PlanTime bagua::simulatePlan(const CommunicationProblem &problem,
                             const CommunicationPlan &plan,
                             CollectivePrices &prices) {
  OpGraph step = applyPlan(problem, plan);
  LaunchSchedule schedule = scheduleStep(step, plan.scheduling, prices);
  TaskGraph graph = tasksOf(step, schedule, prices).graph;
  Simulation simulation = simulate(graph);
  // To play a queue takes about as long again.
  int64_t runs = plan.scheduling.policy == SchedulePolicy::Priority ? 2 : 1;
  int64_t collectives = 0;
  for (int32_t op = 0; op < step.size(); ++op)
    collectives += step[op].kind == GraphOpKind::Collective;
  return {simulation.stepNs,
          runs * simulation.steps * (graph.size() + graph.useCount()),
          collectives};
}
