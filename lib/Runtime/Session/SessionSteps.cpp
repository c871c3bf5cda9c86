//===- SessionSteps.cpp - What a program does in its steps ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The owner of each tensor at each time, and the gifts that a step must not
// leave out.
//
//===----------------------------------------------------------------------===//
#include "Session/PlanSession.h"

#include "Communication/StatusCopy.h"
#include "Plan/PhaseTable.h"

#include "bagua/Runtime/ErrorPlace.h"
#include "bagua/Support/StepsInFlight.h"
#include "bagua/Support/TraceWriter.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace bagua::runtime {

using absl::StrCat;

/// Refuses a call because of a bug of the caller's. During a run it ends the
/// run, so that other ranks don't wait for this one.
absl::Status PlanSession::refuse(const absl::Status &why, int64_t tensor) {
  return isRunning ? executor.fail(withPlace(why, {rank(), tensor, -1, step()}))
                   : why;
}

absl::Status PlanSession::misuse(const std::string &what, int64_t tensor) {
  return refuse(
      absl::FailedPreconditionError(StrCat("rank ", rank(), ": ", what)),
      tensor);
}

void PlanSession::record(const char *what, TensorId tensor, int64_t startNs) {
  options.trace->add({StrCat(what, " ", nameOf(tensor)),
                      rank(),
                      0,
                      startNs,
                      TraceWriter::nowNs() - startNs,
                      {{"step", step()}}});
}

absl::Status PlanSession::agreeOn(TensorId tensor, uint64_t value,
                                  absl::string_view meaning) {
  if (absl::Status status = checkIndex(tensor); !status.ok())
    return refuse(status);
  statesFacts = true;
  executor.stated().setTensor(indexOf(tensor), value, meaning);
  return absl::OkStatus();
}

/// Collectives carry the facts. A backend that doesn't compare calls would let
/// ranks differ in silence.
absl::Status PlanSession::checkFacts() const {
  if (!statesFacts || backend.traits().findsDifferingCalls)
    return absl::OkStatus();
  return absl::UnimplementedError(
      StrCat("rank ", rank(),
             ": the program states facts that all ranks must state "
             "alike, and backend '",
             backend.name(),
             "' does not find calls that "
             "differ"));
}

absl::Status PlanSession::beginStep() {
  if (executor.hasFailed())
    return executor.failure();
  if (phase != Phase::BetweenSteps)
    return misuse(phase == Phase::InStep ? "beginStep before endStep"
                                         : "beginStep before start");
  if (absl::Status status = checkFacts(); !status.ok())
    return refuse(status);
  const int64_t next = now + 1;
  log.begin(next, TraceWriter::nowNs(), executor.waitedNs());
  uint64_t call = 0;
  if (trace) {
    stepRecord = trace->recorder().begin(StepRecorder::kStep, next);
    call = trace->recorder().begin(StepRecorder::kBeginStep, next);
  }
  if (int64_t before = next - kStepsInFlight; before >= 0) {
    if (absl::Status status = executor.waitForStep(before); !status.ok())
      return status;
    log.complete(before, executor.bytesSentIn(before));
  }
  now = next;
  const uint32_t program = executor.programAt(step());
  const uint32_t planned = executor.steps().all()[program].step;
  needs = &needsOf[planned];
  requiredGiven = readCount = 0;
  // An `at` row's step may have changed what the program set before.
  mustRead = isRunning || program != planned;
  phase = Phase::InStep;
  isFinished = false;
  isRunning = true;
  updates.open(step(), planned);
  executor.openStep(now, program);
  if (trace)
    trace->recorder().end(call);
  return absl::OkStatus();
}

