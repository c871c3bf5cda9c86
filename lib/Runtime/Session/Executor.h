//===- Executor.h - Runs the instructions of a plan on a rank's streams ---===//
//
// One thread for each stream that has work. An instruction runs when its
// stream's earlier ones are done, the tensors it needs were given in its step,
// and what it waits for on other streams is complete; each of these is a
// Counter.
//
// A program thread that has to wait for a stream runs the stream's next
// instructions itself where the stream's thread is not at it, which saves two
// wake-ups. A flag for each stream says who is at it.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_SESSION_EXECUTOR_H
#define BAGUA_LIB_RUNTIME_SESSION_EXECUTOR_H

#include "Device/Host/Counter.h"
#include "Session/Operation.h"
#include "Session/StreamPrograms.h"

#include "bagua/Runtime/Communicator.h"
#include "bagua/Runtime/Plan.h"
#include "bagua/Runtime/SessionOptions.h"

#include "absl/status/status.h"

#include <atomic>
#include <chrono>
#include <cstdint>
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

  /// Takes an operation for each instruction (null: nothing to do) and starts
  /// the threads. `firstStep` is the number of the first step.
  void start(std::vector<std::unique_ptr<Operation>> operations,
             StreamPrograms schedule, int64_t firstStep);
  /// Stops the threads: those in a collective when it ends or is aborted.
  void stop();

  // For the program's thread. Steps count from 0 at start().

  /// Opens the next step to the streams.
  void openStep() { opened.advance(); }
  /// `tensor` is given, for the next time. Each step gives a tensor once at
  /// most.
  void give(uint32_t tensor, int64_t step);
  /// Whether the point is reached in `step`. Never blocks.
  bool isReached(StreamPoint point, int64_t step) const;
  /// Waits until the point is reached in `step`; `tensor` is for messages, -1
  /// if none is waited for.
  absl::Status waitFor(StreamPoint point, int64_t step, int64_t tensor);
  /// Waits for all of `step`.
  absl::Status waitForStep(int64_t step);

  /// Makes every call on every rank return `why`, unless there was an error
  /// before; returns the one that holds.
  absl::Status fail(const absl::Status &why);
  bool hasFailed() const { return failed.load(std::memory_order_acquire); }
  absl::Status failure() const;

  const StreamPrograms &schedule() const { return steps; }
  int64_t bytesSent() const { return sent.load(std::memory_order_relaxed); }

  /// "instruction 3 'bucket1' (all_reduce) on stream 'comm'".
  std::string describe(uint32_t instruction) const;
  std::string tensorName(uint32_t tensor) const;

private:
  struct Slot {
    Operation *operation;
    const ScheduledInstruction *scheduled;
  };

  /// A stream with work.
  struct alignas(64) Stream {
    std::vector<Slot> slots;
    uint32_t number = 0;
    std::thread thread;
    /// Completed instructions since start().
    Counter completed;
    /// Whether some thread is at the next instruction; guards what follows.
    alignas(64) std::atomic<bool> isTaken{false};
    /// The next instruction, counted since start().
    std::atomic<uint64_t> next{0};

    bool take() {
      return !isTaken.load(std::memory_order_relaxed) &&
             !isTaken.exchange(true, std::memory_order_acquire);
    }
    void release() { isTaken.store(false, std::memory_order_release); }
  };

  /// What an instruction waits for.
  struct Blocker {
    Counter *counter = nullptr;
    uint32_t target = 0;
    /// A tensor to be given, else -1.
    int64_t tensor = -1;
    /// A stream, else -1.
    int64_t stream = -1;
    explicit operator bool() const { return counter != nullptr; }
  };

  /// The limits of one wait: when it began, whether it has warned.
  struct Wait {
    std::chrono::nanoseconds limit{0};
    bool hasBegun = false;
    bool hasWarned = false;
    std::chrono::steady_clock::time_point begin;
  };

  void runStream(Stream &stream);
  bool awaitOpen(int64_t step);
  absl::Status awaitBlockers(Stream &stream, uint64_t sequence);
  Blocker findBlocker(const Slot &slot, int64_t step);
  absl::Status execute(Stream &stream, uint64_t sequence);
  absl::Status help(Stream &stream, uint64_t target, int64_t tensor,
                    Wait &wait);
  template <typename Describe>
  absl::Status pause(Counter &counter, uint32_t target, Wait &wait,
                     Describe describe);
  absl::Status impossible(const Slot &slot, const Blocker &blocker,
                          int64_t tensor, int64_t step);
  std::string describeWait(const Stream &stream, uint64_t target,
                           int64_t tensor) const;
  std::string describeBlocker(const Slot &slot, const Blocker &blocker) const;
  void wakeAll();

  const Plan &plan;
  World &world;
  const SessionOptions &options;
  const int rank;

  std::vector<std::unique_ptr<Operation>> operations;
  StreamPrograms steps;
  /// By the stream's number in the plan; null where it has no work.
  std::vector<std::unique_ptr<Stream>> streams;
  /// By tensor: in how many steps it was given, the last one being the newest.
  std::vector<Counter> given;
  Counter opened;
  int64_t firstStep = 0;
  bool isSpinning = false;
  int threadCount = 0;
  std::atomic<bool> isStopping{false};
  std::atomic<int64_t> sent{0};

  std::atomic<bool> failed{false};
  mutable std::mutex failureMutex;
  absl::Status failureStatus;
};

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_SESSION_EXECUTOR_H
