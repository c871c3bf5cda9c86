//===- StreamPrograms.cpp - The waits of streams within an iteration ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The builder walks the instructions once, in launch order. An instruction that
// runs is a condition itself: its place in its stream. An instruction that is
// left out is replaced by the conditions under which it would have run.
//
//===----------------------------------------------------------------------===//
#include "Session/StreamPrograms.h"

#include "Plan/Opcodes.h"

#include <algorithm>
#include <utility>

namespace bagua::runtime {
namespace {

/// The furthest of several points, for each stream.
class FurthestPoints {
public:
  explicit FurthestPoints(size_t streams) : counts(streams, 0) {}

  void add(const std::vector<StreamPoint> &points) {
    for (StreamPoint point : points)
      counts[point.stream] = std::max(counts[point.stream], point.count);
  }
  void drop(uint32_t stream) { counts[stream] = 0; }
  /// Returns the points by stream, and forgets them.
  std::vector<StreamPoint> take() {
    std::vector<StreamPoint> points;
    for (uint32_t stream = 0; stream < counts.size(); ++stream)
      if (uint32_t count = std::exchange(counts[stream], 0))
        points.push_back({stream, count});
    return points;
  }

private:
  std::vector<uint32_t> counts;
};

void makeUnique(std::vector<uint32_t> &list) {
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
}

class ScheduleBuilder {
public:
  ScheduleBuilder(const Plan &loaded, uint32_t number,
                  const std::vector<bool> &hasWork,
                  const std::vector<bool> &isGiven)
      : plan(loaded.root()), step(*plan.steps()->Get(number)),
        instructions(*step.instructions()),
        first(loaded.firstInstructionOf(number)), hasWork(hasWork),
        isGiven(isGiven), isLeftOut(instructions.size(), false),
        doneWhen(isLeftOut.size()), predecessor(isLeftOut.size(), -1),
        lastOfStream(plan.streams()->size(), -1),
        furthest(plan.streams()->size()) {
    schedule.step = number;
    schedule.lead.assign(plan.streams()->size(), 0);
    schedule.streams.resize(plan.streams()->size());
    schedule.users.resize(plan.tensors()->size());
    schedule.firstWaiter.assign(plan.tensors()->size(), -1);
  }

  StreamPrograms build();

private:
  void visit(uint32_t number);
  void addReady(uint32_t number, std::vector<uint32_t> &list) const;
  void collectReady(uint32_t from, uint32_t stream,
                    std::vector<uint64_t> &seenBy, std::vector<uint32_t> &list);
  std::vector<uint32_t> collectGifts(uint32_t number);
  void resolvePrevious();
  void orderReady();
  void resolveUsers();

