//===- CommunicationPlan.cpp - All decisions about a step's gradients -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Text, checks, and the step that a plan makes.
//
//===----------------------------------------------------------------------===//
#include "bagua/Scheduling/CommunicationPlan.h"

#include "bagua/Support/Parts.h"

#include <algorithm>
#include <cassert>
#include <charconv>
#include <numeric>
#include <queue>

using namespace bagua;

std::optional<std::string> CommunicationProblem::check() const {
  if (std::optional<std::string> wrong = cluster.check())
    return wrong;
  if (std::optional<std::string> wrong = bucketing.check())
    return wrong;
  if (byProgram.size() != byRuntime.size())
    return "expected two graphs of the same ops";
  if (bucketing.tensors.size() != gradients.size())
    return "expected " + std::to_string(gradients.size()) +
           " gradients to put into buckets, found " +
           std::to_string(bucketing.tensors.size());
  for (size_t i = 0; i < gradients.size(); ++i) {
    int32_t op = gradients[i].op;
    if (op < 0 || op >= byProgram.size() ||
        byProgram[op].kind != GraphOpKind::Collective)
      return "gradient " + std::to_string(i) +
             ": expected the number of its all_reduce, found " +
             std::to_string(op);
  }
  return std::nullopt;
}

bool CommunicationProblem::canServeAll() const {
  return canServeWire && cluster.servers() > 0 &&
         std::all_of(gradients.begin(), gradients.end(),
                     [this](const StepGradient &gradient) {
                       return gradient.isStatistic ||
                              canServe(cluster, gradient.over);
                     });
}

FormCycle FormCycle::ofParts(const std::vector<FormKind> &parts) {
  for (size_t period = 1; period < parts.size(); ++period)
    if (std::equal(parts.begin() + static_cast<ptrdiff_t>(period), parts.end(),
                   parts.begin()))
      return FormCycle(
          {parts.begin(), parts.begin() + static_cast<ptrdiff_t>(period)});
  return FormCycle(parts);
}

std::vector<int32_t> bagua::planOrder(const BucketingProblem &problem) {
  std::vector<int32_t> order(problem.tensors.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    return problem.tensors[a].shareClass < problem.tensors[b].shareClass;
  });
  return order;
}

//===----------------------------------------------------------------------===//
// Buckets by rule
//===----------------------------------------------------------------------===//

MessageCost bagua::messageCost(const ClusterModel &cluster,
                               std::map<int32_t, AxisSet> axesOfClass,
                               Encoding wire, FormSet forms) {
  return [&cluster, axes = std::move(axesOfClass), wire,
          forms](int64_t bytes, int32_t shareClass) {
    return messageNs(cluster, bytes, axes.at(shareClass), wire, forms);
  };
}

static int64_t bytesOf(const BucketingProblem &problem, const Bucket &bucket) {
  int64_t bytes = 0;
  for (int32_t member : bucket)
    bytes += problem.tensors[member].bytes;
  return bytes;
}

/// A part of a bucket, as it is sent.
static Message messageOf(const PlannedBucket &bucket, const StepGradient &like,
                         int64_t count) {
  return {like.over, count, like.elementBytes,
          like.isNarrowable ? bucket.wire : Encoding()};
}

/// One that is the only one allowed is kept, even where it comes to flat.
static FormKind kindOf(const ClusterModel &cluster, const Message &message,
                       FormSet forms) {
  for (int form = 0; form < kFormKindCount; ++form)
    if (forms == formBit(static_cast<FormKind>(form)))
      return static_cast<FormKind>(form);
  return cheapestForm(cluster, message, forms).form.kind;
}

/// What is left of forms for what only the ranks themselves reduce.
static FormSet hierarchiesOf(FormSet forms) {
  FormSet left = 0;
  for (int form = 0; form < kFormKindCount; ++form)
    if (forms & formBit(static_cast<FormKind>(form)))
      left |= formBit(hierarchyOf(static_cast<FormKind>(form)));
  return left;
}

