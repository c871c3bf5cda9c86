//===- Session.h - A training program's view of a plan --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A session is one rank's execution of a plan. The program binds its tensors.
// In each step it gives tensors to the runtime as they are computed, and takes
// them back when it needs them; in between, communication runs on threads of
// the session.
//
//   auto session = Session::create(plan, std::move(world), {});
//   TensorId grad = *(*session)->find("l1.weight.grad");
//   (*session)->bind(grad, data, bytes);
//   bool updates = (*session)->programUpdates("l1.weight");
//   (*session)->start();
//   for (...) {
//     (*session)->beginStep();
//     ...                              // forward, backward writes the gradient
//     (*session)->markReady(grad);
//     ...                              // more backward, overlapped
//     (*session)->wait(grad);          // now the mean over all ranks
//     if (updates) ...                 // the program's own update
//     (*session)->endStep();
//   }
//
// Ownership: each named tensor has one owner. markReady gives the tensor to the
// runtime. wait takes it back: it returns when the runtime is done with the
// tensor as it was last given, even if that was in an earlier step. Until then
// the program neither writes to the tensor nor gives it again. finish takes
// back all tensors. endStep waits for nothing; beginStep of step k+2 waits for
// the end of step k. If the plan does not have the program give a tensor,
// wait() blocks until the previous step's update of it is done (for state;
// after endStep, this step's), or until this step has produced it (for anything
// else).
//
// Accumulation: a step is one reduction. The program adds up the gradients of
// its micro-batches, and gives each gradient once, after the last micro-batch
// has added to it; bagua-accumulate makes plans for such programs.
//
// Lifetimes: bound memory, the trace and the world outlive the session. A
// session is destroyed after finish(), and before the world is left.
//
// Forked processes, such as workers that load data, have no session: calls
// there are FailedPrecondition, and destroying the session does nothing. A
// forked process must neither use nor destroy communicators.
//
// Traces: if the environment variable BAGUA_TRACE names a folder, start()
// begins to record the last 8 steps: instructions, waits and calls. finish(),
// the failure of the run and the session's end write the record there as a
// Chrome trace, in one file for each rank of each session
// (PLAN-SESSION-rankR.json). If a file can't be written, onWarning is told
// once, and the run continues.
//
// Updates: the plan says whether the program or the runtime runs updates, as
// its strategy was told (updates=program, late or runtime). If the plan's
// instructions update a param, the program does not update it, and waits for it
// in each step before reading it. A program asks programUpdates for every
// param, and so runs on either kind of plan; start refuses a program that has
// not asked.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_RUNTIME_SESSION_H
#define BAGUA_RUNTIME_SESSION_H

#include "bagua/Runtime/Communicator.h"
#include "bagua/Runtime/Plan.h"
#include "bagua/Runtime/Queue.h"
#include "bagua/Runtime/SessionOptions.h"
#include "bagua/Runtime/StepFigures.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace bagua::runtime {

/// The number of a named tensor in its plan.
enum class TensorId : uint32_t {};

/// Calls come from any thread, one at a time. Errors are absl::Status. An error
/// of a call between beginStep and finish, on any rank, ends the run: every
/// later call on every rank returns it, and it names the tensor, the
/// instruction and the rank. Destroying a session before finish() ends the run
/// in the same way. Destroying it after finish() leaves the run: ranks that go
/// on to communicate with this one get Unavailable, with its rank. Errors
/// before the first beginStep, or between finish and the next beginStep, change
/// nothing. SessionOptions::timeout says how long a rank waits for others.
/// Nothing is allocated after the first step, except for callbacks. A session
/// that has nothing to do sleeps; the world's control plane wakes some times a
/// second for heartbeats.
class Session {
public:
  /// Allocates the arenas and connects: collective over all ranks of the plan.
  /// Sessions may share a world or have one each; all ranks create them in the
  /// same order. FailedPrecondition if the world's size is not the plan's, if
  /// some groups over an axis lie within hosts and others don't, or if ranks
  /// hold plans of different fingerprints (both are named).
  static absl::StatusOr<std::unique_ptr<Session>>
  create(std::shared_ptr<const Plan> plan, std::shared_ptr<World> world,
         SessionOptions options);
  virtual ~Session() = default;

  virtual int rank() const = 0;

  /// NotFound if the plan has no tensor of this name.
  virtual absl::StatusOr<TensorId> find(absl::string_view name) const = 0;

  /// Bytes that this rank stores of a tensor; 0 if the plan has no such tensor.
  virtual int64_t localBytes(TensorId tensor) const = 0;

