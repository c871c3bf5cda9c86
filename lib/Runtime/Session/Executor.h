//===- Executor.h - Runs the instructions of a plan on a rank's streams ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each stream that has work has a queue of the device, and a thread that
// enqueues instructions there. Conditions of an instruction are that tensors
// were given in its step, and that instructions of other streams are complete.
// Each condition is a Timeline. A queue that can follow timelines awaits them
// itself, and the thread only awaits their signals being enqueued. The CPU's
// queue can't: the thread awaits the conditions, and enqueueing an instruction
// runs it.
//
// If the backend's communicators need one order of launches, collectives are
// enqueued in the plan's order over all streams.
//
// A program thread that waits for a stream enqueues the stream's next
// instructions itself if the stream's thread is not doing so, which saves two
// wake-ups. The thread that takes an instruction enqueues it.
//
// No wait here has a timeout of its own: collectives have one, and every other
// wait follows from them or from the program.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_SESSION_EXECUTOR_H
#define BAGUA_LIB_RUNTIME_SESSION_EXECUTOR_H

#include "Communication/WaitReport.h"
#include "Communication/WorkWatch.h"
#include "Session/ExecutorMessages.h"
#include "Session/Operation.h"
#include "Session/StepAgreement.h"
#include "Session/StepRecorder.h"
#include "Session/StepSequence.h"
#include "Session/StreamPrograms.h"
#include "bagua/Runtime/Device.h"

#include "bagua/Runtime/Backend.h"
#include "bagua/Runtime/Plan.h"
#include "bagua/Runtime/Queue.h"
#include "bagua/Runtime/SessionOptions.h"
#include "bagua/Runtime/Timeline.h"
#include "bagua/Support/StepsInFlight.h"