std::vector<PlannedBucket>
bagua::planBuckets(const CommunicationProblem &problem, const BucketRule &rule,
                   FormSet forms, Encoding wire) {
  std::map<int32_t, AxisSet> axes;
  for (size_t i = 0; i < problem.gradients.size(); ++i)
    axes[problem.bucketing.tensors[i].shareClass] = problem.gradients[i].over;
  MessageCost cost = messageCost(problem.cluster, axes, wire, forms);
  std::vector<Bucket> buckets = bucketize(problem.bucketing, rule, cost);
  std::vector<int32_t> order = planOrder(problem.bucketing),
                       place(order.size());
  for (size_t i = 0; i < order.size(); ++i)
    place[order[i]] = static_cast<int32_t>(i);
  std::sort(buckets.begin(), buckets.end(),
            [&](const Bucket &a, const Bucket &b) {
              return place[a.front()] < place[b.front()];
            });
  std::vector<PlannedBucket> planned;
  planned.reserve(buckets.size());
  for (const Bucket &bucket : buckets) {
    int64_t count = 0;
    for (int32_t member : bucket)
      count += problem.gradients[member].count;
    PlannedBucket &entry = planned.emplace_back();
    entry.gradients = static_cast<int32_t>(bucket.size());
    entry.parts = partsOf(rule, bytesOf(problem.bucketing, bucket), count);
    entry.wire = wire;
    const StepGradient &like = problem.gradients[bucket.front()];
    entry.form =
        kindOf(problem.cluster,
               messageOf(entry, like, countOfPart(count, entry.parts, 0)),
               like.isStatistic ? hierarchiesOf(forms) : forms);
  }
  return planned;
}

std::optional<std::string>
bagua::checkParts(const std::vector<PlannedBucket> &buckets) {
  std::vector<int64_t> parts;
  parts.reserve(buckets.size());
  for (const PlannedBucket &bucket : buckets)
    parts.push_back(bucket.parts);
  return checkParts(parts);
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

/// `:form+form`; nothing for flat.
static std::string textOf(const FormCycle &form) {
  if (form == FormKind::Flat)
    return "";
  std::string text;
  for (FormKind kind : form.kinds())
    text += (text.empty() ? ":" : "+") + std::string(wordOf(kind));
  return text;
}

std::string bagua::printBuckets(const std::vector<PlannedBucket> &buckets,
                                Encoding common) {
  std::string text;
  for (size_t i = 0; i < buckets.size();) {
    size_t end = i + 1;
    while (end < buckets.size() && buckets[end] == buckets[i])
      ++end;
    const PlannedBucket &bucket = buckets[i];
    text += text.empty() ? "" : ",";
    if (end - i > 1)
      text += std::to_string(end - i) + "*";
    text += std::to_string(bucket.gradients);
    if (bucket.parts > 1)
      text += "/" + std::to_string(bucket.parts);
    text += textOf(bucket.form);
    if (bucket.wire != common)
      text += ":" + encodingText(bucket.wire);
    i = end;
  }
  return text;
}

/// Takes a number over 0 from the front.
static std::optional<int64_t> takeNumber(std::string_view &text) {
  int64_t number = 0;
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 1)
    return std::nullopt;
  text.remove_prefix(end - text.data());
  return number;
}

static bool take(std::string_view &text, char c) {
  if (text.empty() || text.front() != c)
    return false;
  text.remove_prefix(1);
  return true;
}

/// `form+form`; nothing for another text.
static std::optional<FormCycle> parseForms(std::string_view text) {
  std::vector<FormKind> forms;
  do {
    std::string_view name = text.substr(0, text.find('+'));
    std::optional<FormKind> form = parseWord<FormKind>(name);
    if (!form)
      return std::nullopt;
    forms.push_back(*form);
    text.remove_prefix(name.size());
  } while (take(text, '+'));
  return FormCycle(std::move(forms));
}