  const fb::Plan &plan;
  const fb::Step &step;
  /// Numbered from 0 here, and from `first` in the plan.
  const flatbuffers::Vector<flatbuffers::Offset<fb::Instruction>> &instructions;
  const uint32_t first;
  const std::vector<bool> &hasWork;
  const std::vector<bool> &isGiven;
  StreamPrograms schedule;
  std::vector<bool> isLeftOut;
  /// By instruction: when it is complete, without the tensors that left-out
  /// instructions wait for.
  std::vector<std::vector<StreamPoint>> doneWhen;
  /// By instruction: the one before it on its stream; -1 if none.
  std::vector<int64_t> predecessor;
  /// By stream: the last instruction visited; -1 if none.
  std::vector<int64_t> lastOfStream;
  /// Pairs of an instruction and one of the step before that it waits for.
  std::vector<std::pair<uint32_t, uint32_t>> previous;
  /// By instruction: a bit for each stream that waits for its tensors already,
  /// of this step or of the one before.
  std::vector<uint64_t> seenBy, seenPreviousBy;
  /// By instruction: a bit for each stream whose collectives already carry what
  /// was given before the instruction.
  std::vector<uint64_t> carriedBy;
  /// By tensor: a bit for each stream whose collectives already carry it.
  std::vector<uint64_t> giftCarriedBy;
  // Empty between uses.
  FurthestPoints furthest;
  std::vector<uint32_t> stack;
};

void ScheduleBuilder::addReady(uint32_t number,
                               std::vector<uint32_t> &list) const {
  if (auto *ready = instructions.Get(number)->ready())
    for (uint32_t tensor : *ready)
      if (isGiven[tensor])
        list.push_back(tensor);
}

/// Adds the tensors that `from` waits for if it is left out, and those of the
/// left-out instructions before it. A stream waits for each of them once:
/// everything behind an instruction that was visited is known already. So the
/// time is linear in the plan's size for each stream, however long the lists
/// get.
void ScheduleBuilder::collectReady(uint32_t from, uint32_t stream,
                                   std::vector<uint64_t> &seen,
                                   std::vector<uint32_t> &list) {
  const uint64_t bit = uint64_t{1} << stream;
  stack.assign(1, from);
  while (!stack.empty()) {
    uint32_t number = stack.back();
    stack.pop_back();
    if (!isLeftOut[number] || (seen[number] & bit))
      continue;
    seen[number] |= bit;
    addReady(number, list);
    if (auto *after = instructions.Get(number)->after())
      stack.insert(stack.end(), after->begin(), after->end());
    if (predecessor[number] >= 0)
      stack.push_back(static_cast<uint32_t>(predecessor[number]));
  }
}

/// The tensors that the program gives before a collective can start, whether or
/// not this rank takes part in what comes between. The walk follows each path
/// back to the program, up to where an earlier collective of the stream has
/// been.
std::vector<uint32_t> ScheduleBuilder::collectGifts(uint32_t number) {
  const uint64_t bit = uint64_t{1} << instructions.Get(number)->stream();
  std::vector<uint32_t> gifts;
  stack.assign(1, number);
  while (!stack.empty()) {
    uint32_t at = stack.back();
    stack.pop_back();
    if (std::exchange(carriedBy[at], carriedBy[at] | bit) & bit)
      continue;
    const fb::Instruction &op = *instructions.Get(at);
    if (op.ready())
      for (uint32_t tensor : *op.ready())
        if (!(std::exchange(giftCarriedBy[tensor],
                            giftCarriedBy[tensor] | bit) &
              bit))
          gifts.push_back(tensor);
    if (op.after())
      stack.insert(stack.end(), op.after()->begin(), op.after()->end());
    if (predecessor[at] >= 0)
      stack.push_back(static_cast<uint32_t>(predecessor[at]));
  }
  return gifts;
}

void ScheduleBuilder::visit(uint32_t number) {
  const fb::Instruction &op = *instructions.Get(number);
  uint32_t stream = op.stream();
  std::vector<uint32_t> before;
  if (op.after())
    before.assign(op.after()->begin(), op.after()->end());
  predecessor[number] = std::exchange(lastOfStream[stream], number);
  if (predecessor[number] >= 0)
    before.push_back(static_cast<uint32_t>(predecessor[number]));
  Conditions waits;
  addReady(number, waits.ready);
  for (uint32_t tensor : waits.ready)
    if (schedule.firstWaiter[tensor] < 0)
      schedule.firstWaiter[tensor] = first + number;
  for (uint32_t other : before)
    furthest.add(doneWhen[other]);
  // Instructions of the step before may come later in the plan. They are
  // resolved when all are visited, and none of the waiting ones is left out.
  bool waitsForPrevious =
      op.after_previous() && op.after_previous()->size() > 0;
  if (waitsForPrevious)
    for (uint32_t other : *op.after_previous())
      previous.push_back({number, other});
  if (!hasWork[first + number] && !waitsForPrevious) {
    isLeftOut[number] = true;
    doneWhen[number] = furthest.take();
    return;
  }
  for (uint32_t other : before)
    collectReady(other, stream, seenBy, waits.ready);
  makeUnique(waits.ready);
  auto &list = schedule.streams[stream];
  furthest.drop(stream); // its own stream's order
  waits.after = furthest.take();
  list.push_back({first + number, std::move(waits), {}});
  if (kindOf(op.opcode()) == InstructionKind::Collective)
    list.back().carries = collectGifts(number);
  doneWhen[number] = {{stream, static_cast<uint32_t>(list.size())}};
}

/// Resolves completion in the step before. What a left-out instruction waited
/// for in the step before that one is complete anyway, since at most two steps
/// are in flight.
void ScheduleBuilder::resolvePrevious() {
  std::sort(previous.begin(), previous.end());
  std::vector<ScheduledInstruction *> byNumber(instructions.size());
  for (auto &stream : schedule.streams)
    for (ScheduledInstruction &op : stream)
      byNumber[op.instruction - first] = &op;
  for (size_t i = 0; i < previous.size(); ++i) {
    auto [number, other] = previous[i];
    Conditions &waits = byNumber[number]->waits;
    collectReady(other, instructions.Get(number)->stream(), seenPreviousBy,
                 waits.readyPrevious);
    furthest.add(doneWhen[other]);
    if (i + 1 == previous.size() || previous[i + 1].first != number)
      waits.afterPrevious = furthest.take();
  }
  for (auto &stream : schedule.streams)
    for (ScheduledInstruction &op : stream)
      makeUnique(op.waits.readyPrevious);
}

/// Sorts tensors in the program's order, if the plan knows it: a stream waits
/// for the last one first, so that it is not woken for each of the others.
void ScheduleBuilder::orderReady() {
  std::vector<uint32_t> order(plan.tensors()->size());
  uint32_t count = 0;
  if (step.program())
    for (const fb::ProgramOp *op : *step.program())
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
  for (const fb::TensorUse *use : *step.uses())
    if (use->instructions()) {
      for (uint32_t user : *use->instructions())
        furthest.add(doneWhen[user]);
      schedule.users[use->tensor()] = furthest.take();
    }
}

StreamPrograms ScheduleBuilder::build() {
  seenBy.assign(instructions.size(), 0);
  seenPreviousBy = carriedBy = seenBy;
  giftCarriedBy.assign(plan.tensors()->size(), 0);
  for (uint32_t i = 0; i < instructions.size(); ++i)
    visit(i);
  resolvePrevious();
  orderReady();
  resolveUsers();
  return std::move(schedule);
}

} // namespace

StreamPrograms makeStreamPrograms(const Plan &plan, uint32_t step,
                                  const std::vector<bool> &hasWork,
                                  const std::vector<bool> &isGiven) {
  return ScheduleBuilder(plan, step, hasWork, isGiven).build();
}

/// The ends of all streams, as a condition of one of them.
static std::vector<StreamPoint> endsBeside(const StreamPrograms &programs,
                                           uint32_t own) {
  std::vector<StreamPoint> ends;
  for (uint32_t i = 0; i < programs.streams.size(); ++i)
    if (i != own && !programs.streams[i].empty())
      ends.push_back({i, static_cast<uint32_t>(programs.streams[i].size())});
  return ends;
}

/// Adds the programs of a step that begins when `joined` has ended.
static void append(StreamPrograms &joined, const StreamPrograms &next) {
  const StreamPrograms before = joined;
  FurthestPoints furthest(joined.streams.size());
  auto shift = [&](std::vector<StreamPoint> points) {
    for (StreamPoint &point : points)
      point.count += static_cast<uint32_t>(before.streams[point.stream].size());
    return points;
  };
  for (uint32_t i = 0; i < joined.streams.size(); ++i)
    for (const ScheduledInstruction &op : next.streams[i]) {
      ScheduledInstruction &added = joined.streams[i].emplace_back(op);
      furthest.add(shift(op.waits.after));
      if (joined.streams[i].size() == before.streams[i].size() + 1)
        furthest.add(endsBeside(before, i));
      added.waits.after = furthest.take();
    }
  for (uint32_t i = 0; i < joined.users.size(); ++i) {
    furthest.add(before.users[i]);
    furthest.add(shift(next.users[i]));
    joined.users[i] = furthest.take();
    if (joined.firstWaiter[i] < 0)
      joined.firstWaiter[i] = next.firstWaiter[i];
  }
  joined.step = next.step;
}

StreamPrograms joinPrograms(const std::vector<const StreamPrograms *> &before,
                            const StreamPrograms &step) {
  if (before.empty())
    return step;
  StreamPrograms joined = *before.front();
  for (size_t i = 1; i < before.size(); ++i)
    append(joined, *before[i]);
  joined.leadUsers = joined.users;
  for (uint32_t i = 0; i < joined.lead.size(); ++i)
    joined.lead[i] = static_cast<uint32_t>(joined.streams[i].size());
  append(joined, step);
  return joined;
}

} // namespace bagua::runtime