absl::Status PlanSession::checkGift(TensorId tensor, const char *call) const {
  const TensorState &state = tensors[indexOf(tensor)];
  std::string why;
  if (phase != Phase::InStep)
    why = " outside of a step";
  else if (!state.isGivenByProgram)
    why = ", which the program does not give in this plan";
  else if (needs->isForeign[indexOf(tensor)])
    why = StrCat(", which step '",
                 plan->root().steps()->Get(plannedStep())->name()->str(),
                 "' does not use, though other steps of the plan do: expected "
                 "to be given only where stepUses() says so");
  else if (state.givenStep == now)
    why = " for the second time in this step";
  else if (state.isOwnedByRuntime)
    why = StrCat(", which was given in step ", firstStep + state.givenStep,
                 " and not taken back: expected a wait() before");
  if (why.empty())
    return absl::OkStatus();
  return absl::FailedPreconditionError(StrCat("rank ", rank(), ": ", call,
                                              " of tensor ", nameOf(tensor),
                                              why, ", in step ", step()));
}

/// Checks whether the program may give the tensor now.
absl::Status PlanSession::admitGift(TensorId tensor, const char *call) {
  if (executor.hasFailed())
    return executor.failure();
  if (absl::Status status = checkIndex(tensor); !status.ok())
    return refuse(status);
  const TensorState &state = tensors[indexOf(tensor)];
  if (phase != Phase::InStep || !state.isGivenByProgram ||
      needs->isForeign[indexOf(tensor)] || state.givenStep == now ||
      state.isOwnedByRuntime)
    if (absl::Status status = checkGift(tensor, call); !status.ok())
      return refuse(status, indexOf(tensor));
  return absl::OkStatus();
}

/// The queue for the session's own copies, which come after the program's work:
/// the program's queue, or the session's if that is the host's.
Queue &PlanSession::deviceQueue(Queue &given) {
  return &given == &cpuQueue() ? *queue : given;
}

absl::Status PlanSession::give(TensorId tensor, Queue &after) {
  TensorState &state = tensors[indexOf(tensor)];
  state.isOwnedByRuntime = true;
  state.givenStep = now;
  requiredGiven += needs->isRequired[indexOf(tensor)];
  int64_t startNs = options.trace ? TraceWriter::nowNs() : 0;
  if (trace)
    trace->recorder().record(StepRecorder::kGive, now, indexOf(tensor));
  executor.give(indexOf(tensor), now, deviceQueue(after));
  if (options.trace)
    record("give", tensor, startNs);
  return absl::OkStatus();
}

/// Gives a tensor where it is bound or lives in an arena.
absl::Status PlanSession::giveAtHome(TensorId tensor, const char *call,
                                     Queue &after) {
  uint32_t index = indexOf(tensor);
  if (tensors[index].isMovable && tensorAt(index).arena() < 0) {
    memory.moveBack(index);
    if (!memory.isBound(index) && localBytes(tensor) > 0)
      return misuse(StrCat(call, " of tensor ", nameOf(tensor),
                           ", which is not bound: expected an address with it, "
                           "in step ",
                           step()),
                    index);
  }
  return give(tensor, after);
}

absl::Status PlanSession::giveAt(TensorId tensor, const char *call, void *data,
                                 size_t bytes, bool isAbsent, Queue &after) {
  uint32_t index = indexOf(tensor);
  auto refuseGift = [&](absl::StatusCode code, absl::string_view why) {
    return refuse(
        absl::Status(code, StrCat("rank ", rank(), ": ", call, " of tensor ",
                                  nameOf(tensor), ": ", why)),
        index);
  };
  if (absl::Status status = checkMemory(index, data, bytes); !status.ok())
    return refuseGift(status.code(), status.message());
  TensorState &state = tensors[index];
  if (!state.isMovable)
    return refuseGift(
        absl::StatusCode::kFailedPrecondition,
        state.isState ? "a state can't be given with an address: expected it "
                        "to be bound once, before start"
                      : "instructions use it before it is given: expected it "
                        "to be bound once, before start");
  if (isAbsent && bytes > 0)
    if (absl::Status status = deviceQueue(after).zero(data, bytes);
        !status.ok())
      return refuse(status, index);
  if (tensorAt(index).arena() < 0) {
    memory.move(index, static_cast<std::byte *>(data));
    return give(tensor, after);
  }
  std::byte *home = memory.tensorAddress(index);
  if (bytes > 0 && data != home) {
    if (absl::Status status = deviceQueue(after).copy(home, data, bytes);
        !status.ok())
      return refuse(status, index);
    state.copyBackTo = static_cast<std::byte *>(data);
  }
  return give(tensor, after);
}

