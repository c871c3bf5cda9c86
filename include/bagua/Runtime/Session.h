//===- Session.h - A training program's view of a plan --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One rank's execution of a plan. The program binds its tensors, then for each
// step gives tensors to the runtime as they become ready and takes them back
// when it needs them; communication runs in between on threads of the session.
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
// Ownership: each named tensor has one owner. markReady gives it to the
// runtime; wait takes it back, and returns when the runtime is done with what
// was last given, also when that was in an earlier step. Until then the program
// neither writes to it nor gives it again; finish takes everything back.
// endStep waits for nothing; beginStep of step k+2 waits for the end of step k.
// A tensor that the program doesn't give (tensors in the plan say) is waited
// for as follows: state as this step found it, so as the step before left it
// (after endStep: as this one left it); any other as this step made it.
//
// Accumulation: a step is one reduction. The program adds up the gradients of
// its micro-batches, and gives each once, when the last one has added to it;
// bagua-accumulate makes plans that reckon with it.
//
// Lifetimes: memory that is bound, the trace and the world outlive the session;
// a session is destroyed after finish(), and before the world is left.
//
// Forked processes (workers that load data) have no session: calls there are
// FailedPrecondition, and destroying it does nothing. Communicators are not to
// be used or destroyed there.
//
// Traces: where the environment variable BAGUA_TRACE names a folder, start()
// begins to record the last 8 steps: instructions, waits and calls. finish(),
// the failure of the run and the session's end write them there, as a Chrome
// trace in a file of its own for each rank of each session
// (PLAN-SESSION-rankR.json). What can't be written is told to onWarning once,
// and ends nothing.
//
// Updates: the plan says who runs them, by what its strategy was told
// (updates=program, late or runtime). Where the plan's instructions update a
// param, the program waits for it in each step before it reads it, and does not
// update it. It asks programUpdates for every param, and so runs on either kind
// of plan; start refuses one that has not asked.
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

/// Calls come from any thread, one at a time. Errors are absl::Status. One
/// from a call between beginStep and finish, on any rank, ends the run: every
/// call on every rank returns it from then on, and it names the tensor, the
/// instruction and the rank. A session that is destroyed before finish() ends
/// the run in the same way; one that is destroyed after it leaves, which ends
/// the run of those that go on to communicate with it (Unavailable, with its
/// rank). Errors before the first beginStep, or between finish and the next
/// one, change nothing. SessionOptions::timeout says how long a rank waits for
/// others. Nothing is allocated after the first step, but for callbacks, and a
/// session that has nothing to do sleeps; the world's control plane wakes for
/// heartbeats, some a second.
class Session {
public:
  /// Allocates the arenas and connects: collective over all ranks of the plan.
  /// Several sessions may share a world, or have one each; all ranks make them
  /// in one order.
  /// Fails with FailedPrecondition where the world's size is not the plan's,
  /// some groups over an axis lie within hosts and others don't, or ranks hold
  /// plans of different fingerprints, naming both.
  static absl::StatusOr<std::unique_ptr<Session>>
  create(std::shared_ptr<const Plan> plan, std::shared_ptr<World> world,
         SessionOptions options);
  virtual ~Session() = default;

  virtual int rank() const = 0;

  /// NotFound for a name that the plan doesn't have.
  virtual absl::StatusOr<TensorId> find(absl::string_view name) const = 0;

  /// Bytes that this rank stores of a tensor; 0 of one that the plan hasn't.
  virtual int64_t localBytes(TensorId tensor) const = 0;

  /// Binds memory of the program's: `bytes` must be localBytes. InvalidArgument
  /// for another size or an address that is not a multiple of the element size;
  /// FailedPrecondition for a tensor that is bound already or lives in an
  /// arena. Before start(). State that was loaded for the tensor is copied to
  /// it.
  virtual absl::Status bind(TensorId tensor, void *data, size_t bytes) = 0;

