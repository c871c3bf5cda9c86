//===- PlanSession.h - A session of a plan --------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The program's thread runs all of this: names and bindings (Session.cpp),
// ownership and steps (SessionSteps.cpp), checkpoints (SessionCheckpoint.cpp).
// The Executor runs the streams beside it.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_SESSION_PLANSESSION_H
#define BAGUA_LIB_RUNTIME_SESSION_PLANSESSION_H

#include "Session/Executor.h"
#include "Session/PlanCommunicators.h"
#include "Session/RunTrace.h"
#include "Session/SessionMemory.h"
#include "Session/SessionState.h"
#include "Session/StepLog.h"
#include "Session/UpdateCounts.h"

#include "bagua/Runtime/PlanGenerated.h"
#include "bagua/Runtime/Session.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace bagua::runtime {

class PlanSession final : public Session {
public:
  /// `by` is a backend of the world.
  PlanSession(std::shared_ptr<const Plan> loaded, std::shared_ptr<World> ranks,
              Backend &by, SessionOptions sessionOptions)
      : plan(std::move(loaded)), world(std::move(ranks)), backend(by),
        options(std::move(sessionOptions)), memory(*plan, world->rank()),
        updates(*plan), executor(*plan, *world, backend, options),
        tensors(plan->root().tensors()->size()), firstStep(options.firstStep) {}
  ~PlanSession() override;

  /// Ends the session; the destructor does this first. False if the device goes
  /// on to work: then the session must not be destroyed.
  bool end();
  /// The collective part of create().
  absl::Status connect();
  /// Tells the other ranks of the error.
  absl::Status giveUp(const absl::Status &why) { return executor.fail(why); }
  /// Called after a call that has failed. If the error has ended the run, the
  /// recorded trace is written, since the program may end now, too.
  void writeFailure() {
    if (trace && executor.hasFailed())
      trace->writeFailure(/*byProgram=*/true);
  }

  int rank() const override { return world->rank(); }
  absl::StatusOr<TensorId> find(absl::string_view name) const override;
  int64_t localBytes(TensorId tensor) const override {
    const uint32_t index = indexOf(tensor);
    return index < tensors.size() ? memory.tensorBytes(index) : 0;
  }
  absl::Status bind(TensorId tensor, void *data, size_t bytes) override;
  absl::StatusOr<void *> address(TensorId tensor, size_t bytes) override;
  absl::StatusOr<std::shared_ptr<void>> hold(TensorId tensor,
                                             size_t bytes) override;
  absl::StatusOr<void *> bindOrLocate(TensorId tensor, void *data,
                                      size_t bytes) override;
  bool programUpdates(absl::string_view name) override;
  int64_t firstWaiter(TensorId tensor) const override;
  absl::Status start() override;
  void agreeOn(absl::string_view name, uint64_t value,
               absl::string_view meaning) override {
    statesFacts = true;
    executor.stated().set(name, value, meaning);
  }
  absl::Status agreeOn(TensorId tensor, uint64_t value,
                       absl::string_view meaning) override;
  absl::Status beginStep() override;
  absl::Status markReady(TensorId tensor, Queue &after) override;
  absl::Status markReady(TensorId tensor, void *data, size_t bytes,
                         Queue &after) override;
  absl::Status markAbsent(TensorId tensor, Queue &after) override;
  absl::Status markAbsent(TensorId tensor, void *data, size_t bytes,
                          Queue &after) override;
  absl::Status wait(TensorId tensor, Queue &before) override;
  bool stepUses(TensorId tensor) const override;
  bool isReady(TensorId tensor) const override;
  void onDone(TensorId tensor,
              std::function<void(const absl::Status &)> done) override;
  absl::Status endStep() override;
  absl::Status barrier() override;
  absl::Status finish() override;
  void abort(const absl::Status &why) override;
  int64_t step() const override {
    return firstStep + std::max<int64_t>(now, 0);
  }
  absl::StatusOr<std::string> saveState() const override;
  absl::Status loadState(absl::string_view bytes) override;
  int64_t bytesSent() const override { return executor.bytesSent(); }
  absl::StatusOr<StepFigures> stepFigures(int64_t back) const override {
    return log.at(back, firstStep);
  }
  int64_t arenaBytes() const override {
    return memory.arenaBytes() + scratchBytes;
  }

private:
  enum class Phase { Binding, BetweenSteps, InStep };

  struct TensorState {
    bool isGivenByProgram = false;
    bool isState = false;
    /// Whether the tensor may be given at another address in each step.
    bool isMovable = false;
    /// Whether the tensor's state was loaded, whether the program knows where
    /// the tensor is, and whether it knows who updates it.
    bool isLoaded = false;
    bool isLocated = false;
    bool isAsked = false;
    bool isOwnedByRuntime = false;
    /// For a tensor in an arena that was given at an address: where the result
    /// is copied when the tensor is taken back. Else null.
    std::byte *copyBackTo = nullptr;
    /// The last step in which the tensor was given, or waited for; -1 before.
    int64_t givenStep = -1;
    int64_t waitedStep = -1;
  };

  /// The duties of the program in every iteration of a step.
  struct StepNeeds {
    /// By tensor: whether this rank's program gives it.
    std::vector<bool> isRequired;
    /// By tensor: whether the program reads it, and instructions update it.
    std::vector<bool> mustBeRead;
    /// By tensor: whether instructions touch it, or wait for it to be given.
    std::vector<bool> isUsed;
    /// By tensor: whether only other steps use it, which change its contents.
    /// The program would take what it gave for their result.
    std::vector<bool> isForeign;
    int64_t requiredCount = 0;
    int64_t mustReadCount = 0;
  };