absl::Status PlanSession::markReady(TensorId tensor, Queue &after) {
  absl::Status status = admitGift(tensor, "markReady");
  return status.ok() ? giveAtHome(tensor, "markReady", after) : status;
}

absl::Status PlanSession::markReady(TensorId tensor, void *data, size_t bytes,
                                    Queue &after) {
  absl::Status status = admitGift(tensor, "markReady");
  return status.ok() ? giveAt(tensor, "markReady", data, bytes,
                              /*isAbsent=*/false, after)
                     : status;
}

absl::Status PlanSession::checkAbsence(TensorId tensor) {
  absl::Status status = admitGift(tensor, "markAbsent");
  if (status.ok() && !tensorAt(indexOf(tensor)).optional())
    return misuse(StrCat("markAbsent of tensor ", nameOf(tensor),
                         ", which is not optional"),
                  indexOf(tensor));
  return status;
}

absl::Status PlanSession::markAbsent(TensorId tensor, Queue &after) {
  if (absl::Status status = checkAbsence(tensor); !status.ok())
    return status;
  memory.moveBack(indexOf(tensor));
  if (std::byte *data = memory.tensorAddress(indexOf(tensor)))
    if (absl::Status status = deviceQueue(after).zero(data, localBytes(tensor));
        !status.ok())
      return refuse(status, indexOf(tensor));
  return giveAtHome(tensor, "markAbsent", after);
}

absl::Status PlanSession::markAbsent(TensorId tensor, void *data, size_t bytes,
                                     Queue &after) {
  absl::Status status = checkAbsence(tensor);
  return status.ok() ? giveAt(tensor, "markAbsent", data, bytes,
                              /*isAbsent=*/true, after)
                     : status;
}

/// Takes back a tensor that the runtime is done with.
absl::Status PlanSession::takeBack(uint32_t tensor, Queue &before) {
  TensorState &state = tensors[tensor];
  state.isOwnedByRuntime = false;
  std::byte *to = std::exchange(state.copyBackTo, nullptr);
  if (!to)
    return absl::OkStatus();
  absl::Status status = deviceQueue(before).copy(
      to, memory.tensorAddress(tensor), memory.tensorBytes(tensor));
  if (status.ok() && &before == &cpuQueue())
    status = queue->drain(options.timeout);
  return status;
}

/// The last instructions of an iteration that use the tensor, those of steps
/// that run before it included; empty if there are none, or if the iteration
/// ended long ago.
const std::vector<StreamPoint> &
PlanSession::lastUsers(TensorId tensor, int64_t iteration) const {
  static const std::vector<StreamPoint> kNothing;
  if (iteration < 0 || executor.steps().isForgotten(iteration))
    return kNothing;
  const StreamPrograms &ran = executor.steps().programOf(iteration);
  const auto &users = ran.users[indexOf(tensor)];
  return users.empty() && !ran.leadUsers.empty()
             ? ran.leadUsers[indexOf(tensor)]
             : users;
}