  /// Binds memory of the program to a tensor, before start(). `bytes` must be
  /// localBytes. InvalidArgument for another size or an address that is not a
  /// multiple of the element size; FailedPrecondition for a tensor that is
  /// bound already or lives in an arena. State that was loaded for the tensor
  /// is copied to the memory.
  virtual absl::Status bind(TensorId tensor, void *data, size_t bytes) = 0;

  /// Where the program finds a tensor: its own binding (FailedPrecondition
  /// before it is bound), or the place in an arena. Valid as long as the
  /// session. InvalidArgument unless `bytes`, the size that the program
  /// expects, is localBytes.
  virtual absl::StatusOr<void *> address(TensorId tensor, size_t bytes) = 0;

  /// address() of a tensor that lives in an arena, for a framework's objects
  /// that outlive the session: the memory stays as long as the returned
  /// pointer. A rank that was lost can't reach the memory once the session is
  /// destroyed. FailedPrecondition if the memory is the program's own.
  virtual absl::StatusOr<std::shared_ptr<void>> hold(TensorId tensor,
                                                     size_t bytes) = 0;

  /// One call for programs that run on plans of every strategy. Binds `data` if
  /// the tensor can be bound. Otherwise the tensor lives in an arena, and the
  /// contents of `data` are copied there unless state was loaded for it.
  /// Returns where the tensor is. Errors are those of bind and address.
  virtual absl::StatusOr<void *> bindOrLocate(TensorId tensor, void *data,
                                              size_t bytes) = 0;

  /// Whether the program runs the updates of the state of this name. False if
  /// the plan's instructions do; true of names that the plan doesn't have.
  virtual bool programUpdates(absl::string_view name) = 0;

  /// The number of the first instruction that waits for the tensor to be given;
  /// -1 if none does, and before start(). Of several tensors with the same
  /// number, only the last one given lets the instruction start, so a program
  /// for which calls are expensive gives them together.
  virtual int64_t firstWaiter(TensorId tensor) const = 0;

  /// Checks that every tensor that an instruction touches is bound, except
  /// those that can be given at an address in each step. Checks also that the
  /// program knows of the params that instructions update: it has asked
  /// programUpdates for each, and for the address of those that live in an
  /// arena, unless their state was loaded. FailedPrecondition names the tensors
  /// that fail. Then starts the streams (ResourceExhausted if no threads can be
  /// created) and meets all ranks: FailedPrecondition on all of them if some
  /// have loaded state and others have not, or if they have loaded states of
  /// different steps or of different sessions. After an error start() may be
  /// called again.
  virtual absl::Status start() = 0;

  /// States a fact that all ranks must state alike from the next beginStep on:
  /// which model the program trains, to which forward a step belongs. There are
  /// few names, and all ranks first state them in the same order. Collectives
  /// carry the facts. If ranks differ, every rank gets InvalidArgument, before
  /// a result is written, with the fact, the values of two ranks and who they
  /// are. `meaning` says what the value stands for, as in Agreement.h. Facts
  /// are not compared with servers. If the backend doesn't find calls that
  /// differ (BackendTraits), the next beginStep returns Unimplemented.
  virtual void agreeOn(absl::string_view name, uint64_t value,
                       absl::string_view meaning = {}) = 0;
  /// The same for a fact of a tensor, such as its layout, from the next time
  /// the tensor is given. Every collective that can't start before the tensor
  /// is given carries the fact. InvalidArgument if the plan has no such tensor.
  virtual absl::Status agreeOn(TensorId tensor, uint64_t value,
                               absl::string_view meaning) = 0;

