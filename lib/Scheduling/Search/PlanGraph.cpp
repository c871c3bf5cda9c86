//===- PlanGraph.cpp - The graph, time and memory of a plan ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The walk over a plan's messages, and its visitors.
//
//===----------------------------------------------------------------------===//
#include "bagua/Scheduling/Search/PlanGraph.h"

#include "bagua/Scheduling/Prices/Simulator.h"
#include "bagua/Scheduling/Search/ServerBalance.h"
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
};

struct PlannedGroup {
  MessageGroup group;
  std::vector<GroupMessage> messages;
  /// The tensors' elements, and their updates: all of them, or none.
  std::vector<int64_t> counts;
  std::vector<const CuttableUpdate *> updates;

  void add(int32_t reduce, int64_t count,
           const std::optional<CuttableUpdate> &update) {
    group.reduces.push_back(reduce);
    counts.push_back(count);
    if (update)
      updates.push_back(&*update);
  }
  void clear(int64_t parts) {
    group = {{}, 0, parts};
    messages.clear();
    counts.clear();
    updates.clear();
  }
};
} // namespace

static AllReduceForm formOf(const ClusterModel &cluster, FormKind kind,
                            const Message &message) {
  return formOfKind(cluster, message, kind);
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
    planned.clear(bucket.parts);
    for (int32_t i = 0; i < bucket.gradients; ++i, ++next) {
      const StepGradient &gradient = problem.gradients[*next];
      planned.add(gradient.op, gradient.count, gradient.update);
      count += gradient.count;
    }
    planned.group.bytes = count * like.elementBytes;
    for (int64_t part = 0; part < bucket.parts; ++part) {
      Message message =
          messageOf(bucket, like, countOfPart(count, bucket.parts, part));
      planned.messages.push_back(
          {message,
           formOf(problem.cluster, bucket.form.ofPart(part), message)});
    }
    visit(planned);
  }
  const PlannedBucket otherwise{1, 1, {}, plan.otherWire};
  for (size_t i = 0; i < problem.others.size(); ++i) {
    const PlannedBucket &decided =
        plan.others.empty() ? otherwise : plan.others[i];
    const StepReduce &reduce = problem.others[i];
    Message message = reduce.message;
    if (reduce.isNarrowable)
      message.wire = decided.wire;
    planned.clear(1);
    planned.add(reduce.op, message.count, std::nullopt);
    planned.group.bytes = message.bytes();
    planned.messages = {
        {message, formOf(problem.cluster, decided.form.ofPart(0), message)}};
    visit(planned);
  }
}

/// The server of each message, in the order of the walk; -1: all servers.
static std::vector<int64_t> balancedServers(const CommunicationProblem &problem,
                                            const CommunicationPlan &plan) {
  std::vector<PlacedMessage> messages;
  forEachGroup(problem, plan, [&](const PlannedGroup &planned) {
    for (const GroupMessage &entry : planned.messages)
      messages.push_back(
          {planned.group.reduces.back(), entry.message, entry.form});
  });
  return assignServers(problem.cluster, messages);
}

/// Whether updates of a group run on parts, which the runtime alone has.
static bool isCut(const CommunicationPlan &plan, const PlannedGroup &planned) {
  return plan.updatedPart == UpdatedPart::Shard && plan.isUpdatedByRuntime &&
         planned.group.parts == 1 &&
         planned.updates.size() == planned.counts.size() &&
         isReducible(planned.messages.front().message.wire) &&
         shapeOf(planned.messages.front().form.kind).isHalved;
}