/// The instructions that wait() waits for, and their step: the step of the
/// tensor's last gift, or the last step that uses the tensor and may run still.
/// A step that runs before the current one begins when the step before has
/// ended.
PlanSession::Awaited PlanSession::awaitedOf(TensorId tensor) const {
  const TensorState &state = tensors[indexOf(tensor)];
  if (state.isGivenByProgram) {
    const int64_t given = state.isOwnedByRuntime ? state.givenStep : -1;
    return {given, &lastUsers(tensor, given)};
  }
  int64_t step = now;
  if (state.isState && phase == Phase::InStep) {
    const auto &leadUsers = executor.steps().programOf(now).leadUsers;
    if (!leadUsers.empty() && !leadUsers[indexOf(tensor)].empty())
      return {now, &leadUsers[indexOf(tensor)]};
    step = now - 1;
  }
  // If both use the tensor, the step before is done with it first.
  const auto &users = lastUsers(tensor, step);
  return users.empty() ? Awaited{step - 1, &lastUsers(tensor, step - 1)}
                       : Awaited{step, &users};
}

bool PlanSession::stepUses(TensorId tensor) const {
  return checkIndex(tensor).ok() &&
         needsOf[plannedStep()].isUsed[indexOf(tensor)];
}

/// The number of the step of the open iteration, or of the next one.
uint32_t PlanSession::plannedStep() const {
  const int64_t iteration = firstStep + now + (phase == Phase::InStep ? 0 : 1);
  return stepOf(plan->root(), iteration);
}

bool PlanSession::isReady(TensorId tensor) const {
  if (executor.hasFailed() || !checkIndex(tensor).ok())
    return true;
  const Awaited awaited = awaitedOf(tensor);
  return std::all_of(awaited.points->begin(), awaited.points->end(),
                     [&](StreamPoint point) {
                       return executor.isReached(point, awaited.step);
                     });
}

void PlanSession::onDone(TensorId tensor,
                         std::function<void(const absl::Status &)> done) {
  absl::Status status = checkIndex(tensor);
  if (!status.ok())
    return done(refuse(status));
  const Awaited awaited = awaitedOf(tensor);
  executor.notify(*awaited.points, awaited.step, std::move(done));
}

void PlanSession::abort(const absl::Status &why) {
  absl::Status named =
      withMessage(why.ok() ? absl::AbortedError("") : why,
                  StrCat("rank ", rank(), ": aborted",
                         why.message().empty() ? "" : ": ", why.message()));
  executor.fail(withPlace(named, {rank()})).IgnoreError();
  // A program that aborts may be about to end the process.
  if (RunTrace *begun = begunTrace.load(std::memory_order_acquire))
    begun->write();
}

absl::Status PlanSession::awaitTensor(TensorId tensor, const Awaited &awaited,
                                      Queue &before) {
  int64_t startNs = options.trace ? TraceWriter::nowNs() : 0;
  for (StreamPoint point : *awaited.points)
    if (absl::Status status =
            executor.waitFor(point, awaited.step, indexOf(tensor), before);
        !status.ok())
      return status;
  if (options.trace)
    record("wait", tensor, startNs);
  absl::Status status = takeBack(indexOf(tensor), before);
  return status.ok() ? status : refuse(status, indexOf(tensor));
}

absl::Status PlanSession::wait(TensorId tensor, Queue &before) {
  if (executor.hasFailed())
    return executor.failure();
  if (absl::Status status = checkIndex(tensor); !status.ok())
    return refuse(status);
  TensorState &state = tensors[indexOf(tensor)];
  if (needs && needs->mustBeRead[indexOf(tensor)] &&
      std::exchange(state.waitedStep, now) != now)
    ++readCount;
  const Awaited awaited = awaitedOf(tensor);
  if (awaited.step < 0)
    return absl::OkStatus();
  const uint64_t call =
      trace ? trace->recorder().begin(StepRecorder::kWait, now, indexOf(tensor))
            : 0;
  absl::Status status = awaitTensor(tensor, awaited, before);
  if (trace)
    trace->recorder().end(call);
  return status;
}