/// `:forms` and `:wire`, in this order, as far as they are there.
static bool takeWords(std::string_view &text, PlannedBucket &bucket) {
  bool hasForm = false;
  while (take(text, ':')) {
    std::string_view name = text.substr(0, text.find_first_of(":,"));
    std::optional<FormCycle> form = parseForms(name);
    ParsedEncoding wire = parseWire(name);
    text.remove_prefix(name.size());
    if (wire.error.empty()) {
      bucket.wire = wire.encoding;
      return true;
    }
    if (!form || hasForm)
      return false;
    bucket.form = *form;
    hasForm = true;
  }
  return true;
}

std::optional<std::vector<PlannedBucket>>
bagua::parseBuckets(std::string_view text, Encoding common) {
  constexpr int64_t kMost = 1 << 24;
  std::vector<PlannedBucket> buckets;
  while (!text.empty()) {
    std::optional<int64_t> first = takeNumber(text), repeat = 1, parts = 1;
    if (first && take(text, '*')) {
      repeat = first;
      first = takeNumber(text);
    }
    if (take(text, '/'))
      parts = takeNumber(text);
    if (!first || !repeat || !parts || *first > kMost || *repeat > kMost)
      return std::nullopt;
    PlannedBucket bucket{static_cast<int32_t>(*first), *parts, {}, common};
    if (!takeWords(text, bucket))
      return std::nullopt;
    buckets.insert(buckets.end(), *repeat, bucket);
    if (!text.empty() && (!take(text, ',') || text.empty()))
      return std::nullopt;
  }
  return buckets;
}

ResolvedBuckets bagua::resolveBuckets(const std::vector<PlannedBucket> &buckets,
                                      const BucketingProblem &problem,
                                      const std::vector<int64_t> &counts) {
  ResolvedBuckets result;
  std::vector<int32_t> order = planOrder(problem);
  int64_t named = 0;
  for (const PlannedBucket &bucket : buckets)
    named += bucket.gradients;
  if (named != static_cast<int64_t>(order.size())) {
    result.error = "expected buckets of " + std::to_string(order.size()) +
                   " gradients, found " + std::to_string(named);
    return result;
  }
  auto next = order.begin();
  for (const PlannedBucket &bucket : buckets) {
    Bucket members(next, next + bucket.gradients);
    next += bucket.gradients;
    int64_t elements = 0;
    for (int32_t member : members) {
      elements += counts[member];
      if (problem.tensors[member].shareClass !=
          problem.tensors[members[0]].shareClass)
        result.error = "expected gradients of one element type, group and "
                       "agreement in bucket " +
                       std::to_string(result.members.size());
    }
    if (bucket.parts > std::max<int64_t>(1, elements))
      result.error = "expected at most " + std::to_string(elements) +
                     " parts of bucket " +
                     std::to_string(result.members.size()) + ", found " +
                     std::to_string(bucket.parts);
    result.members.push_back(std::move(members));
  }
  return result;
}

//===----------------------------------------------------------------------===//
// The step that a plan makes
//===----------------------------------------------------------------------===//

static AllReduceForm formOf(const ClusterModel &cluster, FormKind kind,
                            const Message &message) {
  return formOfKind(cluster, message, kind);
}

namespace {
/// A new graph under construction: the base's ops but for the all_reduces, and
/// more, each with a place in the base's order.
class PlanApplier {
public:
  PlanApplier(const CommunicationProblem &problem,
              const CommunicationPlan &plan)
      : problem(problem), plan(plan),
        base(plan.isUpdatedByRuntime ? problem.byRuntime : problem.byProgram),
        replacedBy(base.size(), -1) {}

  OpGraph write();

private:
  struct NewOp {
    GraphOp op;
    /// Ops of the base, then new ones; states.
    std::vector<int32_t> operands;
    int32_t place;
  };
  int32_t add(GraphOp op, std::vector<int32_t> operands);
  int32_t addLocal(int64_t movedBytes, std::vector<int32_t> operands);
  int32_t addPart(const Message &message, FormKind kind, int32_t from);
  void addBucket(const PlannedBucket &bucket, const Bucket &members);
  OpGraph sort();

