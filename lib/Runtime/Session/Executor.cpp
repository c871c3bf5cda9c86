//===- Executor.cpp - Runs the instructions of a plan on a rank's streams -===//
//
// Threads, waits and errors. Nothing here allocates or locks unless something
// went wrong or a trace is recorded.
//
//===----------------------------------------------------------------------===//
#include "Session/Executor.h"

#include "bagua/Support/TraceWriter.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

#include <algorithm>
#include <utility>

namespace bagua::runtime {
namespace {

using Clock = std::chrono::steady_clock;

/// How soon a sleeper notices that another rank has failed.
constexpr std::chrono::milliseconds kSlice(20);
/// About 20 us.
constexpr int kSpins = 1000;

/// Threads of all sessions of this process, the programs' included.
std::atomic<int> &liveThreads() {
  static std::atomic<int> count{0};
  return count;
}

bool haveCoresForAll() {
  static const int cores =
      static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  return liveThreads().load(std::memory_order_relaxed) <= cores;
}

/// Not a copy, which would share a reference count that lives in a library
/// without ThreadSanitizer's instrumentation.
absl::Status duplicate(const absl::Status &status) {
  return absl::Status(status.code(), std::string(status.message()));
}

int64_t stepOf(uint64_t sequence, size_t length) {
  return static_cast<int64_t>(sequence / length);
}

std::string durationToString(std::chrono::nanoseconds duration) {
  return absl::FormatDuration(absl::FromChrono(duration));
}

} // namespace

Executor::Executor(const Plan &loaded, World &ownWorld,
                   const SessionOptions &sessionOptions)
    : plan(loaded), world(ownWorld), options(sessionOptions),
      rank(ownWorld.rank()), given(loaded.root().tensors()->size()) {}

Executor::~Executor() { stop(); }

void Executor::start(std::vector<std::unique_ptr<Operation>> newOperations,
                     StreamPrograms schedule, int64_t first) {
  operations = std::move(newOperations);
  steps = std::move(schedule);
  firstStep = first;
  threadCount = 1;
  for (size_t i = 0; i < steps.streams.size(); ++i) {
    streams.push_back(nullptr);
    if (steps.streams[i].empty())
      continue;
    streams[i] = std::make_unique<Stream>();
    streams[i]->number = static_cast<uint32_t>(i);
    for (const ScheduledInstruction &scheduled : steps.streams[i])
      streams[i]->slots.push_back(
          {operations[scheduled.instruction].get(), &scheduled});
    ++threadCount;
  }
  liveThreads() += threadCount;
  for (auto &stream : streams)
    if (stream)
      stream->thread = std::thread([this, &stream] { runStream(*stream); });
}

void Executor::stop() {
  isStopping.store(true, std::memory_order_release);
  wakeAll();
  for (auto &stream : streams)
    if (stream && stream->thread.joinable())
      stream->thread.join();
  liveThreads() -= std::exchange(threadCount, 0);
}

void Executor::wakeAll() {
  opened.wakeAll();
  for (Counter &counter : given)
    counter.wakeAll();
  for (auto &stream : streams)
    if (stream)
      stream->completed.wakeAll();
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

absl::Status Executor::fail(const absl::Status &why) {
  world.abort(why);
  {
    std::lock_guard<std::mutex> lock(failureMutex);
    if (failureStatus.ok()) {
      // The first error of any rank holds. Those of sessions begin with their
      // rank; what comes from a backend gets this rank's view in front.
      absl::Status held = world.status();
      if (absl::StartsWith(held.message(), "rank "))
        failureStatus = duplicate(held);
      else if (absl::StrContains(why.message(), held.message()))
        failureStatus = duplicate(why);
      else
        failureStatus = absl::Status(
            held.code(), absl::StrCat("rank ", rank, ": ", held.message()));
    }
  }
  failed.store(true, std::memory_order_release);
  wakeAll();
  return failure();
}

absl::Status Executor::failure() const {
  std::lock_guard<std::mutex> lock(failureMutex);
  return duplicate(failureStatus);
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
  // The tensors that a reader knows it by.
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
    absl::StrAppend(&text, i ? ", " : ", which touches ", names[i]);
  if (names.size() > kShown)
    absl::StrAppend(&text, " and ", names.size() - kShown, " more");
  return text;
}

std::string Executor::describeBlocker(const Slot &slot,
                                      const Blocker &blocker) const {
  std::string text = describe(slot.scheduled->instruction);
  if (blocker.tensor >= 0)
    absl::StrAppend(&text, " waits for tensor ",
                    tensorName(static_cast<uint32_t>(blocker.tensor)),
                    ", which the program has not given");
  else if (blocker.stream >= 0)
    absl::StrAppend(&text, " waits for stream '",
                    plan.root().streams()->Get(blocker.stream)->str(), "'");
  else
    absl::StrAppend(&text, " is running");
  return text;
}

/// Who waits for whom, from the program's side.
std::string Executor::describeWait(const Stream &stream, uint64_t target,
                                   int64_t tensor) const {
  std::string text =
      tensor >= 0 ? absl::StrCat("wait for tensor ",
                                 tensorName(static_cast<uint32_t>(tensor)))
                  : "wait for the end of a step";
  uint64_t next = stream.next.load(std::memory_order_acquire);
  if (next >= target)
    return text;
  const Slot &slot = stream.slots[next % stream.slots.size()];
  Blocker blocker = const_cast<Executor *>(this)->findBlocker(
      slot, stepOf(next, stream.slots.size()));
  return absl::StrCat(text, ": ", describeBlocker(slot, blocker));
}

absl::Status Executor::impossible(const Slot &slot, const Blocker &blocker,
                                  int64_t tensor, int64_t step) {
  return fail(absl::FailedPreconditionError(absl::StrCat(
      "rank ", rank, ": ",
      tensor >= 0 ? absl::StrCat("wait for tensor ",
                                 tensorName(static_cast<uint32_t>(tensor)))
                  : "wait for the end of a step",
      " can't end: ", describeBlocker(slot, blocker), " in step ",
      firstStep + step)));
}

//===----------------------------------------------------------------------===//
// Waiting
//===----------------------------------------------------------------------===//

/// Watches or sleeps for a while. An error if this or another rank has failed,
/// or the wait's time is over; `describe` says what for.
template <typename Describe>
absl::Status Executor::pause(Counter &counter, uint32_t target, Wait &wait,
                             Describe describe) {
  if (!wait.hasBegun) {
    wait.hasBegun = true;
    if (haveCoresForAll())
      for (int i = 0; i < kSpins; ++i) {
        if (counter.reached(target))
          return absl::OkStatus();
        spinPause();
      }
    wait.begin = Clock::now();
  }
  counter.sleep(target, std::min<std::chrono::nanoseconds>(kSlice, wait.limit));
  if (counter.reached(target))
    return absl::OkStatus();
  if (hasFailed())
    return failure();
  if (absl::Status status = world.status(); !status.ok())
    return fail(status);
  std::chrono::nanoseconds waited = Clock::now() - wait.begin;
  if (waited >= wait.limit)
    return fail(absl::DeadlineExceededError(
        absl::StrCat("rank ", rank, ": after ", durationToString(waited), ", ",
                     describe())));
  if (!wait.hasWarned && waited >= options.timeout / 10) {
    wait.hasWarned = true;
    if (options.onWarning)
      options.onWarning(absl::StrCat(
          "rank ", rank, ": for ", durationToString(waited), ", ", describe()));
  }
  return absl::OkStatus();
}

Executor::Blocker Executor::findBlocker(const Slot &slot, int64_t step) {
  const Conditions &waits = slot.scheduled->waits;
  auto now = static_cast<uint32_t>(step);
  // The last one to be given first.
  for (size_t i = waits.ready.size(); i-- > 0;)
    if (Counter &counter = given[waits.ready[i]]; !counter.reached(now + 1))
      return {&counter, now + 1, waits.ready[i], -1};
  auto blockedBy = [&](StreamPoint point, uint32_t since) -> Blocker {
    Stream &other = *streams[point.stream];
    uint32_t target =
        since * static_cast<uint32_t>(other.slots.size()) + point.count;
    if (other.completed.reached(target))
      return {};
    return {&other.completed, target, -1, point.stream};
  };
  for (StreamPoint point : waits.after)
    if (Blocker blocker = blockedBy(point, now))
      return blocker;
  if (step == 0)
    return {};
  for (uint32_t tensor : waits.readyPrevious)
    if (!given[tensor].reached(now))
      return {&given[tensor], now, tensor, -1};
  for (StreamPoint point : waits.afterPrevious)
    if (Blocker blocker = blockedBy(point, now - 1))
      return blocker;
  return {};
}

//===----------------------------------------------------------------------===//
// Streams
//===----------------------------------------------------------------------===//

/// Runs instruction `sequence` of a stream that the caller has taken, and
/// releases it.
absl::Status Executor::execute(Stream &stream, uint64_t sequence) {
  const Slot &slot = stream.slots[sequence % stream.slots.size()];
  int64_t step = firstStep + stepOf(sequence, stream.slots.size());
  int64_t startNs = options.trace ? TraceWriter::nowNs() : 0;
  if (slot.operation) {
    absl::Status status = slot.operation->run(step);
    // Not released: nobody may try again what has failed.
    if (!status.ok())
      return fail(absl::Status(
          status.code(),
          absl::StrCat("rank ", rank, ": ",
                       describe(slot.scheduled->instruction), " in step ", step,
                       ": ", status.message())));
    sent.fetch_add(slot.operation->bytesSent, std::memory_order_relaxed);
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
  stream.next.store(sequence + 1, std::memory_order_relaxed);
  stream.release();
  stream.completed.advance();
  return absl::OkStatus();
}

/// Until the program opens `step`; false when there is nothing more to do.
/// Without a limit: between steps a program may do what it likes.
bool Executor::awaitOpen(int64_t step) {
  auto target = static_cast<uint32_t>(step + 1);
  Wait wait;
  wait.limit = std::chrono::nanoseconds::max();
  wait.hasWarned = true;
  while (!opened.reached(target)) {
    if (isStopping.load(std::memory_order_acquire))
      return false;
    if (!pause(opened, target, wait, [] { return std::string(); }).ok())
      return false;
  }
  return !hasFailed() && !isStopping.load(std::memory_order_acquire);
}

/// Until nothing is in the way of an instruction of a stream.
absl::Status Executor::awaitBlockers(Stream &stream, uint64_t sequence) {
  const Slot &slot = stream.slots[sequence % stream.slots.size()];
  Wait wait;
  const Counter *last = nullptr;
  while (Blocker blocker =
             findBlocker(slot, stepOf(sequence, stream.slots.size()))) {
    if (isStopping.load(std::memory_order_acquire))
      return absl::CancelledError("stopped");
    if (std::exchange(last, blocker.counter) != blocker.counter) {
      wait = Wait();
      // For a tensor a tenth less, before the others give up in the collective
      // that this one is late for: the error that names the tensor comes first.
      wait.limit = options.timeout;
      if (blocker.tensor >= 0)
        wait.limit -= options.timeout / 10;
    }
    absl::Status status = pause(*blocker.counter, blocker.target, wait,
                                [&] { return describeBlocker(slot, blocker); });
    if (!status.ok())
      return status;
  }
  return absl::OkStatus();
}

void Executor::runStream(Stream &stream) {
  // While the program's thread is at an instruction, this one warns for it.
  Wait busy;
  uint64_t busySequence = 0;
  while (true) {
    uint64_t sequence = stream.next.load(std::memory_order_acquire);
    if (!awaitOpen(stepOf(sequence, stream.slots.size())) ||
        !awaitBlockers(stream, sequence).ok())
      return;
    if (!stream.take()) {
      if (!busy.hasBegun || std::exchange(busySequence, sequence) != sequence)
        busy = Wait();
      // The collective has a limit of its own.
      busy.limit = std::chrono::nanoseconds::max();
      const Slot &slot = stream.slots[sequence % stream.slots.size()];
      absl::Status status =
          pause(stream.completed, static_cast<uint32_t>(sequence + 1), busy,
                [&] { return describeBlocker(slot, {}); });
      if (!status.ok() || isStopping.load(std::memory_order_acquire))
        return;
      continue;
    }
    if (stream.next.load(std::memory_order_relaxed) != sequence) {
      stream.release();
      continue;
    }
    if (!execute(stream, sequence).ok())
      return;
  }
}

//===----------------------------------------------------------------------===//
// The program's side
//===----------------------------------------------------------------------===//

void Executor::give(uint32_t tensor, int64_t step) {
  Counter &counter = given[tensor];
  counter.advance(static_cast<uint32_t>(step + 1) - counter.value());
}

/// One attempt to bring a stream closer to `target`.
absl::Status Executor::help(Stream &stream, uint64_t target, int64_t tensor,
                            Wait &wait) {
  auto describe = [&] { return describeWait(stream, target, tensor); };
  if (!stream.take())
    return pause(stream.completed, static_cast<uint32_t>(target), wait,
                 describe);
  uint64_t next = stream.next.load(std::memory_order_relaxed);
  if (next >= target) {
    // Done; whoever did it is about to say so.
    stream.release();
    return pause(stream.completed, static_cast<uint32_t>(target), wait,
                 describe);
  }
  const Slot &slot = stream.slots[next % stream.slots.size()];
  int64_t step = stepOf(next, stream.slots.size());
  Blocker blocker = findBlocker(slot, step);
  if (!blocker)
    return execute(stream, next);
  stream.release();
  // Only this thread gives tensors, and it is here.
  if (blocker.tensor >= 0)
    return impossible(slot, blocker, tensor, step);
  return pause(*blocker.counter, blocker.target, wait, describe);
}

bool Executor::isReached(StreamPoint point, int64_t step) const {
  const Stream &stream = *streams[point.stream];
  return stream.completed.reached(static_cast<uint32_t>(
      static_cast<uint64_t>(step) * stream.slots.size() + point.count));
}

absl::Status Executor::waitFor(StreamPoint point, int64_t step,
                               int64_t tensor) {
  Stream &stream = *streams[point.stream];
  uint64_t target =
      static_cast<uint64_t>(step) * stream.slots.size() + point.count;
  auto reached = [&] { return isReached(point, step); };
  if (reached())
    return absl::OkStatus();
  Wait wait;
  wait.limit = options.timeout;
  while (!reached()) {
    if (hasFailed())
      return failure();
    if (absl::Status status = help(stream, target, tensor, wait); !status.ok())
      return status;
  }
  return absl::OkStatus();
}

absl::Status Executor::waitForStep(int64_t step) {
  for (auto &stream : streams)
    if (stream) {
      StreamPoint all = {stream->number,
                         static_cast<uint32_t>(stream->slots.size())};
      if (absl::Status status = waitFor(all, step, -1); !status.ok())
        return status;
    }
  return absl::OkStatus();
}

} // namespace bagua::runtime