  virtual absl::Status beginStep() = 0;
  /// Gives a tensor where it is bound or lives in an arena. FailedPrecondition
  /// if the tensor was not taken back since it was last given, if the plan does
  /// not have the program give it, or if it is neither bound nor in an arena. A
  /// program that has work under way in a queue of its own (Queue.h) passes
  /// that queue: the runtime uses the tensor after the work that the queue has
  /// so far. Such a queue is drained before the session is destroyed.
  virtual absl::Status markReady(TensorId tensor,
                                 Queue &after = cpuQueue()) = 0;
  /// Gives a tensor at an address of this step, for frameworks that free
  /// gradients and allocate them anew; such a tensor need not be bound. The
  /// memory belongs to the runtime until wait() has taken the tensor back, and
  /// then holds the step's result; after an error, until the session is
  /// destroyed. A tensor that lives in an arena is copied there and back; a
  /// program avoids the copies by writing its gradient to address().
  /// InvalidArgument for an address or a size that bind() refuses;
  /// FailedPrecondition for state, which is bound once.
  virtual absl::Status markReady(TensorId tensor, void *data, size_t bytes,
                                 Queue &after = cpuQueue()) = 0;
  /// Gives an optional tensor that was not computed: zeros are added for it.
  virtual absl::Status markAbsent(TensorId tensor,
                                  Queue &after = cpuQueue()) = 0;
  virtual absl::Status markAbsent(TensorId tensor, void *data, size_t bytes,
                                  Queue &after = cpuQueue()) = 0;
  /// Takes a tensor back. Returns at once if the program owns it.
  /// FailedPrecondition if the wait could never end, because an instruction
  /// before needs a tensor that was not given. With a queue of the program, the
  /// call may return before the runtime is done with the tensor: work that the
  /// program then enqueues there finds the tensor done. Every other use of the
  /// tensor, also giving it again, must come after that queue's work.
  virtual absl::Status wait(TensorId tensor, Queue &before = cpuQueue()) = 0;
  /// Whether the step of the open iteration, or of the next one between
  /// iterations, has instructions that use the tensor or wait for it. If a plan
  /// has several steps, the program gives only what the iteration's step uses.
  virtual bool stepUses(TensorId tensor) const = 0;
  /// Whether wait() would return without waiting for the tensor: the runtime is
  /// done with it, or has failed.
  virtual bool isReady(TensorId tensor) const = 0;
  /// For futures of frameworks: `done` is called once, when wait() would return
  /// without waiting, with the status that wait() would return. The caller is
  /// this thread or one of the session's or its device's, which continues when
  /// `done` returns. `done` may call abort, nothing else. wait() still takes
  /// the tensor back.
  virtual void onDone(TensorId tensor,
                      std::function<void(const absl::Status &)> done) = 0;
  /// Ends the step. FailedPrecondition, on every rank, if a tensor that the
  /// plan expects in each step was not given. Likewise if the program did not
  /// wait in this step for a tensor that it reads and that instructions update:
  /// the previous step might still have been updating it.
  virtual absl::Status endStep() = 0;

  /// Between steps: waits for the end of all steps in flight, and until all
  /// workers with which this one communicates have called barrier. If one of
  /// them is in a step instead, or in a later one, it gets InvalidArgument, and
  /// so do all others; the same happens if they state facts that differ.
  /// Servers do not wait here for others, nor do ranks whose groups all have
  /// servers.
  virtual absl::Status barrier() = 0;

  /// Waits for the end of all steps in flight.
  virtual absl::Status finish() = 0;

  /// Ends the run on all ranks, with `why` and this rank's name. May be called
  /// from any thread, beside any other call.
  virtual void abort(const absl::Status &why) = 0;

  /// The number of the current step. It counts from 0, or from the step of the
  /// loaded state.
  virtual int64_t step() const = 0;

  /// This rank's state for a checkpoint: the number of steps, and every tensor
  /// that the runtime keeps from step to step. These are all optimizer, buffer,
  /// residual and replica tensors that instructions touch, and the params that
  /// instructions update or that live in an arena. The program itself saves
  /// what it updates. May be called after finish(); also after an error, for
  /// example of another rank, if this rank's part of the last step it ended was
  /// done.
  virtual absl::StatusOr<std::string> saveState() const = 0;
  /// Loads a saved state, before start(), on the same rank of a run of as many
  /// ranks. All ranks load, or none. State of another strategy's plan can be
  /// loaded if both plans have the same kind of updates: the sets of names
  /// agree, and each tensor is stored alike, or was saved whole and is cut into
  /// parts here. Otherwise InvalidArgument names what differs.
  virtual absl::Status loadState(absl::string_view bytes) = 0;

  /// Bytes that this rank has sent since start(), by the formulas of
  /// docs/PlanFormat.md (for collectives over shared memory, those of a ring).
  virtual int64_t bytesSent() const = 0;

  /// The measured figures of a step: of the newest step that is done, or of the
  /// one `back` steps before it. A step is certainly done when the next but one
  /// begins, and when finish() has returned. OutOfRange if the step is not
  /// among the last 64 that are done since start(). May be called from any
  /// thread, beside any other call.
  virtual absl::StatusOr<StepFigures> stepFigures(int64_t back = 0) const = 0;

  /// Bytes that this rank has allocated for tensors: arenas, and, from start()
  /// on, what an all_to_all needs to bring blocks together. This is the
  /// runtime's memory beside what the program binds.
  virtual int64_t arenaBytes() const = 0;
};

} // namespace bagua::runtime

#endif // BAGUA_RUNTIME_SESSION_H