  /// Where the program finds a tensor: its own binding (FailedPrecondition
  /// before it), or the place in an arena. Valid as long as the session.
  /// InvalidArgument unless `bytes`, by the program's own reckoning, are
  /// localBytes.
  virtual absl::StatusOr<void *> address(TensorId tensor, size_t bytes) = 0;

  /// address() of a tensor that lives in an arena, for objects of a framework's
  /// that outlive the session: its memory stays as long as what is returned. A
  /// rank that was lost does not reach it once the session is destroyed.
  /// FailedPrecondition where the memory is the program's own.
  virtual absl::StatusOr<std::shared_ptr<void>> hold(TensorId tensor,
                                                     size_t bytes) = 0;

  /// One call for programs that run on plans of every strategy: binds `data`
  /// where the program may choose, else gives the place in an arena, and then
  /// what `data` holds is copied there unless state was loaded for the tensor.
  /// Returns where the tensor is. Errors are those of bind and address.
  virtual absl::StatusOr<void *> bindOrLocate(TensorId tensor, void *data,
                                              size_t bytes) = 0;

  /// Whether the program runs the updates of the state of this name. False
  /// where the plan's instructions do; true of names that the plan doesn't
  /// have.
  virtual bool programUpdates(absl::string_view name) = 0;

  /// The number of the first instruction that waits for the tensor to be given;
  /// -1 where none does, and before start(). Until the last tensor of one
  /// number is there, giving the others makes nothing start: a program to which
  /// a call is dear gives them together.
  virtual int64_t firstWaiter(TensorId tensor) const = 0;

  /// Checks that every tensor that an instruction touches is bound, but for
  /// those that can be given at an address in each step, and that the program
  /// knows of the params that instructions update: it has asked
  /// programUpdates for each, and for the address of those that live in an
  /// arena, unless their state was loaded (else FailedPrecondition with the
  /// names). Starts the streams (ResourceExhausted
  /// where there are no threads to be had), and then meets all ranks:
  /// FailedPrecondition on all of them where some have loaded state and others
  /// have not, or that of another step. After an error it may be called again.
  virtual absl::Status start() = 0;

  /// States a fact of this rank's steps from the next beginStep on, which all
  /// ranks must state alike: which model the program trains, to which forward a
  /// step belongs. The name is one of few, and ranks first state them in one
  /// order. Collectives carry what is stated, and where ranks differ, every
  /// rank gets InvalidArgument with the fact, what two ranks have stated and
  /// who they are, before a result is written. `meaning` says what the value
  /// stands for, as in Agreement.h. Not compared with servers.
  virtual void agreeOn(absl::string_view name, uint64_t value,
                       absl::string_view meaning = {}) = 0;
  /// The same of a tensor, from its next gift on: in which layout it lies.
  /// Every collective carries it that can't start before the tensor is given.
  /// InvalidArgument for a tensor that the plan doesn't have.
  virtual absl::Status agreeOn(TensorId tensor, uint64_t value,
                               absl::string_view meaning) = 0;