absl::Status PlanSession::missingGift() {
  constexpr int kShown = 4;
  std::vector<std::string> missing;
  int64_t first = -1;
  int count = 0;
  for (uint32_t i = 0; i < tensors.size(); ++i) {
    if (!needs->isRequired[i] || tensors[i].givenStep == now)
      continue;
    first = first < 0 ? i : first;
    if (++count <= kShown)
      missing.push_back(
          StrCat(nameOf(TensorId(i)), ", which ",
                 executor.words().instruction(
                     static_cast<uint32_t>(firstWaiter(TensorId(i)))),
                 " waits for"));
  }
  if (count > kShown)
    missing.back() += StrCat("; and without ", count - kShown, " more");
  return misuse(StrCat("step ", step(), " ended without tensor ",
                       absl::StrJoin(missing, "; and without tensor ")),
                first);
}

/// A program that has not waited may have read what a step was still changing.
absl::Status PlanSession::missingWait() {
  std::vector<uint32_t> missing;
  for (uint32_t i = 0; i < tensors.size(); ++i)
    if (needs->mustBeRead[i] && tensors[i].waitedStep != now)
      missing.push_back(i);
  std::string what = StrCat("step ", step(), " ended without a wait for ");
  return refuse(
      listTensors(
          what.c_str(), missing,
          ", which the program reads and the plan's instructions update"),
      missing[0]);
}

absl::Status PlanSession::endStep() {
  if (phase != Phase::InStep)
    return executor.hasFailed() ? executor.failure()
                                : misuse("endStep before beginStep");
  // A step that has ended may be saved, whatever happens to other ranks.
  bool isComplete = requiredGiven == needs->requiredCount;
  if (executor.hasFailed()) {
    phase = isComplete ? Phase::BetweenSteps : phase;
    return executor.failure();
  }
  if (!isComplete)
    return missingGift();
  if (mustRead && readCount != needs->mustReadCount)
    return missingWait();
  phase = Phase::BetweenSteps;
  if (trace) {
    trace->recorder().record(StepRecorder::kEndStep, now, -1);
    trace->recorder().end(stepRecord);
  }
  return absl::OkStatus();
}

absl::Status PlanSession::barrier() {
  if (executor.hasFailed())
    return executor.failure();
  if (phase != Phase::BetweenSteps)
    return misuse(phase == Phase::InStep ? "barrier before endStep"
                                         : "barrier before start");
  const uint64_t call = trace
                            ? trace->recorder().begin(StepRecorder::kBarrier,
                                                      std::max<int64_t>(now, 0))
                            : 0;
  absl::Status status;
  if (now >= 0)
    status = executor.waitForStep(now);
  if (status.ok())
    status = executor.meet(communicators.ofWorkers(), now + 1);
  if (trace && status.ok())
    trace->recorder().end(call);
  return status;
}

absl::Status PlanSession::finish() {
  if (executor.hasFailed())
    return executor.failure();
  if (phase == Phase::InStep)
    return misuse("finish before endStep");
  const bool isRecorded = trace && now >= 0 && !isFinished;
  const uint64_t call =
      isRecorded ? trace->recorder().begin(StepRecorder::kFinish, now) : 0;
  if (now >= 0)
    if (absl::Status status = executor.waitForStep(now); !status.ok())
      return status;
  absl::Status status = memory.checkGuards(*queue, options.timeout);
  for (uint32_t i = 0; i < tensors.size() && status.ok(); ++i)
    status = takeBack(i, cpuQueue());
  if (!status.ok())
    return executor.fail(status);
  isFinished = true;
  isRunning = false;
  completeLog();
  if (isRecorded) {
    trace->recorder().end(call);
    trace->write();
  }
  return status;
}

/// Called when all steps are done.
void PlanSession::completeLog() {
  log.end(TraceWriter::nowNs(), executor.waitedNs());
  for (int64_t step = std::max<int64_t>(0, now + 1 - kStepsInFlight);
       step <= now; ++step)
    log.complete(step, executor.bytesSentIn(step));
}

} // namespace bagua::runtime