  /// Points in a step; -1 with no points if there is nothing to wait for.
  struct Awaited {
    int64_t step;
    const std::vector<StreamPoint> *points;
  };

  static uint32_t indexOf(TensorId tensor) {
    return static_cast<uint32_t>(tensor);
  }
  const fb::Tensor &tensorAt(uint32_t index) const {
    return *plan->root().tensors()->Get(index);
  }
  std::string nameOf(TensorId tensor) const {
    return executor.words().tensor(indexOf(tensor));
  }
  CommunicatorOptions optionsOf(uint32_t stream);
  absl::Status makeQueue();
  absl::Status copyNow(void *to, const void *from, size_t bytes) const;
  absl::Status meetEverybody(const std::string &prefix);
  absl::Status meetPlans();
  absl::StatusOr<std::vector<int64_t>>
  gatherFromAll(const std::vector<int64_t> &own);
  absl::Status compareStates();
  absl::Status startStreams(std::vector<std::unique_ptr<Operation>> operations,
                            const std::vector<bool> &hasWork);
  absl::Status checkBindings() const;
  absl::Status checkParams() const;
  absl::Status checkFirstStep() const;
  absl::Status listTensors(const char *what, const std::vector<uint32_t> &list,
                           const char *why) const;
  std::vector<bool> findGivenTensors(const fb::Step &step) const;
  StepNeeds findNeeds(const fb::Step &step) const;
  std::vector<bool> findForeign(const std::vector<bool> &isUsed,
                                const std::vector<bool> &isUsedHere) const;
  uint32_t plannedStep() const;
  IterationPrograms makePrograms(const std::vector<bool> &hasWork) const;
  bool isHere(const fb::Tensor &tensor) const {
    return hasTensor(tensor, plan->cluster(), rank());
  }
  absl::Status checkMemory(uint32_t tensor, const void *data,
                           size_t bytes) const;
  absl::Status admitGift(TensorId tensor, const char *call);
  Queue &deviceQueue(Queue &given);
  absl::Status give(TensorId tensor, Queue &after);
  absl::Status giveAtHome(TensorId tensor, const char *call, Queue &after);
  absl::Status giveAt(TensorId tensor, const char *call, void *data,
                      size_t bytes, bool isAbsent, Queue &after);
  absl::Status checkAbsence(TensorId tensor);
  absl::Status checkGift(TensorId tensor, const char *call) const;
  absl::Status takeBack(uint32_t tensor, Queue &before);
  absl::Status awaitTensor(TensorId tensor, const Awaited &awaited,
                           Queue &before);
  void completeLog();
  absl::Status missingGift();
  absl::Status missingWait();
  bool isAtRest() const;
  const std::vector<StreamPoint> &lastUsers(TensorId tensor,
                                            int64_t iteration) const;
  Awaited awaitedOf(TensorId tensor) const;
  absl::Status refuse(const absl::Status &why, int64_t tensor = -1);
  absl::Status misuse(const std::string &what, int64_t tensor = -1);
  absl::Status checkIndex(TensorId tensor) const;
  absl::Status checkFacts() const;
  void record(const char *what, TensorId tensor, int64_t startNs);

  const std::shared_ptr<const Plan> plan;
  const std::shared_ptr<World> world;
  Backend &backend;
  const SessionOptions options;
  /// A queue of the device for the session's own copies.
  std::unique_ptr<Queue> queue;
  SessionMemory memory;
  /// All ranks, in memory of the host; null if this rank is the only one.
  std::unique_ptr<Communicator> everybody;
  PlanCommunicators communicators;
  /// Null if nothing is recorded.
  std::unique_ptr<RunTrace> trace;
  /// The same trace once start() has succeeded, for threads that abort.
  std::atomic<RunTrace *> begunTrace{nullptr};
  /// The trace's number of the open step.
  uint64_t stepRecord = 0;
  StepLog log;
  /// Operations use it.
  UpdateCounts updates;
  Executor executor;

  Phase phase = Phase::Binding;
  bool hasEnded = false;
  /// Whether the program has stated a fact that ranks must state alike.
  bool statesFacts = false;
  bool isFinished = false;
  /// True from the beginning of a step until finish().
  bool isRunning = false;
  std::vector<TensorState> tensors;
  /// By tensor: whether it is state that instructions update.
  std::vector<bool> isUpdated;
  std::map<absl::string_view, TensorId> byName;
  bool hasLoadedState = false;
  /// State that was loaded for tensors that are not bound yet.
  std::map<std::string, SavedTensor> loaded;
  int64_t firstStep;
  /// The session's number, which rank 0 has drawn, and that of the session
  /// which saved the loaded state.
  int64_t number = 0;
  int64_t loadedNumber = 0;
  /// Bytes of operations, besides arenas.
  int64_t scratchBytes = 0;
  /// The current step since start(); -1 before the first.
  int64_t now = -1;
  /// By the plan's step.
  std::vector<StepNeeds> needsOf;
  /// Those of the current step.
  const StepNeeds *needs = nullptr;
  int64_t requiredGiven = 0;
  /// Tensors that must be read need not be in a step after finish(), which has
  /// waited for the step before, unless another one runs in between.
  int64_t readCount = 0;
  bool mustRead = false;
};

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_SESSION_PLANSESSION_H