  const CommunicationProblem &problem;
  const CommunicationPlan &plan;
  const OpGraph &base;
  std::vector<NewOp> added;
  /// Of an all_reduce: what gives its result now.
  std::vector<int32_t> replacedBy;
  /// Where the ops that are being added belong.
  int32_t place = 0;
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

/// One message.
int32_t PlanApplier::addPart(const Message &message, FormKind kind,
                             int32_t from) {
  AllReduceForm form = formOf(problem.cluster, kind, message);
  for (const MessageStep &step :
       expandMessage(problem.cluster, message, form)) {
    if (step.kind != MessageStep::Kind::Collective) {
      from = addLocal(step.movedBytes, {from});
      continue;
    }
    GraphOp op;
    op.kind = GraphOpKind::Collective;
    op.call = step.call;
    from = add(op, {from});
  }
  return from;
}

/// What lies in a bucket lies there from the start, so concat and split move
/// nothing.
void PlanApplier::addBucket(const PlannedBucket &bucket,
                            const Bucket &members) {
  const StepGradient &like = problem.gradients[members.front()];
  std::vector<int32_t> from;
  int64_t count = 0;
  for (int32_t member : members) {
    const StepGradient &gradient = problem.gradients[member];
    from.push_back(base.operandsOf(gradient.op)[0]);
    count += gradient.count;
    place = std::max(place, gradient.op);
  }
  int32_t value = from.front();
  if (members.size() > 1)
    value = addLocal(0, from);
  if (bucket.parts == 1) {
    value =
        addPart(messageOf(bucket, like, count), bucket.form.ofPart(0), value);
  } else {
    int32_t whole = addLocal(0, {value});
    std::vector<int32_t> parts;
    parts.reserve(bucket.parts);
    for (int64_t part = 0; part < bucket.parts; ++part)
      parts.push_back(addPart(
          messageOf(bucket, like, countOfPart(count, bucket.parts, part)),
          bucket.form.ofPart(part), whole));
    value = addLocal(0, parts);
  }
  if (members.size() > 1)
    value = addLocal(0, {value});
  for (int32_t member : members)
    replacedBy[problem.gradients[member].op] = value;
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

OpGraph PlanApplier::write() {
  std::vector<int64_t> counts;
  counts.reserve(problem.gradients.size());
  for (const StepGradient &gradient : problem.gradients)
    counts.push_back(gradient.count);
  ResolvedBuckets resolved =
      resolveBuckets(plan.buckets, problem.bucketing, counts);
  assert(resolved.error.empty());
  for (size_t i = 0; i < plan.buckets.size(); ++i) {
    place = 0;
    addBucket(plan.buckets[i], resolved.members[i]);
  }
  return sort();
}

OpGraph bagua::applyPlan(const CommunicationProblem &problem,
                         const CommunicationPlan &plan) {
  return PlanApplier(problem, plan).write();
}

std::vector<int64_t>
bagua::arenaBytesOfBuckets(const CommunicationProblem &problem,
                           const CommunicationPlan &plan) {
  std::vector<int64_t> bytes;
  bytes.reserve(plan.buckets.size());
  std::vector<int32_t> order = planOrder(problem.bucketing);
  auto next = order.begin();
  for (const PlannedBucket &bucket : plan.buckets) {
    int64_t &total = bytes.emplace_back(0);
    const StepGradient &like = problem.gradients[*next];
    int64_t count = 0;
    for (int32_t i = 0; i < bucket.gradients; ++i)
      count += problem.gradients[*next++].count;
    if (bucket.gradients > 1 || bucket.parts > 1)
      total += arenaAligned(count * like.elementBytes);
    for (int64_t part = 0; part < bucket.parts; ++part) {
      Message message =
          messageOf(bucket, like, countOfPart(count, bucket.parts, part));
      AllReduceForm form =
          formOf(problem.cluster, bucket.form.ofPart(part), message);
      for (const MessageStep &step :
           expandMessage(problem.cluster, message, form))
        total += arenaAligned(step.keptBytes);
    }
  }
  return bytes;
}

int64_t bagua::arenaBytes(const CommunicationProblem &problem,
                          const CommunicationPlan &plan) {
  std::vector<int64_t> bytes = arenaBytesOfBuckets(problem, plan);
  return std::accumulate(bytes.begin(), bytes.end(),
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
