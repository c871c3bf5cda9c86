//===- StreamPrograms.cpp - Who waits for whom in a step ------------------===//
//
// One walk in launch order. An instruction that runs is a condition by itself:
// its place in its stream. One that is left out stands for the conditions under
// which it would have run.
//
//===----------------------------------------------------------------------===//
#include "Session/StreamPrograms.h"

#include <algorithm>

namespace bagua::runtime {
namespace {

/// Passing on long lists again and again would be quadratic: an instruction
/// with more conditions than this stays, even if it has nothing to do.
constexpr size_t kMaxPassedOn = 65536;

void addPoint(std::vector<StreamPoint> &points, StreamPoint point) {
  for (StreamPoint &known : points)
    if (known.stream == point.stream) {
      known.count = std::max(known.count, point.count);
      return;
    }
  points.push_back(point);
}

void addAll(std::vector<uint32_t> &to, const std::vector<uint32_t> &from) {
  to.insert(to.end(), from.begin(), from.end());
}

void dropPoint(std::vector<StreamPoint> &points, uint32_t stream) {
  points.erase(
      std::remove_if(points.begin(), points.end(),
                     [&](StreamPoint point) { return point.stream == stream; }),
      points.end());
}

void makeUnique(std::vector<uint32_t> &list) {
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
}

class ScheduleBuilder {
public:
  ScheduleBuilder(const fb::Plan &plan, const std::vector<bool> &hasWork,
                  const std::vector<bool> &isGiven)
      : plan(plan), hasWork(hasWork), isGiven(isGiven),
        doneWhen(plan.instructions()->size()),
        lastOfStream(plan.streams()->size(), -1) {
    schedule.streams.resize(plan.streams()->size());
    schedule.users.resize(plan.tensors()->size());
    schedule.firstWaiter.assign(plan.tensors()->size(), -1);
  }

  StreamPrograms build();

private:
  void visit(uint32_t number);
  /// Conditions of this step for `from` to be complete.
  void addDone(Conditions &to, uint32_t from) const;
  void resolvePrevious();
  void orderReady();
  void resolveUsers();

  const fb::Plan &plan;
  const std::vector<bool> &hasWork;
  const std::vector<bool> &isGiven;
  StreamPrograms schedule;
  /// By instruction: when it is complete.
  std::vector<Conditions> doneWhen;
  /// By stream: the last instruction visited; -1 if none.
  std::vector<int64_t> lastOfStream;
  /// By instruction: instructions of the step before.
  std::vector<std::pair<uint32_t, uint32_t>> previous;
};

void ScheduleBuilder::addDone(Conditions &to, uint32_t from) const {
  const Conditions &done = doneWhen[from];
  addAll(to.ready, done.ready);
  addAll(to.readyPrevious, done.readyPrevious);
  for (StreamPoint point : done.after)
    addPoint(to.after, point);
  for (StreamPoint point : done.afterPrevious)
    addPoint(to.afterPrevious, point);
}

void ScheduleBuilder::visit(uint32_t number) {
  const fb::Instruction &op = *plan.instructions()->Get(number);
  uint32_t stream = op.stream();
  Conditions waits;
  if (op.ready())
    for (uint32_t tensor : *op.ready()) {
      if (!isGiven[tensor])
        continue;
      waits.ready.push_back(tensor);
      if (schedule.firstWaiter[tensor] < 0)
        schedule.firstWaiter[tensor] = number;
    }
  if (op.after())
    for (uint32_t other : *op.after())
      addDone(waits, other);
  // Instructions of the step before may come later in the plan: they are
  // resolved when all are visited, and none of those is left out.
  if (op.after_previous())
    for (uint32_t other : *op.after_previous())
      previous.push_back({number, other});
  if (lastOfStream[stream] >= 0)
    addDone(waits, static_cast<uint32_t>(lastOfStream[stream]));
  makeUnique(waits.ready);
  makeUnique(waits.readyPrevious);

  bool waitsForPrevious =
      op.after_previous() && op.after_previous()->size() > 0;
  lastOfStream[stream] = number;
  if (!hasWork[number] && !waitsForPrevious &&
      waits.ready.size() <= kMaxPassedOn) {
    doneWhen[number] = std::move(waits);
    return;
  }
  auto &list = schedule.streams[stream];
  dropPoint(waits.after, stream); // its own stream's order
  list.push_back({number, std::move(waits)});
  doneWhen[number].after = {{stream, static_cast<uint32_t>(list.size())}};
}

/// Completion in the step before. What one that was left out waited for in the
/// step before that is complete anyway: at most two steps are in flight.
void ScheduleBuilder::resolvePrevious() {
  std::sort(previous.begin(), previous.end());
  auto next = previous.begin();
  std::vector<ScheduledInstruction *> byNumber(plan.instructions()->size());
  for (auto &stream : schedule.streams)
    for (ScheduledInstruction &op : stream)
      byNumber[op.instruction] = &op;
  for (; next != previous.end(); ++next) {
    Conditions &waits = byNumber[next->first]->waits;
    const Conditions &done = doneWhen[next->second];
    addAll(waits.readyPrevious, done.ready);
    for (StreamPoint point : done.after)
      addPoint(waits.afterPrevious, point);
    makeUnique(waits.readyPrevious);
  }
}

/// In the program's order, where the plan knows it: a stream waits for the last
/// one first, and is not woken for each of the others.
void ScheduleBuilder::orderReady() {
  std::vector<uint32_t> order(plan.tensors()->size());
  uint32_t count = 0;
  if (plan.program())
    for (const fb::ProgramOp *op : *plan.program())
      if (op->gives())
        for (uint32_t tensor : *op->gives())
          order[tensor] = ++count;
  for (auto &stream : schedule.streams)
    for (ScheduledInstruction &op : stream)
      std::stable_sort(
          op.waits.ready.begin(), op.waits.ready.end(),
          [&](uint32_t a, uint32_t b) { return order[a] < order[b]; });
}

void ScheduleBuilder::resolveUsers() {
  for (uint32_t i = 0; i < plan.tensors()->size(); ++i)
    if (auto *users = plan.tensors()->Get(i)->users())
      for (uint32_t user : *users)
        for (StreamPoint point : doneWhen[user].after)
          addPoint(schedule.users[i], point);
}

StreamPrograms ScheduleBuilder::build() {
  for (uint32_t i = 0; i < plan.instructions()->size(); ++i)
    visit(i);
  resolvePrevious();
  orderReady();
  resolveUsers();
  return std::move(schedule);
}

} // namespace

StreamPrograms makeStreamPrograms(const fb::Plan &plan,
                                  const std::vector<bool> &hasWork,
                                  const std::vector<bool> &isGiven) {
  return ScheduleBuilder(plan, hasWork, isGiven).build();
}

} // namespace bagua::runtime
