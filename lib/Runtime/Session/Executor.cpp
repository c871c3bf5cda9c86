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
#include "Plan/PhaseTable.h"
#include "Session/RankPlace.h"

#include "bagua/Support/TraceWriter.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include <algorithm>
#include <iterator>
#include <optional>
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

} // namespace

Executor::Executor(const Plan &loaded, World &ownWorld, Backend &backend,
                   const SessionOptions &sessionOptions)
    : plan(loaded), world(ownWorld), device(backend.device()),
      ordersLaunches(!backend.traits().launchesInAnyOrder),
      options(sessionOptions), rank(ownWorld.rank()),
      messages(loaded, ownWorld.rank()), agreement(loaded),
      given(loaded.root().tensors()->size()), promised(given.size()) {}

Executor::~Executor() { stop().IgnoreError(); }

/// Null if no program has work for the stream.
std::unique_ptr<Executor::Stream> Executor::makeStream(uint32_t number) {
  auto made = std::make_unique<Stream>();
  made->number = number;
  bool hasWork = false;
  for (const StreamPrograms &program : sequences.all()) {
    const auto &list = program.streams[number];
    std::vector<Slot> &slots = made->programs.emplace_back();
    slots.reserve(list.size());
    for (const ScheduledInstruction &scheduled : list) {
      const auto carriers = absl::MakeConstSpan(list).first(slots.size() + 1);
      slots.push_back({operations[scheduled.instruction].get(), &scheduled,
                       std::array{CollectiveFacts(agreement, carriers, 0),
                                  CollectiveFacts(agreement, carriers, 1)}});
    }
    hasWork |= !slots.empty();
  }
  return hasWork ? std::move(made) : nullptr;
}