#include "absl/status/status.h"
#include "absl/types/span.h"

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace bagua::runtime {

class Executor {
public:
  Executor(const Plan &plan, World &world, Backend &backend,
           const SessionOptions &options);
  ~Executor();

  /// Records the work of streams from start() on; null records nothing. The
  /// recorder outlives the threads. If the run has failed, each thread calls
  /// `onFailure` as it ends.
  void recordTo(StepRecorder *to, std::function<void()> onFailure) {
    recorder = to;
    whenFailed = std::move(onFailure);
  }

  /// Takes an operation for each instruction (null if there is nothing to do)
  /// and starts the threads. `firstStep` is the number of the first step.
  /// ResourceExhausted if no threads can be created; then, and after stop(),
  /// start() may be called again.
  absl::Status start(std::vector<std::unique_ptr<Operation>> operations,
                     IterationPrograms programs, int64_t firstStep);
  /// Stops the threads. A thread in a collective stops when that ends or is
  /// aborted.
  void stopThreads();
  /// Stops the threads, and waits for the device. DeadlineExceeded if the
  /// device has not ended its work within the session's timeout: then its work
  /// goes on with this executor's timelines, which must not be destroyed.
  absl::Status stop();

  // For the program's thread. Steps count from 0 at start().

  /// Lets the streams begin the next step, by one of the programs.
  void openStep(int64_t step, uint32_t program) {
    agreement.open(step);
    sequences.open(step, program);
    opened.signal(countOf(step));
    opened.tell();
  }
  /// Gives `tensor`: it may be used when the work that `queue` has so far is
  /// done. Called at most once for a tensor in each step.
  void give(uint32_t tensor, int64_t step, Queue &queue);
  /// Whether the point is reached in `step`. Never blocks.
  bool isReached(StreamPoint point, int64_t step) const;
  /// Makes `queue` wait until the point is reached in `step`. `tensor` is for
  /// messages; -1 if no tensor is waited for.
  absl::Status waitFor(StreamPoint point, int64_t step, int64_t tensor,
                       Queue &queue);
  /// Waits until all of `step` is done.
  absl::Status waitForStep(int64_t step);
  /// Meets the other members of each group, in this order, after all steps
  /// before `next` have ended and before `next` is opened. The meetings carry
  /// the facts that the program states.
  absl::Status meet(absl::Span<Communicator *const> groups, int64_t next);
  /// Whether all of `step` is done. Never blocks.
  bool isStepReached(int64_t step) const;
  /// Calls `done` once, when all points are reached in `step` or the run has
  /// failed, on this thread or a stream's. `points` must stay valid until then.
  void notify(const std::vector<StreamPoint> &points, int64_t step,
              std::function<void(const absl::Status &)> done);

  /// Makes every call on every rank return `why`, unless there was an error
  /// before. Returns the error that holds.
  absl::Status fail(const absl::Status &why);
  /// Whether this rank or another one has failed.
  bool hasFailed() const { return failed.load(std::memory_order_acquire); }
  absl::Status failure() const;

  /// For the communicators of a stream, on the thread that runs it: passes on
  /// their warnings, and says what their call is for.
  void warnOfStream(uint32_t stream, const std::string &text);
  std::string describeCall(uint32_t stream) const;

  /// The facts that the program states.
  StepAgreement &stated() { return agreement; }

  const StepSequence &steps() const { return sequences; }
  /// The number of an iteration's program among those of steps().
  uint32_t programAt(int64_t iteration) const;
  int64_t bytesSent() const { return bytesSentIn(0) + bytesSentIn(1); }
  /// Bytes sent in all steps of the same side (even or odd) as `step`.
  int64_t bytesSentIn(int64_t step) const {
    return sent[step % kStepsInFlight].load(std::memory_order_relaxed);
  }
  /// How long the program's thread has waited for streams since start().
  int64_t waitedNs() const { return waited; }

  /// The texts of this rank's errors.
  const ExecutorMessages &words() const { return messages; }

private:
  /// Stands for no tensor, if the program waits for nothing.
  static constexpr int64_t kNothing = -2;
  static int64_t nowMilliseconds();

  struct Slot {
    Operation *operation;
    const ScheduledInstruction *scheduled;
    /// For even and for odd steps.
    std::array<CollectiveFacts, kStepsInFlight> facts;
  };

  /// A stream that has work.
  struct alignas(64) Stream {
    /// By program; empty where it has none for the stream.
    std::vector<std::vector<Slot>> programs;
    uint32_t number = 0;
    std::thread thread;
    std::unique_ptr<Queue> queue;
    /// Counts completed instructions since start().
    Timeline completed;
    /// Counts enqueued instructions, if queues can follow timelines.
    Timeline launched;
    /// The station of the thread that runs the stream; null if nobody watches.
    std::unique_ptr<WorkWatch::Station> station;
    /// When the stream last completed an instruction, on the steady clock.
    std::atomic<int64_t> since{nowMilliseconds()};
    /// Whether other ranks were told what the stream waits for.
    std::atomic<bool> hasNote{false};
    /// The sum of the shares of tensors whose facts the stream's collectives
    /// have carried in this step.
    uint64_t carried = 0;

    /// The next instruction to be enqueued, counted since start().
    uint64_t next() const { return turn.load(std::memory_order_acquire) >> 1; }
    /// Tries to take instruction `sequence`. If it succeeds, no other thread
    /// has taken it, and the caller must run it.
    bool take(uint64_t sequence) {
      uint64_t free = sequence << 1;
      return turn.load(std::memory_order_relaxed) == free &&
             turn.compare_exchange_strong(free, free | 1,
                                          std::memory_order_acquire,
                                          std::memory_order_relaxed);
    }
    bool isTaken() const { return turn.load(std::memory_order_acquire) & 1; }
    void pass(uint64_t sequence) {
      turn.store((sequence + 1) << 1, std::memory_order_release);
    }

  private:
    /// Twice the next instruction, plus 1 while a thread runs it. This is one
    /// word, so that no thread takes an instruction that is done.
    alignas(64) std::atomic<uint64_t> turn{0};
  };

  /// The condition that an instruction waits for.
  struct Blocker {
    Timeline *timeline = nullptr;
    uint64_t target = 0;
    /// A tensor that must be given, or -1.
    int64_t tensor = -1;
    /// A stream, or -1, and how many instructions it must have enqueued.
    int64_t stream = -1;
    uint64_t count = 0;
    explicit operator bool() const { return timeline != nullptr; }
  };

  /// A callback to be called when several streams have reached their points.
  struct Notification {
    const std::vector<StreamPoint> &points;
    /// The first of the points that may not have been reached.
    size_t next;
    int64_t step;
    std::function<void(const absl::Status &)> done;
  };

  void follow(const std::shared_ptr<Notification> &notification);
  void runStream(Stream &stream);
  bool await(Timeline &timeline, uint64_t target);
  absl::Status startQueue(Stream &stream);
  absl::Status startThread(Stream &stream);
  bool awaitGift(Stream &stream, const Slot &slot, const Blocker &blocker);
  bool awaitBlockers(Stream &stream, uint64_t sequence, Position at);
  std::unique_ptr<Stream> makeStream(uint32_t number);
  /// Null if there is none: the position was asked for after its step ended.
  const Slot *slotAt(const Stream &stream, Position position) const {
    const auto &slots = stream.programs[sequences.programNumber(position.step)];
    return position.slot < slots.size() ? &slots[position.slot] : nullptr;
  }
  /// The instruction, or the first one of the stream's next step if that is not
  /// open.
  std::pair<const Slot *, int64_t> nextSlot(const Stream &stream,
                                            uint64_t sequence) const;
  Blocker findBlocker(const Stream &stream, Position at) const;
  Blocker findLaunchBefore(Position at, int64_t launch) const;
  void followConditions(Stream &stream, Position at, const Conditions &waits);
  void admitTimelines();
  void dismissTimelines();
  void failTimeline(Timeline &timeline);
  void agree(Stream &stream, Position at, const Slot &slot);
  bool awaitOpening(const Stream &stream, uint64_t sequence);
  absl::Status enqueue(Stream &stream, const Slot &slot, int64_t step);
  absl::Status execute(Stream &stream, uint64_t sequence, Position at);
  const Stream *streamInProgress() const;
  CurrentCall callOf(const Stream &stream, uint64_t sequence) const;
  std::string describeCall(const Stream &stream, uint64_t sequence) const;
  absl::Status failCall(const Stream &stream, uint64_t sequence,
                        const absl::Status &status);
  absl::Status failLate(const Stream &stream, const absl::Status &status);
  absl::Status help(Stream &stream, uint64_t target, int64_t tensor,
                    const Queue &queue, bool &mayWatch);
  absl::Status awaitStream(Blocker blocker, int64_t tensor, bool &mayWatch);
  absl::Status waitCannotEnd(const Stream &stream, uint64_t sequence,
                             const Blocker &blocker, int64_t tensor);
  static bool isPassed(const Stream &stream, uint64_t target,
                       const Queue &queue);
  /// The count by which a thread hears that isPassed() has become true.
  Timeline &progressOf(Stream &stream, const Queue &queue) const {
    return follows && queue.canFollow() ? stream.launched : stream.completed;
  }
  /// Whether the program has given the tensor, even if its queue still works.
  bool isPromised(uint32_t tensor, uint64_t count) const {
    return given[tensor].reached(count) || promised[tensor].reached(count);
  }
  /// Whether an instruction that needs the tensor can be enqueued. A queue that
  /// can follow timelines awaits the program's work itself.
  bool isGiven(uint32_t tensor, uint64_t count) const {
    return follows ? isPromised(tensor, count) : given[tensor].reached(count);
  }
  bool mayBeGiven(const Blocker &blocker) const {
    return isPromised(static_cast<uint32_t>(blocker.tensor), blocker.target);
  }
  std::string describeObstacle(const Stream &stream, uint64_t sequence) const;
  std::string describeStream(const Stream &stream) const;
  std::string describeGifts() const;
  void appendWaits(std::string &text) const;
  void warn(const std::string &text);
  void note(Stream &stream, const std::string &what);
  bool isOver() const { return hasFailed() || isStopping; }
  void failAll();

  /// The count of a timeline of steps once `step` has come.
  static uint64_t countOf(int64_t step) {
    return static_cast<uint64_t>(step) + 1;
  }

  const Plan &plan;
  World &world;
  Device &device;
  const bool ordersLaunches;
  const SessionOptions &options;
  const int rank;
  const ExecutorMessages messages;

  std::vector<std::unique_ptr<Operation>> operations;
  StepSequence sequences;
  /// See IterationPrograms.
  std::map<int64_t, uint32_t> joinedPrograms;
  StepAgreement agreement;
  /// Indexed by the stream's number in the plan; null if it has no work.
  std::vector<std::unique_ptr<Stream>> streams;
  /// Held while streams are created or destroyed, and by threads that may run
  /// then. Locked after `failureMutex`.
  mutable std::mutex streamsMutex;
  /// By tensor: the newest step in which it was given, as a count. Mutable, as
  /// those who look at a condition may sleep until it holds.
  mutable std::vector<Timeline> given;
  /// The counts that `given` will reach, as the program has said by a queue
  /// that works late.
  mutable std::vector<Timeline> promised;
  /// Whether queues of the device can follow timelines.
  bool follows = false;
  /// The number of collectives that were enqueued since start(), if their order
  /// matters.
  mutable Timeline launches;
  /// The number of opened steps.
  Timeline opened;
  int64_t firstStep = 0;
  int threadCount = 0;
  std::atomic<bool> isStopping{false};
  /// Bytes sent in even and in odd steps.
  std::array<std::atomic<int64_t>, kStepsInFlight> sent{};
  /// Used by the program's thread alone.
  int64_t waited = 0;
  StepRecorder *recorder = nullptr;
  std::function<void()> whenFailed;

  std::atomic<bool> failed{false};
  mutable std::mutex failureMutex;
  mutable absl::Status failureStatus;

  std::mutex noteMutex;
  /// By the stream's number: what other ranks are told that it waits for.
  std::vector<std::string> notes;

  /// The tensor that the program waits for; -1 for the end of a step.
  std::atomic<int64_t> awaited{kNothing};
  /// The step before which the program meets the other ranks.
  std::atomic<int64_t> meetingBefore{kNothing};
  const WaitReport report{[this](std::string &text) { appendWaits(text); }};
};

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_SESSION_EXECUTOR_H