static CutUpdates cutUpdatesOf(const ClusterModel &cluster,
                               const PlannedGroup &planned) {
  const auto &[message, form] = planned.messages.front();
  auto isScatter = [](const MessageStage &stage) {
    return stage.call.collective == Collective::ReduceScatter;
  };
  std::vector<AxisSet> phases;
  int64_t ranks = 1;
  for (const MessageStage &stage : expandMessage(cluster, message, form))
    if (stage.kind == MessageStage::Kind::Collective && isScatter(stage)) {
      phases.push_back(stage.call.over);
      ranks *= cluster.groupSize(stage.call.over);
    }
  CutUpdates cut;
  int64_t padded = 0, part = 0;
  for (size_t i = 0; i < planned.counts.size(); ++i) {
    CutUpdates::Tensor &tensor = cut.tensors.emplace_back();
    tensor.update = planned.updates[i];
    tensor.elementBytes = message.elementBytes;
    tensor.counts = {planned.counts[i]};
    for (AxisSet over : phases)
      tensor.counts.push_back(
          partSize(tensor.counts.back(), cluster.groupSize(over)));
    part += tensor.counts.back();
    padded += tensor.counts.back() * ranks;
  }
  bool isStriped = cut.tensors.size() > 1;
  auto normCount = std::count_if(cut.tensors.begin(), cut.tensors.end(),
                                 [](const CutUpdates::Tensor &tensor) {
                                   return tensor.update->norms.has_value();
                                 });
  if (normCount > 0) {
    constexpr int64_t kNormBytes = 4;
    cut.normSum = SizedCollective{Collective::AllReduce, message.over,
                                  2 * normCount * kNormBytes};
  }
  Message gradients = message, params = message;
  gradients.count = isStriped ? padded : message.count;
  params.count = gradients.count;
  params.elementBytes = cut.tensors.front().update->paramElementBytes;
  params.wire = {};
  for (MessageStage &stage : expandMessage(cluster, gradients, form)) {
    if (stage.kind == MessageStage::Kind::Decode)
      stage.movedBytes =
          part * (message.elementBytes +
                  encodedBytes(message.wire, 1, message.elementBytes));
    if (stage.kind != MessageStage::Kind::Collective || isScatter(stage))
      cut.toParts.push_back(stage);
  }
  for (const MessageStage &stage : expandMessage(cluster, params, form))
    if (!isScatter(stage))
      cut.toWholes.push_back(stage);
  return cut;
}

void bagua::forEachMessage(const CommunicationProblem &problem,
                           const CommunicationPlan &plan,
                           MessageVisitor &visitor) {
  std::vector<int64_t> servers;
  if (plan.isBalanced)
    servers = balancedServers(problem, plan);
  auto server = servers.begin();
  auto nextServer = [&] { return plan.isBalanced ? *server++ : -1; };
  forEachGroup(problem, plan, [&](const PlannedGroup &planned) {
    visitor.begin(planned.group);
    if (isCut(plan, planned)) {
      nextServer(); // of its one message
      visitor.visitCut(cutUpdatesOf(problem.cluster, planned));
      return visitor.end();
    }
    for (const GroupMessage &entry : planned.messages)
      visitor.visitMessage(expandMessage(problem.cluster, entry.message,
                                         entry.form, nextServer()));
    visitor.end();
  });
}

//===----------------------------------------------------------------------===//
// Visitors
//===----------------------------------------------------------------------===//

namespace {
/// Builds a new graph: the base's ops without its all_reduces, and new ops,
/// each of which has a place in the base's order.
class PlanApplier : public MessageVisitor {
public:
  PlanApplier(const CommunicationProblem &problem,
              const CommunicationPlan &plan)
      : problem(problem), plan(plan),
        base(plan.isUpdatedByRuntime ? problem.byRuntime : problem.byProgram),
        replacedBy(base.size(), -1), yieldedBy(base.yields.size(), -1) {}

  OpGraph write() {
    forEachMessage(problem, plan, *this);
    return sort();
  }

  void begin(const MessageGroup &group) override;
  void visitMessage(const std::vector<MessageStage> &stages) override;
  void visitCut(const CutUpdates &cut) override;
  void end() override;

private:
  struct NewOp {
    GraphOp op;
    /// Numbers of the base's ops, then of new ops; states.
    std::vector<int32_t> operands;
    int32_t place;
  };
  int32_t add(GraphOp op, std::vector<int32_t> operands);
  int32_t addLocal(int64_t movedBytes, std::vector<int32_t> operands);
  int32_t addStages(const std::vector<MessageStage> &stages, int32_t value);
  int32_t addPart(const CutUpdates::Tensor &tensor);
  void addNorms(const CutUpdates::Tensor &tensor, int32_t param,
                int32_t gradient, std::vector<int32_t> &norms);
  int32_t addUpdate(const CutUpdates::Tensor &tensor, int32_t param,
                    int32_t gradient, int32_t norms);
  int32_t resolve(int32_t operand) const;
  int32_t yielderOf(size_t state) const;
  OpGraph sort();

