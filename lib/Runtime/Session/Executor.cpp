//===- Executor.cpp - Runs the instructions of a plan on a rank's streams -===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Threads, waits and errors. Nothing here allocates or locks unless something
// went wrong or a trace is recorded.
//
//===----------------------------------------------------------------------===//
#include "Session/Executor.h"

#include "Communication/CoreUsers.h"
#include "Communication/DurationToString.h"
#include "Communication/StatusCopy.h"
#include "Communication/ThreadName.h"
#include "Plan/Opcodes.h"
#include "Session/RankPlace.h"

#include "bagua/Runtime/ErrorPlace.h"
#include "bagua/Support/TraceWriter.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"

#include <algorithm>
#include <system_error>
#include <utility>

namespace bagua::runtime {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::nanoseconds kNoLimit = std::chrono::nanoseconds::max();

/// The threads of all sessions of this process, including those of programs.
CoreUsers liveThreads;

/// Watches a count for some microseconds; returns whether it was reached.
bool watch(const Timeline &timeline, uint64_t target) {
  return liveThreads.haveCoresForAll() && timeline.watch(target);
}

int64_t stepOf(uint64_t sequence, size_t length) {
  return static_cast<int64_t>(sequence / length);
}

/// Whether the text begins with "rank 3: ...", as errors of sessions do.
bool beginsWithRank(absl::string_view message) {
  if (!absl::ConsumePrefix(&message, "rank "))
    return false;
  size_t digits = 0;
  while (digits < message.size() && absl::ascii_isdigit(message[digits]))
    ++digits;
  return digits > 0 && absl::StartsWith(message.substr(digits), ":");
}

} // namespace

Executor::Executor(const Plan &loaded, World &ownWorld, Backend &backend,
                   const SessionOptions &sessionOptions)
    : plan(loaded), world(ownWorld), device(backend.device()),
      ordersLaunches(!backend.traits().launchesInAnyOrder),
      options(sessionOptions), rank(ownWorld.rank()), agreement(loaded),
      given(loaded.root().tensors()->size()), promised(given.size()) {}

Executor::~Executor() { stop().IgnoreError(); }

absl::Status
Executor::start(std::vector<std::unique_ptr<Operation>> newOperations,
                StreamPrograms schedule, int64_t first) {
  operations = std::move(newOperations);
  steps = std::move(schedule);
  firstStep = first;
  notes.resize(steps.streams.size());
  threadCount = 1;
  std::vector<std::unique_ptr<Stream>> made;
  for (size_t i = 0; i < steps.streams.size(); ++i) {
    made.push_back(nullptr);
    if (steps.streams[i].empty())
      continue;
    made[i] = std::make_unique<Stream>();
    made[i]->number = static_cast<uint32_t>(i);
    for (const ScheduledInstruction &scheduled : steps.streams[i]) {
      const auto carriers = absl::MakeConstSpan(steps.streams[i])
                                .first(made[i]->slots.size() + 1);
      made[i]->slots.push_back(
          {operations[scheduled.instruction].get(), &scheduled,
           std::array{CollectiveFacts(agreement, carriers, 0),
                      CollectiveFacts(agreement, carriers, 1)},
           -1});
    }
    if (WorkWatch *watch = world.workWatch())
      made[i]->place = std::make_unique<WorkWatch::Place>(
          *watch, [this, stream = made[i].get()] {
            return describeCall(*stream, stream->next());
          });
    ++threadCount;
  }
  orderLaunches(made);
  {
    std::lock_guard<std::mutex> lock(streamsMutex);
    streams = std::move(made);
  }
  admitTimelines();
  liveThreads.add(threadCount);
  world.onAbort(this, [this] {
    failed.store(true, std::memory_order_release);
    failAll();
  });
  for (auto &stream : streams)
    if (stream)
      if (absl::Status status = startQueue(*stream); !status.ok()) {
        stop().IgnoreError(); // nothing was enqueued
        return status;
      }
  // Threads ask the queues of all streams.
  for (auto &stream : streams)
    if (stream)
      if (absl::Status status = startThread(*stream); !status.ok()) {
        stop().IgnoreError();
        return status;
      }
  return absl::OkStatus();
}