absl::Status
Executor::start(std::vector<std::unique_ptr<Operation>> newOperations,
                IterationPrograms programs, int64_t first) {
  operations = std::move(newOperations);
  sequences.start(std::move(programs.programs));
  joinedPrograms = std::move(programs.joined);
  firstStep = first;
  const size_t count = sequences.all().front().streams.size();
  notes.resize(count);
  threadCount = 1;
  std::vector<std::unique_ptr<Stream>> made;
  for (uint32_t i = 0; i < count; ++i) {
    made.push_back(makeStream(i));
    if (!made[i])
      continue;
    if (WorkWatch *watch = world.workWatch())
      made[i]->station = std::make_unique<WorkWatch::Station>(
          *watch, [this, stream = made[i].get()] {
            return describeCall(*stream, stream->next());
          });
    ++threadCount;
  }
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

absl::Status Executor::startQueue(Stream &stream) {
  auto queue = device.createQueue([this, &stream](const absl::Status &why) {
    failLate(stream, why).IgnoreError();
  });
  if (!queue.ok())
    return messages.startFailed(stream.number, "queue",
                                queue.status().message());
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
    return messages.startFailed(stream.number, "thread", error.what());
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

/// The first error of any rank holds.
absl::Status Executor::failure() const {
  std::lock_guard<std::mutex> lock(failureMutex);
  if (failureStatus.ok()) {
    absl::Status held = world.status();
    std::lock_guard<std::mutex> alive(streamsMutex);
    std::optional<CurrentCall> current;
    if (const Stream *stream = streamInProgress())
      current = callOf(*stream, stream->completed.value());
    failureStatus =
        withRankPlace(messages.runFailed(held, current), plan, world);
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
    options.onWarning(messages.ofRank(text));
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
    return absl::StrCat("the ", messages.barrier(firstStep + step));
  if (number >= streams.size() || !streams[number])
    return {};
  return describeCall(*streams[number], streams[number]->completed.value());
}

std::string Executor::describeCall(const Stream &stream,
                                   uint64_t sequence) const {
  const CurrentCall current = callOf(stream, sequence);
  return messages.call(current.instruction, current.step);
}

std::pair<const Executor::Slot *, int64_t>
Executor::nextSlot(const Stream &stream, uint64_t sequence) const {
  const Position at = sequences.positionOf(stream.number, sequence);
  const auto &slots = stream.programs[sequences.programNumber(at.step)];
  if (at.slot < slots.size())
    return {&slots[at.slot], at.step};
  auto hasWork = [](const std::vector<Slot> &list) { return !list.empty(); };
  // Before the first step is open, there is no step behind it.
  const int64_t step = sequence == 0 ? 0 : at.step + 1;
  const auto &own = stream.programs[programAt(firstStep + step)];
  const auto &others = stream.programs;
  const auto &next =
      hasWork(own) ? own : *std::find_if(others.begin(), others.end(), hasWork);
  return {&next.front(), step};
}

uint32_t Executor::programAt(int64_t iteration) const {
  auto joined = joinedPrograms.find(iteration);
  return joined == joinedPrograms.end() ? stepOf(plan.root(), iteration)
                                        : joined->second;
}

CurrentCall Executor::callOf(const Stream &stream, uint64_t sequence) const {
  auto [slot, step] = nextSlot(stream, sequence);
  return {slot->scheduled->instruction, firstStep + step, stream.isTaken()};
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
      fail(messages.giftFailed(slot.scheduled->instruction,
                               static_cast<uint32_t>(blocker.tensor),
                               firstStep +
                                   static_cast<int64_t>(blocker.target) - 1))
          .IgnoreError();
      return false;
    }
    std::chrono::nanoseconds waited = Clock::now() - begin;
    if (!hasWarned && waited >= patience) {
      hasWarned = true;
      std::string what =
          absl::StrCat(messages.instruction(slot.scheduled->instruction), " ",
                       messages.waits(blocker.tensor, blocker.stream));
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

//===----------------------------------------------------------------------===//
// Streams
//===----------------------------------------------------------------------===//

/// Fails with an error of the instruction that a stream runs.
absl::Status Executor::failCall(const Stream &stream, uint64_t sequence,
                                const absl::Status &status) {
  const CurrentCall current = callOf(stream, sequence);
  return fail(messages.callFailed(status, current.instruction, current.step));
}

/// Fails with an error of work that a stream has enqueued before.
absl::Status Executor::failLate(const Stream &stream,
                                const absl::Status &status) {
  const uint64_t sequence = stream.completed.value();
  auto [slot, step] = nextSlot(stream, sequence);
  const uint64_t count = countOf(step);
  for (uint32_t tensor : slot->scheduled->waits.ready)
    if (!hasFailed() && given[tensor].hasFailed() &&
        !given[tensor].reached(count))
      return fail(messages.giftFailed(slot->scheduled->instruction, tensor,
                                      firstStep + step));
  return failCall(stream, sequence, status);
}

/// Makes a collective carry what is stated of its step, and of the tensors
/// given before it.
void Executor::agree(Stream &stream, Position at, const Slot &slot) {
  if (at.slot == 0)
    stream.carried = 0;
  const int64_t step = at.step;
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
  return fail(messages.barrierFailed(status, firstStep + next));
}

absl::Status Executor::enqueue(Stream &stream, const Slot &slot, int64_t step) {
  AtWork work(stream.station.get());
  if (options.onInstruction)
    options.onInstruction(step, slot.scheduled->instruction);
  return slot.operation->enqueue(*stream.queue, step);
}

/// Enqueues instruction `sequence` of a stream, which the caller has taken
/// after it found its position.
absl::Status Executor::execute(Stream &stream, uint64_t sequence, Position at) {
  const Slot &slot = *slotAt(stream, at);
  int64_t step = firstStep + at.step;
  int64_t startNs = options.trace ? TraceWriter::nowNs() : 0;
  agree(stream, at, slot);
  if (follows)
    followConditions(stream, at, slot.scheduled->waits);
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
          {plan.instruction(slot.scheduled->instruction).name()->str(),
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
  if (ordersLaunches && slot.scheduled->launch >= 0) {
    launches.signal(launches.value() + 1); // nobody else's turn
    launches.tell();
  }
  stream.since.store(nowMilliseconds(), std::memory_order_relaxed);
  stream.completed.tell();
  return absl::OkStatus();
}

/// Waits until nothing blocks an instruction of a stream, or another thread has
/// enqueued it; returns false if the run ends before.
bool Executor::awaitBlockers(Stream &stream, uint64_t sequence, Position at) {
  while (true) {
    // Read before looking for a blocker, so that no instruction that waits for
    // it has begun.
    const int64_t startNs = recorder ? TraceWriter::nowNs() : 0;
    const Blocker blocker = findBlocker(stream, at);
    // The program's thread may have enqueued the instruction and gone on for
    // steps. What was found is then of positions that are forgotten. If not,
    // the instruction's step has not ended, and all positions were right.
    if (!blocker || stream.next() != sequence)
      return true;
    const bool isGift = blocker.tensor >= 0;
    const bool isFree = isGift ? awaitGift(stream, *slotAt(stream, at), blocker)
                               : await(*blocker.timeline, blocker.target);
    if (recorder)
      recorder->recordObstacle(
          stream.number, at.step,
          isGift ? StepRecorder::kGift : StepRecorder::kStream,
          isGift ? blocker.tensor : blocker.stream, startNs);
    if (!isFree)
      return false;
  }
}

/// Waits until a step with the instruction is open; returns false if the run
/// ends before.
bool Executor::awaitOpening(const Stream &stream, uint64_t sequence) {
  while (true) {
    // Read before asking, so that no step is missed.
    const uint64_t count = opened.value();
    if (sequences.isOpen(stream.number, sequence))
      return true;
    if (!await(opened, count + 1))
      return false;
  }
}

void Executor::runStream(Stream &stream) {
  if (stream.station)
    stream.station->attend();
  while (true) {
    const uint64_t sequence = stream.next();
    if (!awaitOpening(stream, sequence))
      return;
    const Position at = sequences.positionOf(stream.number, sequence);
    if (!awaitBlockers(stream, sequence, at) || isOver())
      return;
    if (stream.take(sequence)) {
      if (!execute(stream, sequence, at).ok())
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

/// The program waits for a tensor or, if it is -1, for a step. The instruction
/// that comes first waits for a tensor that is not given while it waits.
absl::Status Executor::waitCannotEnd(const Stream &stream, uint64_t sequence,
                                     const Blocker &blocker, int64_t tensor) {
  const CurrentCall current = callOf(stream, sequence);
  return fail(messages.waitCannotEnd(tensor, current.instruction,
                                     static_cast<uint32_t>(blocker.tensor),
                                     current.step));
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
    next = findBlocker(stream, sequences.positionOf(next.stream, sequence));
    if (next.tensor >= 0 && !mayBeGiven(next))
      return waitCannotEnd(stream, sequence, next, tensor);
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
    const Position at = sequences.positionOf(stream.number, next);
    if (Blocker found = findBlocker(stream, at)) {
      if (found.tensor >= 0 && !mayBeGiven(found))
        return waitCannotEnd(stream, next, found, tensor);
      blocker = found;
    } else if (stream.take(next)) {
      return execute(stream, next, at);
    }
  }
  return awaitStream(blocker, tensor, mayWatch);
}

bool Executor::isReached(StreamPoint point, int64_t step) const {
  return sequences.isForgotten(step) ||
         streams[point.stream]->completed.reached(
             sequences.countAt(point, step));
}

absl::Status Executor::waitFor(StreamPoint point, int64_t step, int64_t tensor,
                               Queue &queue) {
  if (sequences.isForgotten(step))
    return absl::OkStatus();
  Stream &stream = *streams[point.stream];
  const uint64_t target = sequences.countAt(point, step);
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
  return std::all_of(streams.begin(), streams.end(), [&](auto &stream) {
    return !stream || isReached(sequences.endOf(stream->number, step), step);
  });
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
    stream.completed.onReached(sequences.countAt(point, step),
                               [this, notification] { follow(notification); });
    return;
  }
  notification->done(hasFailed() ? failure() : absl::OkStatus());
}

absl::Status Executor::waitForStep(int64_t step) {
  for (auto &stream : streams)
    if (stream)
      if (absl::Status status = waitFor(sequences.endOf(stream->number, step),
                                        step, -1, cpuQueue());
          !status.ok())
        return status;
  return absl::OkStatus();
}

} // namespace bagua::runtime