  const CommunicationProblem &problem;
  const CommunicationPlan &plan;
  const OpGraph &base;
  std::vector<NewOp> added;
  /// By all_reduce: the op that gives its result now.
  std::vector<int32_t> replacedBy;
  /// By state: the update that yields it if the update runs on a part; else -1.
  std::vector<int32_t> yieldedBy;
  /// The all_reduces of the group that is visited.
  std::vector<int32_t> reduces;
  bool isInParts = false;
  /// The place of the group's new ops, the value of which its messages are
  /// made, and their results.
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

/// Tensors of a bucket lie in its memory from the start, so concat and split
/// move nothing.
void PlanApplier::begin(const MessageGroup &group) {
  reduces = group.reduces;
  isInParts = group.parts > 1;
  place = reduces.back();
  std::vector<int32_t> from;
  from.reserve(reduces.size());
  for (int32_t reduce : reduces)
    from.push_back(base.operandsOf(reduce)[0]);
  whole = from.size() > 1 ? addLocal(0, from) : from.front();
  if (isInParts)
    whole = addLocal(0, {whole});
  results.clear();
}

int32_t PlanApplier::addStages(const std::vector<MessageStage> &stages,
                               int32_t value) {
  for (const MessageStage &stage : stages) {
    if (stage.kind != MessageStage::Kind::Collective) {
      value = addLocal(stage.movedBytes, {value});
      continue;
    }
    GraphOp op;
    op.kind = GraphOpKind::Collective;
    op.call = stage.call;
    value = add(op, {value});
  }
  return value;
}

void PlanApplier::visitMessage(const std::vector<MessageStage> &stages) {
  results.push_back(addStages(stages, whole));
}

/// Adds the part of the param, cut axis by axis.
int32_t PlanApplier::addPart(const CutUpdates::Tensor &tensor) {
  const CuttableUpdate &update = *tensor.update;
  int32_t param = base.operandsOf(update.op)[0];
  for (size_t phase = 1; phase < tensor.counts.size(); ++phase)
    param = addLocal((tensor.counts[phase - 1] + tensor.counts[phase]) *
                         update.paramElementBytes,
                     {param});
  return param;
}

/// Adds the norms of the parts of param and direction, if the update needs
/// them.
void PlanApplier::addNorms(const CutUpdates::Tensor &tensor, int32_t param,
                           int32_t gradient, std::vector<int32_t> &norms) {
  const CuttableUpdate &update = *tensor.update;
  if (!update.norms)
    return;
  const OpGraph::Range before = base.operandsOf(update.norms->direction);
  std::vector<int32_t> operands(before.begin(), before.end());
  operands.front() = param;
  operands.back() = gradient;
  const int64_t count = tensor.counts.back();
  auto addWork = [&](const std::string &work, int64_t bytes,
                     std::vector<int32_t> from) {
    GraphOp op;
    op.kind = GraphOpKind::Local;
    op.ns = problem.cluster.localNs(work, bytes);
    return add(op, std::move(from));
  };
  constexpr int64_t kNormBytes = 4;
  int64_t normBytes = count * update.paramElementBytes + kNormBytes;
  int32_t direction = addWork(
      update.work, count * update.norms->directionElementBytes, operands);
  norms.push_back(addWork(update.norms->work, normBytes, {param}));
  norms.push_back(addWork(update.norms->work, normBytes, {direction}));
  replacedBy[update.norms->direction] = direction;
  replacedBy[update.norms->ofParam] = norms[norms.size() - 2];
  replacedBy[update.norms->ofDirection] = norms.back();
}

/// Adds the update of a part, which yields the other states. `norms` has the
/// sums of all norms.
int32_t PlanApplier::addUpdate(const CutUpdates::Tensor &tensor, int32_t param,
                               int32_t gradient, int32_t norms) {
  const CuttableUpdate &update = *tensor.update;
  const OpGraph::Range before = base.operandsOf(update.op);
  std::vector<int32_t> operands(before.begin(), before.end());
  operands[0] = param;
  operands[update.gradientOperand] = gradient;
  if (update.norms)
    for (int32_t i : {1, 2})
      operands[update.gradientOperand + i] = norms;
  GraphOp op;
  op.kind = GraphOpKind::Update;
  op.writtenOperand = update.gradientOperand;
  op.ns = problem.cluster.localNs(
      update.work,
      tensor.counts.back() * update.movedElementBytes + update.otherBytes);
  int32_t added = add(op, operands);
  for (int32_t operand = 1; operand < update.gradientOperand; ++operand)
    yieldedBy[OpGraph::stateOf(before[operand])] = added;
  return added;
}

/// Tensors of a striped bucket are copied, each tensor's part to its place.
void PlanApplier::visitCut(const CutUpdates &cut) {
  bool isStriped = cut.tensors.size() > 1;
  int64_t wholeBytes = 0, partBytes = 0, paramBytes = 0, paramPartBytes = 0;
  for (const CutUpdates::Tensor &tensor : cut.tensors) {
    wholeBytes += tensor.counts.front() * tensor.elementBytes;
    partBytes += tensor.counts.back() * tensor.elementBytes;
    paramBytes += tensor.counts.front() * tensor.update->paramElementBytes;
    paramPartBytes += tensor.counts.back() * tensor.update->paramElementBytes;
  }
  if (isStriped)
    added[whole - base.size()].op.ns =
        problem.cluster.localNs(kOtherWork, 2 * wholeBytes);
  int32_t value = addStages(cut.toParts, whole);
  if (isStriped)
    value = addLocal(2 * partBytes, {value});
  std::vector<int32_t> parts, norms, params;
  for (const CutUpdates::Tensor &tensor : cut.tensors) {
    place = tensor.update->op;
    parts.push_back(addPart(tensor));
    addNorms(tensor, parts.back(), value, norms);
  }
  int32_t sums = -1;
  if (cut.normSum) {
    GraphOp sum;
    sum.kind = GraphOpKind::Collective;
    sum.call = *cut.normSum;
    sums = addLocal(0, {add(sum, {addLocal(0, norms)})});
  }
  for (size_t i = 0; i < cut.tensors.size(); ++i) {
    place = cut.tensors[i].update->op;
    params.push_back(addUpdate(cut.tensors[i], parts[i], value, sums));
  }
  int32_t updated = params.front();
  if (isStriped)
    updated = addLocal(2 * paramPartBytes, params);
  updated = addStages(cut.toWholes, updated);
  if (isStriped)
    updated = addLocal(2 * paramBytes, {updated});
  for (const CutUpdates::Tensor &tensor : cut.tensors)
    replacedBy[tensor.update->op] = updated;
  for (int32_t reduce : reduces)
    replacedBy[reduce] = value;
  reduces.clear();
}

void PlanApplier::end() {
  if (reduces.empty())
    return; // nobody asks for gradients whose updates ran on parts
  int32_t value = isInParts ? addLocal(0, results) : results.front();
  if (reduces.size() > 1)
    value = addLocal(0, {value});
  for (int32_t reduce : reduces)
    replacedBy[reduce] = value;
}

/// The op that now gives an operand of the base.
int32_t PlanApplier::resolve(int32_t operand) const {
  bool isReplaced =
      operand >= 0 && operand < base.size() && replacedBy[operand] >= 0;
  return isReplaced ? replacedBy[operand] : operand;
}

/// The op that now yields a state, before ops are numbered anew; -1 for none.
int32_t PlanApplier::yielderOf(size_t state) const {
  return yieldedBy[state] >= 0 ? yieldedBy[state] : resolve(base.yields[state]);
}

/// Numbers all ops anew: among ops whose operands are numbered, the first by
/// place is next.
OpGraph PlanApplier::sort() {
  int32_t baseSize = base.size();
  int32_t size = baseSize + static_cast<int32_t>(added.size());
  std::vector<std::vector<int32_t>> operands(size);
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
  for (size_t state = 0; state < base.yields.size(); ++state) {
    int32_t from = yielderOf(state);
    result.yields.push_back(from < 0 ? -1 : numbers[from]);
  }
  return result;
}

OpGraph bagua::applyPlan(const CommunicationProblem &problem,
                         const CommunicationPlan &plan) {
  return PlanApplier(problem, plan).write();
}

namespace {
/// Counts the bytes of each group in the arenas.
class ArenaCounter : public MessageVisitor {
public:
  void begin(const MessageGroup &group) override {
    isMade = group.reduces.size() > 1 || group.parts > 1;
    bytes.push_back(isMade ? arenaAligned(group.bytes) : 0);
  }
  void visitMessage(const std::vector<MessageStage> &stages) override {
    // The sum on a root takes the place of the elements summed, unless these
    // are in the program's memory.
    bool isOwn = isMade || stages.front().kind == MessageStage::Kind::Encode;
    for (const MessageStage &stage : stages)
      if (!isOwn || stage.call.collective != Collective::Reduce)
        bytes.back() += arenaAligned(stage.keptBytes);
  }
  void visitCut(const CutUpdates &cut) override {
    for (const auto &stages : {cut.toParts, cut.toWholes})
      for (const MessageStage &stage : stages)
        bytes.back() += arenaAligned(stage.keptBytes);
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
  // Playing the queue for Priority takes about as long again.
  int64_t runs = plan.scheduling.policy == SchedulePolicy::Priority ? 2 : 1;
  int64_t collectives = 0;
  for (int32_t op = 0; op < step.size(); ++op)
    collectives += step[op].kind == GraphOpKind::Collective;
  return {simulation.stepNs,
          runs * simulation.steps * (graph.size() + graph.useCount()),
          collectives};
}
