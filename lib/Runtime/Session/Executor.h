//===- Executor.h - Runs the instructions of a plan on a rank's streams ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each stream that has work has a queue of the device's, and a thread that
// enqueues instructions there: once the tensors they need were given in their
// step, and what they wait for on other streams is complete, or can be followed
// by the queue itself. Each of these is a Timeline. On the host's queue, to
// enqueue an instruction is to run it.
//
// A program thread that has to wait for a stream enqueues the stream's next
// instructions itself where the stream's thread is not at it, which saves two
// wake-ups. Whoever takes an instruction enqueues it.
//
// Nothing here has a time limit of its own: collectives have one, and whatever
// else is waited for follows from them or from the program.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_SESSION_EXECUTOR_H
#define BAGUA_LIB_RUNTIME_SESSION_EXECUTOR_H

#include "Communication/WaitReport.h"
#include "Communication/WorkWatch.h"
#include "Device/Device.h"
#include "Session/Operation.h"
#include "Session/StepAgreement.h"
#include "Session/StepRecorder.h"
#include "Session/StreamPrograms.h"

#include "bagua/Runtime/Communicator.h"
#include "bagua/Runtime/ErrorPlace.h"
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
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace bagua::runtime {

class Executor {
public:
  Executor(const Plan &plan, World &world, const SessionOptions &options);
  ~Executor();

  /// Has what streams do recorded from start() on; null: nothing. Outlives the
  /// threads. `onFailure` is called on their threads as they end where the run
  /// has failed.
  void recordTo(StepRecorder *to, std::function<void()> onFailure) {
    recorder = to;
    whenFailed = std::move(onFailure);
  }

  /// Takes an operation for each instruction (null: nothing to do) and starts
  /// the threads. `firstStep` is the number of the first step.
  /// ResourceExhausted where there are no threads to be had; then, and after
  /// stop(), it may be called again.
  absl::Status start(std::vector<std::unique_ptr<Operation>> operations,
                     StreamPrograms schedule, int64_t firstStep);
  /// Stops the threads: those in a collective when it ends or is aborted.
  void stop();

  // For the program's thread. Steps count from 0 at start().

  /// Opens the next step to the streams.
  void openStep(int64_t step) {
    agreement.open(step);
    opened.signal(countOf(step));
    opened.tell();
  }
  /// `tensor` is given, when what `queue` has so far is done. Each step gives a
  /// tensor once at most.
  void give(uint32_t tensor, int64_t step, Queue &queue);
  /// Whether the point is reached in `step`. Never blocks.
  bool isReached(StreamPoint point, int64_t step) const;
  /// Has `queue` wait until the point is reached in `step`; `tensor` is for
  /// messages, -1 if none is waited for.
  absl::Status waitFor(StreamPoint point, int64_t step, int64_t tensor,
                       Queue &queue);
  /// Waits for all of `step`.
  absl::Status waitForStep(int64_t step);
  /// Meets the other members of each group, in this order, once all steps
  /// before `next` have ended and before it is opened. Carries what is stated.
  absl::Status meet(absl::Span<Communicator *const> groups, int64_t next);
  /// Whether all of `step` is done. Never blocks.
  bool isStepReached(int64_t step) const;
  /// Has `done` called once, when all points are reached in `step` or the run
  /// has failed, on this thread or on a stream's. `points` outlive it.
  void notify(const std::vector<StreamPoint> &points, int64_t step,
              std::function<void(const absl::Status &)> done);

  /// Makes every call on every rank return `why`, unless there was an error
  /// before; returns the one that holds.
  absl::Status fail(const absl::Status &why);
  /// Whether this rank or another one has.
  bool hasFailed() const { return failed.load(std::memory_order_acquire); }
  absl::Status failure() const;

  /// For communicators of a stream, on the thread that is at it: hands on what
  /// they warn of, and says what their call is for.
  void warnOfStream(uint32_t stream, const std::string &text);
  std::string describeCall(uint32_t stream) const;

  /// What the program states.
  StepAgreement &stated() { return agreement; }

  const StreamPrograms &schedule() const { return steps; }
  int64_t bytesSent() const { return bytesSentIn(0) + bytesSentIn(1); }
  /// Of all steps of the same side as `step`: the even ones or the odd ones.
  int64_t bytesSentIn(int64_t step) const {
    return sent[step % kStepsInFlight].load(std::memory_order_relaxed);
  }
  /// How long the program's thread has waited for streams, since start().
  int64_t waitedNs() const { return waited; }

  /// "instruction 3 'bucket1' (all_reduce) on stream 'comm'".
  std::string describe(uint32_t instruction) const;
  std::string tensorName(uint32_t tensor) const;

private:
  /// In place of a tensor that the program waits for.
  static constexpr int64_t kNothing = -2;
  static int64_t nowMilliseconds();

  struct Slot {
    Operation *operation;
    const ScheduledInstruction *scheduled;
    /// In even and in odd steps.
    std::array<CollectiveFacts, kStepsInFlight> facts;
  };

  /// A stream with work.
  struct alignas(64) Stream {
    std::vector<Slot> slots;
    uint32_t number = 0;
    std::thread thread;
    std::unique_ptr<Queue> queue;
    /// Completed instructions since start().
    Timeline completed;
    /// Of the thread that is at it; null where nobody watches.
    std::unique_ptr<WorkWatch::Place> place;
    /// When it last came further, on the steady clock.
    std::atomic<int64_t> since{nowMilliseconds()};
    /// Whether others are told what it waits for.
    std::atomic<bool> hasNote{false};
    /// Shares of what was stated of the tensors that its collectives of this
    /// step have carried.
    uint64_t carried = 0;

    /// The next instruction to be enqueued, counted since start().
    uint64_t next() const { return turn.load(std::memory_order_acquire) >> 1; }
    /// Whether the caller is at instruction `sequence` now, which nobody was:
    /// it is the caller's to run.
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
    /// Twice the next instruction, and 1 while some thread is at it. One word,
    /// so that nobody takes an instruction that is done.
    alignas(64) std::atomic<uint64_t> turn{0};
  };

  /// What an instruction waits for.
  struct Blocker {
    Timeline *timeline = nullptr;
    uint64_t target = 0;
    /// A tensor to be given, else -1.
    int64_t tensor = -1;
    /// A stream, else -1.
    int64_t stream = -1;
    explicit operator bool() const { return timeline != nullptr; }
  };

  /// Who is told when several streams have come so far.
  struct Notification {
    const std::vector<StreamPoint> &points;
    /// Of the points: the first that may not have been reached.
    size_t next;
    int64_t step;
    std::function<void(const absl::Status &)> done;
  };

  void follow(const std::shared_ptr<Notification> &notification);
  void runStream(Stream &stream);
  bool await(Timeline &timeline, uint64_t target);
  absl::Status startThread(Stream &stream);
  absl::Status giftFailed(const Slot &slot, const Blocker &blocker);
  bool awaitGift(Stream &stream, const Slot &slot, const Blocker &blocker);
  bool awaitBlockers(Stream &stream, uint64_t sequence);
  Blocker findBlocker(Stream &stream, uint64_t sequence);
  void agree(Stream &stream, uint64_t sequence, const Slot &slot);
  absl::Status enqueue(Stream &stream, const Slot &slot, int64_t step);
  absl::Status execute(Stream &stream, uint64_t sequence);
  const Stream *streamInProgress() const;
  ErrorPlace placeOf(const Stream &stream, uint64_t sequence) const;
  std::string describeCall(const Stream &stream, uint64_t sequence) const;
  absl::Status failCall(const Stream &stream, uint64_t sequence,
                        const absl::Status &status);
  absl::Status help(Stream &stream, uint64_t target, int64_t tensor,
                    bool &mayWatch);
  absl::Status awaitStream(Blocker blocker, int64_t tensor, bool &mayWatch);
  absl::Status impossible(const Stream &stream, uint64_t sequence,
                          const Blocker &blocker, int64_t tensor);
  static uint64_t targetOf(const Stream &stream, StreamPoint point,
                           int64_t step);
  static bool isPassed(const Stream &stream, uint64_t target, Queue &queue);
  /// Whether the program's queue is still to give it.
  bool mayBeGiven(const Blocker &blocker) const {
    return promised[blocker.tensor] >= blocker.target;
  }
  std::string describeBlocker(const Slot &slot, const Blocker &blocker) const;
  std::string describeObstacle(const Stream &stream, uint64_t sequence) const;
  std::string describeStream(const Stream &stream) const;
  std::string describeGifts() const;
  void appendWaits(std::string &text) const;
  void warn(const std::string &text);
  void note(Stream &stream, const std::string &what);
  bool isOver() const { return hasFailed() || isStopping; }
  void failAll();

  /// What a timeline of steps shows once `step` has come.
  static uint64_t countOf(int64_t step) {
    return static_cast<uint64_t>(step) + 1;
  }

  const Plan &plan;
  World &world;
  const SessionOptions &options;
  const int rank;

  std::vector<std::unique_ptr<Operation>> operations;
  StreamPrograms steps;
  StepAgreement agreement;
  /// By the stream's number in the plan; null where it has no work.
  std::vector<std::unique_ptr<Stream>> streams;
  /// Held where these come and go, and by who may be at another thread then:
  /// after `failureMutex`.
  mutable std::mutex streamsMutex;
  /// By tensor: in how many steps it was given, the last one being the newest.
  std::vector<Timeline> given;
  /// What these will come to by what the program has said; its thread's.
  std::vector<uint64_t> promised;
  /// How many steps.
  Timeline opened;
  int64_t firstStep = 0;
  int threadCount = 0;
  std::atomic<bool> isStopping{false};
  /// Of even and of odd steps.
  std::array<std::atomic<int64_t>, kStepsInFlight> sent{};
  /// The program's thread's.
  int64_t waited = 0;
  StepRecorder *recorder = nullptr;
  std::function<void()> whenFailed;

  std::atomic<bool> failed{false};
  mutable std::mutex failureMutex;
  mutable absl::Status failureStatus;

  std::mutex noteMutex;
  /// By the stream's number: what others are told that it waits for.
  std::vector<std::string> notes;

  /// Which tensor the program waits for; -1: the end of a step.
  std::atomic<int64_t> awaited{kNothing};
  /// Before which step the program meets the others.
  std::atomic<int64_t> meetingBefore{kNothing};
  const WaitReport report{[this](std::string &text) { appendWaits(text); }};
};

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_SESSION_EXECUTOR_H