  virtual absl::Status beginStep() = 0;
  /// Gives a tensor where it is bound or lives in an arena. FailedPrecondition
  /// where it was not taken back since it was given last, or the plan doesn't
  /// have the program give it, or it is neither bound nor in an arena. A
  /// program that has work under way in a queue of its own (Queue.h) hands it
  /// over: the tensor is ready when what it has so far is done. Such a queue
  /// is drained before the session is destroyed.
  virtual absl::Status markReady(TensorId tensor,
                                 Queue &after = hostQueue()) = 0;
  /// Gives it at an address of this step's, for frameworks that free gradients
  /// and make them anew; such a tensor need not be bound. The memory is the
  /// runtime's until wait() has taken the tensor back, and then has what the
  /// step made of it; after an error, until the session is destroyed. A tensor
  /// that lives in an arena is copied there and back; to spare that, have the
  /// gradient at address(). InvalidArgument for an address or a size that
  /// bind() refuses; FailedPrecondition for state, which is bound once.
  virtual absl::Status markReady(TensorId tensor, void *data, size_t bytes,
                                 Queue &after = hostQueue()) = 0;
  /// Gives an optional tensor that was not computed: zeros are added for it.
  virtual absl::Status markAbsent(TensorId tensor,
                                  Queue &after = hostQueue()) = 0;
  virtual absl::Status markAbsent(TensorId tensor, void *data, size_t bytes,
                                  Queue &after = hostQueue()) = 0;
  /// At once where the program owns the tensor. FailedPrecondition where it can
  /// never end: something before it needs a tensor that was not given. With a
  /// queue of the program's it may return before the end: then what the program
  /// enqueues there later finds the tensor done, and whatever else it does with
  /// the tensor, giving it again among it, comes behind that queue's work.
  virtual absl::Status wait(TensorId tensor, Queue &before = hostQueue()) = 0;
  /// Whether the runtime is done with the tensor, or has failed: wait() returns
  /// without waiting for it.
  virtual bool isReady(TensorId tensor) const = 0;
  /// For futures of frameworks: has `done` called once, when wait() would
  /// return without waiting, with what it would return. On this thread or on
  /// one of the session's or of its device's, which goes on when `done`
  /// returns; it may call abort, nothing else. wait() still takes the tensor
  /// back.
  virtual void onDone(TensorId tensor,
                      std::function<void(const absl::Status &)> done) = 0;
  /// FailedPrecondition, on every rank, when a tensor that the plan expects in
  /// each step was not given, or one that the program reads and instructions
  /// update was not waited for in this step, though the step before may have
  /// been still at it.
  virtual absl::Status endStep() = 0;

  /// Between steps: waits for the end of all steps in flight, and until all
  /// workers that this one communicates with have come here. One that is in a
  /// step instead, or in a later one, gets InvalidArgument, and so do all
  /// others, as where they state facts that differ. Servers wait for nothing
  /// here, nor do ranks whose groups all have servers.
  virtual absl::Status barrier() = 0;

  /// Waits for the end of all steps in flight.
  virtual absl::Status finish() = 0;

  /// Ends the run on all ranks, with `why` and this rank's name. From any
  /// thread, beside any other call.
  virtual void abort(const absl::Status &why) = 0;

  /// Number of the current step: from 0, or from where loaded state stopped.
  virtual int64_t step() const = 0;

  /// This rank's state, per tensor, for a checkpoint: the number of steps and
  /// what the runtime keeps from step to step, which is all optimizer, buffer,
  /// residual and replica tensors that instructions touch, and the params that
  /// they update or that live in an arena. What the program updates it saves
  /// itself. After finish(); and after an error, of another rank's say, where
  /// this rank's part of the last step that it ended was done.
  virtual absl::StatusOr<std::string> saveState() const = 0;
  /// The inverse, on the same rank of as many. State of another strategy's plan
  /// loads where both have the same kind of updates: the sets of names agree,
  /// and each tensor is stored alike, or was saved whole and is cut into parts
  /// here. Else InvalidArgument names what differs. Before start(); all ranks
  /// load, or none.
  virtual absl::Status loadState(absl::string_view bytes) = 0;

  /// Bytes that this rank has sent since start(), by the formulas of
  /// docs/PlanFormat.md (a ring's bytes for collectives over shared memory).
  virtual int64_t bytesSent() const = 0;

  /// What a step took, as measured: of the newest step that is done, or of the
  /// one that lies `back` steps before it. A step is done for certain when the
  /// next but one begins, and when finish() has returned. OutOfRange for a step
  /// that is not among the last 64 that are done since start(). From any
  /// thread, beside any other call.
  virtual absl::StatusOr<StepFigures> stepFigures(int64_t back = 0) const = 0;

  /// Bytes that this rank has allocated for tensors: arenas, and from start()
  /// on what an all_to_all needs to bring blocks together. What the runtime
  /// needs besides what the program binds.
  virtual int64_t arenaBytes() const = 0;
};

} // namespace bagua::runtime

#endif // BAGUA_RUNTIME_SESSION_H