bool Executor::isCollective(uint32_t instruction) const {
  return kindOf(plan.root().instructions()->Get(instruction)->opcode()) ==
         InstructionKind::Collective;
}

/// Numbers the collectives of a step in the plan's order, which is that of all
/// ranks.
void Executor::orderLaunches(std::vector<std::unique_ptr<Stream>> &made) {
  launchOrder.clear();
  std::vector<std::pair<uint32_t, Slot *>> slots;
  for (auto &stream : made)
    if (stream && ordersLaunches)
      for (Slot &slot : stream->slots)
        if (isCollective(slot.scheduled->instruction) && slot.operation)
          slots.push_back({stream->number, &slot});
  std::sort(slots.begin(), slots.end(), [](const auto &a, const auto &b) {
    return a.second->scheduled->instruction < b.second->scheduled->instruction;
  });
  for (auto [number, slot] : slots) {
    slot->launch = static_cast<int64_t>(launchOrder.size());
    launchOrder.push_back(
        {number, static_cast<uint32_t>(slot - made[number]->slots.data())});
  }
}

void Executor::admitTimelines() {
  for (Timeline &timeline : given)
    device.admit(timeline);
  for (auto &stream : streams)
    if (stream)
      device.admit(stream->completed);
}

void Executor::dismissTimelines() {
  for (Timeline &timeline : given)
    device.dismiss(timeline);
  for (auto &stream : streams)
    if (stream)
      device.dismiss(stream->completed);
}

absl::Status Executor::startFailed(const Stream &stream, absl::string_view what,
                                   absl::string_view why) const {
  return absl::ResourceExhaustedError(absl::StrCat(
      "rank ", rank, ": no ", what, " for stream '",
      plan.root().streams()->Get(stream.number)->str(), "': ", why));
}

absl::Status Executor::startQueue(Stream &stream) {
  auto queue = device.createQueue([this, &stream](const absl::Status &why) {
    failLate(stream, why).IgnoreError();
  });
  if (!queue.ok())
    return startFailed(stream, "queue", queue.status().message());
  stream.queue = *std::move(queue);
  follows = stream.queue->canFollow();
  return absl::OkStatus();
}

absl::Status Executor::startThread(Stream &stream) {
  try {
    stream.thread = std::thread([this, &stream] {
      nameThread(plan.root().streams()->Get(stream.number)->str());
      runStream(stream);
      // Other ranks may have failed without this one knowing yet.
      failTimeline(stream.completed);
      stream.completed.tellAll();
      if (whenFailed && hasFailed())
        whenFailed();
    });
  } catch (const std::system_error &error) {
    return startFailed(stream, "thread", error.what());
  }
  return absl::OkStatus();
}

void Executor::stopThreads() {
  if (threadCount == 0) // nothing was started
    return;
  isStopping.store(true, std::memory_order_release);
  world.onAbort(this, nullptr);
  failAll();
  for (auto &stream : streams)
    if (stream && stream->thread.joinable())
      stream->thread.join();
}

absl::Status Executor::stop() {
  if (threadCount == 0)
    return absl::OkStatus();
  stopThreads();
  // Instructions under way end; why the run has failed is known.
  for (auto &stream : streams)
    if (stream && stream->queue)
      if (absl::Status status = stream->queue->drain(options.timeout);
          absl::IsDeadlineExceeded(status))
        return status;
  dismissTimelines();
  {
    std::lock_guard<std::mutex> lock(streamsMutex);
    streams.clear();
  }
  liveThreads.remove(std::exchange(threadCount, 0));
  opened.reopen();
  launches.reopen();
  for (size_t i = 0; i < given.size(); ++i) {
    given[i].reopen();
    promised[i].reopen();
  }
  isStopping.store(false, std::memory_order_release);
  return absl::OkStatus();
}

/// Also ends the work of queues that waits for it.
void Executor::failTimeline(Timeline &timeline) {
  timeline.fail();
  device.release(timeline);
}

/// Ends all waits, present and future. A waiting thread then looks for the
/// reason.
void Executor::failAll() {
  opened.fail();
  launches.fail();
  for (size_t i = 0; i < given.size(); ++i) {
    promised[i].fail();
    failTimeline(given[i]);
  }
  std::lock_guard<std::mutex> lock(streamsMutex);
  for (auto &stream : streams)
    if (stream) {
      stream->launched.fail();
      failTimeline(stream->completed);
    }
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

absl::Status Executor::fail(const absl::Status &why) {
  world.abort(why);
  {
    std::lock_guard<std::mutex> lock(failureMutex);
    // An error of a backend is shown with this rank's context in front, if
    // there is one.
    absl::Status held = world.status();
    if (failureStatus.ok() && beginsWithRank(why.message()) &&
        absl::StrContains(why.message(), held.message()))
      failureStatus = withRankPlace(why, plan, world);
  }
  failed.store(true, std::memory_order_release);
  failAll();
  return failure();
}

/// The first error of any rank holds. Errors of sessions begin with their rank;
/// other errors get what this rank was doing.
absl::Status Executor::failure() const {
  std::lock_guard<std::mutex> lock(failureMutex);
  if (failureStatus.ok()) {
    absl::Status held = world.status();
    std::lock_guard<std::mutex> alive(streamsMutex);
    const Stream *stream = streamInProgress();
    if (!beginsWithRank(held.message())) {
      std::string call;
      if (stream)
        call = absl::StrCat(stream->isTaken() ? "" : "before ",
                            describeCall(*stream, stream->completed.value()),
                            ": ");
      held = withMessage(
          held, absl::StrCat("rank ", rank, ": ", call, held.message()));
    }
    held = withPlace(std::move(held),
                     stream ? placeOf(*stream, stream->completed.value())
                            : ErrorPlace{rank});
    failureStatus = withRankPlace(held, plan, world);
  }
  return duplicate(failureStatus);
}

/// The first stream that runs an instruction, or else the first with work. Null
/// if nothing runs. Called under `streamsMutex`.
const Executor::Stream *Executor::streamInProgress() const {
  const Stream *next = nullptr;
  for (auto &stream : streams) {
    if (stream && stream->isTaken())
      return stream.get();
    if (stream && !next)
      next = stream.get();
  }
  return next;
}

void Executor::warn(const std::string &text) {
  NotAtWork program;
  if (options.onWarning)
    options.onWarning(absl::StrCat("rank ", rank, ": ", text));
}

/// Tells other ranks what a stream waits for; an empty text means nothing.
void Executor::note(Stream &stream, const std::string &what) {
  std::lock_guard<std::mutex> lock(noteMutex);
  notes[stream.number] = what;
  std::vector<std::string> all;
  std::copy_if(notes.begin(), notes.end(), std::back_inserter(all),
               [](const std::string &text) { return !text.empty(); });
  world.note(absl::StrJoin(all, "; "));
}

void Executor::warnOfStream(uint32_t number, const std::string &text) {
  if (number < streams.size() && streams[number]) {
    streams[number]->hasNote = true;
    note(*streams[number], text);
  }
  warn(text);
}

std::string Executor::describeCall(uint32_t number) const {
  if (const int64_t step = meetingBefore.load(std::memory_order_relaxed);
      step >= 0)
    return absl::StrCat("the barrier before step ", firstStep + step);
  if (number >= streams.size() || !streams[number])
    return {};
  return describeCall(*streams[number], streams[number]->completed.value());
}

std::string Executor::describeCall(const Stream &stream,
                                   uint64_t sequence) const {
  const Slot &slot = stream.slots[sequence % stream.slots.size()];
  return absl::StrCat(describe(slot.scheduled->instruction), " in step ",
                      firstStep + stepOf(sequence, stream.slots.size()));
}

std::string Executor::tensorName(uint32_t tensor) const {
  return absl::StrCat("'", plan.root().tensors()->Get(tensor)->name()->str(),
                      "'");
}

std::string Executor::describe(uint32_t instruction) const {
  const fb::Instruction &op = *plan.root().instructions()->Get(instruction);
  std::string text =
      absl::StrCat("instruction ", instruction, " '", op.name()->str(), "' (",
                   fb::EnumNameOpcode(op.opcode()), ") on stream '",
                   plan.root().streams()->Get(op.stream())->str(), "'");
  // The tensors by which a reader knows the instruction.
  std::vector<std::string> names;
  auto addName = [&](int64_t tensor) {
    std::string name = tensorName(static_cast<uint32_t>(tensor));
    if (std::find(names.begin(), names.end(), name) == names.end())
      names.push_back(std::move(name));
  };
  for (uint32_t i = 0; i < plan.root().tensors()->size(); ++i)
    if (auto *users = plan.root().tensors()->Get(i)->users())
      if (std::find(users->begin(), users->end(), instruction) != users->end())
        addName(i);
  constexpr size_t kShown = 4;
  for (size_t i = 0; i < std::min(names.size(), kShown); ++i)
    absl::StrAppend(&text, i ? ", " : " (touches ", names[i]);
  if (names.size() > kShown)
    absl::StrAppend(&text, " and ", names.size() - kShown, " more");
  if (!names.empty())
    text += ")";
  return text;
}

std::string Executor::describeBlocker(const Slot &slot,
                                      const Blocker &blocker) const {
  std::string text = describe(slot.scheduled->instruction);
  if (blocker.tensor >= 0)
    absl::StrAppend(&text, " waits for tensor ",
                    tensorName(static_cast<uint32_t>(blocker.tensor)),
                    ", which the program has not given");
  else
    absl::StrAppend(&text, " waits for stream '",
                    plan.root().streams()->Get(blocker.stream)->str(), "'");
  return text;
}

/// A queue of the program's has failed before the given tensor was complete.
absl::Status Executor::giftFailed(const Slot &slot, const Blocker &blocker) {
  const auto tensor = static_cast<uint32_t>(blocker.tensor);
  const int64_t step = firstStep + static_cast<int64_t>(blocker.target) - 1;
  return fail(
      withPlace(absl::InternalError(absl::StrCat(
                    "rank ", rank, ": ", describe(slot.scheduled->instruction),
                    ": the program's work before tensor ", tensorName(tensor),
                    " has failed, in step ", step)),
                {rank, blocker.tensor, slot.scheduled->instruction, step}));
}

absl::Status Executor::impossible(const Stream &stream, uint64_t sequence,
                                  const Blocker &blocker, int64_t tensor) {
  const Slot &slot = stream.slots[sequence % stream.slots.size()];
  const int64_t step = firstStep + stepOf(sequence, stream.slots.size());
  ErrorPlace place = {rank, blocker.tensor, slot.scheduled->instruction, step};
  return fail(withPlace(
      absl::FailedPreconditionError(absl::StrCat(
          "rank ", rank, ": ",
          tensor >= 0 ? absl::StrCat("wait for tensor ",
                                     tensorName(static_cast<uint32_t>(tensor)))
                      : "wait for the end of a step",
          " can't end: ", describeBlocker(slot, blocker), " in step ", step)),
      place));
}

//===----------------------------------------------------------------------===//
// Waiting
//===----------------------------------------------------------------------===//

/// Waits without a limit; returns false if the run ends before.
bool Executor::await(Timeline &timeline, uint64_t target) {
  if (timeline.reached(target) || watch(timeline, target))
    return true;
  while (!timeline.reached(target)) {
    if (isOver())
      return false;
    timeline.sleep(target, kNoLimit);
  }
  return true;
}

/// Waits for this rank's program, which may take any time: it compiles, or
/// loads data. After a while the wait is reported, here and to ranks that wait
/// for this one.
bool Executor::awaitGift(Stream &stream, const Slot &slot,
                         const Blocker &blocker) {
  if (watch(*blocker.timeline, blocker.target))
    return true;
  const std::chrono::nanoseconds patience = options.timeout / 10;
  bool hasWarned = false;
  Clock::time_point begin = Clock::now();
  while (!blocker.timeline->reached(blocker.target)) {
    if (isOver())
      return false;
    if (blocker.timeline->hasFailed()) {
      giftFailed(slot, blocker).IgnoreError();
      return false;
    }
    std::chrono::nanoseconds waited = Clock::now() - begin;
    if (!hasWarned && waited >= patience) {
      hasWarned = true;
      std::string what = describeBlocker(slot, blocker);
      note(stream, what);
      warn(absl::StrCat("for ", durationToString(waited), ", ", what));
    }
    blocker.timeline->sleep(blocker.target,
                            hasWarned ? kNoLimit : patience - waited);
  }
  if (hasWarned)
    note(stream, "");
  return true;
}

/// A tensor without which an instruction can't be enqueued. A queue that can
/// follow timelines awaits the program's work itself.
Executor::Blocker
Executor::findMissingGift(const std::vector<uint32_t> &tensors,
                          uint64_t count) const {
  // Starts with the tensor that is given last.
  for (size_t i = tensors.size(); i-- > 0;) {
    const uint32_t tensor = tensors[i];
    if (follows ? isPromised(tensor, count) : given[tensor].reached(count))
      continue;
    return {follows ? &promised[tensor] : &given[tensor], count, tensor, -1, 0};
  }
  return {};
}

/// The collective that must be enqueued before the instruction, if their order
/// matters.
Executor::Blocker Executor::findLaunchBefore(const Stream &stream,
                                             uint64_t sequence) const {
  const Slot &slot = stream.slots[sequence % stream.slots.size()];
  const auto step =
      static_cast<uint64_t>(stepOf(sequence, stream.slots.size()));
  const uint64_t target = step * launchOrder.size() + slot.launch;
  const uint64_t launched = launches.value();
  if (launched >= target)
    return {};
  const StreamPoint first = launchOrder[launched % launchOrder.size()];
  const Stream &other = *streams[first.stream];
  return {&launches, target, -1, first.stream,
          launched / launchOrder.size() * other.slots.size() + first.count + 1};
}

/// The first condition that keeps an instruction from being enqueued. Only
/// looks.
Executor::Blocker Executor::findBlocker(const Stream &stream,
                                        uint64_t sequence) const {
  const Slot &slot = stream.slots[sequence % stream.slots.size()];
  const int64_t step = stepOf(sequence, stream.slots.size());
  const Conditions &waits = slot.scheduled->waits;
  if (Blocker blocker = findMissingGift(waits.ready, countOf(step)))
    return blocker;
  auto blockedBy = [&](StreamPoint point, int64_t since) -> Blocker {
    Stream &other = *streams[point.stream];
    uint64_t target = targetOf(other, point, since);
    if (isPassed(other, target, *stream.queue))
      return {};
    return {&progressOf(other, *stream.queue), target, -1, point.stream,
            target};
  };
  for (StreamPoint point : waits.after)
    if (Blocker blocker = blockedBy(point, step))
      return blocker;
  if (step > 0) {
    if (Blocker blocker =
            findMissingGift(waits.readyPrevious, countOf(step - 1)))
      return blocker;
    for (StreamPoint point : waits.afterPrevious)
      if (Blocker blocker = blockedBy(point, step - 1))
        return blocker;
  }
  return slot.launch < 0 ? Blocker() : findLaunchBefore(stream, sequence);
}

/// Has a stream's queue await what its next instruction waits for.
void Executor::followConditions(Stream &stream, uint64_t sequence) {
  const Slot &slot = stream.slots[sequence % stream.slots.size()];
  const int64_t step = stepOf(sequence, stream.slots.size());
  const Conditions &waits = slot.scheduled->waits;
  auto follow = [&](Timeline &timeline, uint64_t target) {
    if (!timeline.reached(target))
      stream.queue->follow(timeline, target);
  };
  for (uint32_t tensor : waits.ready)
    follow(given[tensor], countOf(step));
  for (StreamPoint point : waits.after)
    follow(streams[point.stream]->completed,
           targetOf(*streams[point.stream], point, step));
  if (step == 0)
    return;
  for (uint32_t tensor : waits.readyPrevious)
    follow(given[tensor], countOf(step - 1));
  for (StreamPoint point : waits.afterPrevious)
    follow(streams[point.stream]->completed,
           targetOf(*streams[point.stream], point, step - 1));
}

//===----------------------------------------------------------------------===//
// Streams
//===----------------------------------------------------------------------===//

/// Fails with an error of the instruction that a stream runs. An error from
/// another rank may already describe the call.
absl::Status Executor::failCall(const Stream &stream, uint64_t sequence,
                                const absl::Status &status) {
  std::string call = describeCall(stream, sequence);
  std::string text = absl::StrCat("rank ", rank, ": ");
  if (!absl::StrContains(status.message(), call))
    absl::StrAppend(&text, call, ": ");
  return fail(
      withPlace(withMessage(status, absl::StrCat(text, status.message())),
                placeOf(stream, sequence)));
}

/// Fails with an error of work that a stream has enqueued before.
absl::Status Executor::failLate(const Stream &stream,
                                const absl::Status &status) {
  const uint64_t sequence = stream.completed.value();
  const Slot &slot = stream.slots[sequence % stream.slots.size()];
  const uint64_t count = countOf(stepOf(sequence, stream.slots.size()));
  for (uint32_t tensor : slot.scheduled->waits.ready)
    if (!hasFailed() && given[tensor].hasFailed() &&
        !given[tensor].reached(count))
      return giftFailed(slot, {&given[tensor], count, tensor, -1, 0});
  return failCall(stream, sequence, status);
}

/// The place of a stream's instruction, with the first tensor that it touches.
ErrorPlace Executor::placeOf(const Stream &stream, uint64_t sequence) const {
  uint32_t instruction =
      stream.slots[sequence % stream.slots.size()].scheduled->instruction;
  ErrorPlace place;
  place.rank = rank;
  place.instruction = instruction;
  place.step = firstStep + stepOf(sequence, stream.slots.size());
  for (uint32_t i = 0; i < plan.root().tensors()->size(); ++i)
    if (auto *users = plan.root().tensors()->Get(i)->users();
        place.tensor < 0 && users &&
        std::find(users->begin(), users->end(), instruction) != users->end())
      place.tensor = i;
  return place;
}

/// Makes a collective carry what is stated of its step, and of the tensors
/// given before it.
void Executor::agree(Stream &stream, uint64_t sequence, const Slot &slot) {
  const int64_t step = stepOf(sequence, stream.slots.size());
  if (sequence % stream.slots.size() == 0)
    stream.carried = 0;
  if (!agreement.isStated(step))
    return;
  for (uint32_t tensor : slot.scheduled->carries)
    stream.carried += agreement.shareOf(tensor, step);
  if (slot.operation && slot.operation->agreeing)
    slot.operation->agreeing->agreeOn(
        agreementWord(agreement.shareOfStep(step) + stream.carried),
        &slot.facts[step % kStepsInFlight]);
}

absl::Status Executor::meet(absl::Span<Communicator *const> groups,
                            int64_t next) {
  agreement.open(next);
  const CollectiveFacts facts(agreement, {}, next);
  const int64_t startNs = TraceWriter::nowNs();
  meetingBefore.store(next, std::memory_order_relaxed);
  absl::Status status;
  for (size_t i = 0; i < groups.size() && status.ok(); ++i) {
    if (agreement.isStated(next))
      groups[i]->agreeOn(agreementWord(agreement.shareOfStep(next)), &facts);
    status = groups[i]->barrier();
    groups[i]->agreeOn(0, nullptr);
  }
  meetingBefore.store(kNothing, std::memory_order_relaxed);
  waited += TraceWriter::nowNs() - startNs;
  for (auto &stream : streams)
    if (stream && stream->hasNote.exchange(false))
      note(*stream, "");
  if (status.ok())
    return status;
  return fail(withPlace(
      withMessage(status,
                  absl::StrCat("rank ", rank, ": barrier before step ",
                               firstStep + next, ": ", status.message())),
      {rank, -1, -1, firstStep + next}));
}

absl::Status Executor::enqueue(Stream &stream, const Slot &slot, int64_t step) {
  AtWork work(stream.place.get());
  if (options.onInstruction)
    options.onInstruction(step, slot.scheduled->instruction);
  return slot.operation->enqueue(*stream.queue, step);
}

/// Enqueues instruction `sequence` of a stream, which the caller has taken.
absl::Status Executor::execute(Stream &stream, uint64_t sequence) {
  const Slot &slot = stream.slots[sequence % stream.slots.size()];
  int64_t step = firstStep + stepOf(sequence, stream.slots.size());
  int64_t startNs = options.trace ? TraceWriter::nowNs() : 0;
  agree(stream, sequence, slot);
  if (follows)
    followConditions(stream, sequence);
  if (slot.operation) {
    if (recorder)
      recorder->beginInstruction(stream.number, sequence,
                                 slot.scheduled->instruction, step - firstStep);
    absl::Status status = enqueue(stream, slot, step);
    if (stream.hasNote.load(std::memory_order_relaxed) &&
        stream.hasNote.exchange(false))
      note(stream, "");
    // The instruction is not passed on, since nobody may retry what has failed.
    if (!status.ok())
      return failCall(stream, sequence, status);
    if (recorder)
      recorder->endInstruction(stream.number, sequence);
    sent[(step - firstStep) % kStepsInFlight].fetch_add(
        slot.operation->bytesSent, std::memory_order_relaxed);
    if (options.trace)
      options.trace->add(
          {plan.root()
               .instructions()
               ->Get(slot.scheduled->instruction)
               ->name()
               ->str(),
           rank,
           static_cast<int>(stream.number) + 1,
           startNs,
           TraceWriter::nowNs() - startNs,
           {{"step", step}, {"bytes_sent", slot.operation->bytesSent}}});
  }
  // The signal comes first, so that the thread that enqueues the next
  // instruction signals after it. A woken thread then finds both.
  stream.queue->signal(stream.completed, sequence + 1);
  stream.pass(sequence);
  if (follows) {
    stream.launched.signal(sequence + 1);
    stream.launched.tell();
  }
  if (slot.launch >= 0) {
    launches.signal(launches.value() + 1); // nobody else's turn
    launches.tell();
  }
  stream.since.store(nowMilliseconds(), std::memory_order_relaxed);
  stream.completed.tell();
  return absl::OkStatus();
}

/// Waits until nothing blocks an instruction of a stream; returns false if the
/// run ends before.
bool Executor::awaitBlockers(Stream &stream, uint64_t sequence) {
  const Slot &slot = stream.slots[sequence % stream.slots.size()];
  while (true) {
    // Read before looking for a blocker, so that no instruction that waits for
    // it has begun.
    const int64_t startNs = recorder ? TraceWriter::nowNs() : 0;
    const Blocker blocker = findBlocker(stream, sequence);
    if (!blocker)
      return true;
    const bool isGift = blocker.tensor >= 0;
    const bool isFree = isGift ? awaitGift(stream, slot, blocker)
                               : await(*blocker.timeline, blocker.target);
    if (recorder)
      recorder->recordObstacle(
          stream.number, stepOf(sequence, stream.slots.size()),
          isGift ? StepRecorder::kGift : StepRecorder::kStream,
          isGift ? blocker.tensor : blocker.stream, startNs);
    if (!isFree)
      return false;
  }
}

void Executor::runStream(Stream &stream) {
  if (stream.place)
    stream.place->attend();
  while (true) {
    uint64_t sequence = stream.next();
    int64_t step = stepOf(sequence, stream.slots.size());
    if (!await(opened, countOf(step)) || !awaitBlockers(stream, sequence) ||
        isOver())
      return;
    if (stream.take(sequence)) {
      if (!execute(stream, sequence).ok())
        return;
    } else if (!await(progressOf(stream, *stream.queue), sequence + 1)) {
      return; // the program's thread is at it
    }
  }
}

//===----------------------------------------------------------------------===//
// The program's side
//===----------------------------------------------------------------------===//

void Executor::give(uint32_t tensor, int64_t step, Queue &queue) {
  agreement.give(tensor, step);
  queue.signal(given[tensor], countOf(step));
  given[tensor].tell();
  if (!queue.canFollow())
    return;
  // The signal comes later. That it will is enough for queues that follow it.
  promised[tensor].signal(countOf(step));
  promised[tensor].tell();
}

uint64_t Executor::targetOf(const Stream &stream, StreamPoint point,
                            int64_t step) {
  return static_cast<uint64_t>(step) * stream.slots.size() + point.count;
}

/// Whether a stream has reached `target`, or `queue` can wait until it has.
bool Executor::isPassed(const Stream &stream, uint64_t target,
                        const Queue &queue) {
  return stream.completed.reached(target) ||
         (queue.canFollow() && stream.next() >= target);
}

/// Sleeps until a stream has reached its target, or for some time. The chain of
/// streams that wait for each other is followed to its end: if that is a tensor
/// which was not given, the wait could never end, since only this thread gives
/// tensors.
absl::Status Executor::awaitStream(Blocker blocker, int64_t tensor,
                                   bool &mayWatch) {
  for (Blocker next = blocker; next.stream >= 0;) {
    Stream &stream = *streams[next.stream];
    uint64_t sequence = stream.next();
    // The instruction is enqueued, and about to be done.
    if (next.count <= sequence)
      break;
    next = findBlocker(stream, sequence);
    if (next.tensor >= 0 && !mayBeGiven(next))
      return impossible(stream, sequence, next, tensor);
  }
  if (!std::exchange(mayWatch, false) ||
      !watch(*blocker.timeline, blocker.target))
    blocker.timeline->sleep(blocker.target, options.timeout / 10);
  return absl::OkStatus();
}

/// Tries once to bring a stream closer to `target`.
absl::Status Executor::help(Stream &stream, uint64_t target, int64_t tensor,
                            const Queue &queue, bool &mayWatch) {
  uint64_t next = stream.next();
  Blocker blocker = {&progressOf(stream, queue), target, -1, stream.number,
                     target};
  // Otherwise it is enqueued, and about to be done.
  if (next < target) {
    if (Blocker found = findBlocker(stream, next)) {
      if (found.tensor >= 0 && !mayBeGiven(found))
        return impossible(stream, next, found, tensor);
      blocker = found;
    } else if (stream.take(next)) {
      return execute(stream, next);
    }
  }
  return awaitStream(blocker, tensor, mayWatch);
}

bool Executor::isReached(StreamPoint point, int64_t step) const {
  const Stream &stream = *streams[point.stream];
  return stream.completed.reached(targetOf(stream, point, step));
}

absl::Status Executor::waitFor(StreamPoint point, int64_t step, int64_t tensor,
                               Queue &queue) {
  Stream &stream = *streams[point.stream];
  const uint64_t target = targetOf(stream, point, step);
  if (stream.completed.reached(target))
    return absl::OkStatus();
  const int64_t startNs = TraceWriter::nowNs();
  awaited.store(tensor, std::memory_order_relaxed);
  bool mayWatch = true;
  absl::Status status;
  while (status.ok() && !isPassed(stream, target, queue))
    status =
        hasFailed() ? failure() : help(stream, target, tensor, queue, mayWatch);
  if (status.ok() && !stream.completed.reached(target))
    queue.follow(stream.completed, target);
  awaited.store(kNothing, std::memory_order_relaxed);
  waited += TraceWriter::nowNs() - startNs;
  return status;
}

bool Executor::isStepReached(int64_t step) const {
  for (auto &stream : streams)
    if (stream && !isReached({stream->number,
                              static_cast<uint32_t>(stream->slots.size())},
                             step))
      return false;
  return true;
}

void Executor::notify(const std::vector<StreamPoint> &points, int64_t step,
                      std::function<void(const absl::Status &)> done) {
  follow(std::make_shared<Notification>(
      Notification{points, 0, step, std::move(done)}));
}

/// Continues with the next stream that has not reached its point, or calls
/// `done`.
void Executor::follow(const std::shared_ptr<Notification> &notification) {
  int64_t step = notification->step;
  while (notification->next < notification->points.size() && !hasFailed()) {
    StreamPoint point = notification->points[notification->next++];
    if (isReached(point, step))
      continue;
    Stream &stream = *streams[point.stream];
    stream.completed.onReached(targetOf(stream, point, step),
                               [this, notification] { follow(notification); });
    return;
  }
  notification->done(hasFailed() ? failure() : absl::OkStatus());
}

absl::Status Executor::waitForStep(int64_t step) {
  for (auto &stream : streams)
    if (stream) {
      StreamPoint all = {stream->number,
                         static_cast<uint32_t>(stream->slots.size())};
      if (absl::Status status = waitFor(all, step, -1, hostQueue());
          !status.ok())
        return status;
    }
  return absl::OkStatus();
}

} // namespace bagua::runtime
